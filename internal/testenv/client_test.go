package testenv_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

// TestClientClosesBeforeTheAnswer: a handler that answers when the client has gone is
// waited for, and is no failure.
func TestClientClosesBeforeTheAnswer(t *testing.T) {
	srv := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	started, gone, done := make(chan struct{}), make(chan struct{}), false
	srv.AddTool(&mcp.Tool{Name: "wait", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		close(started)
		<-gone
		done = true
		return &mcp.CallToolResult{}, nil
	})
	cs, stop, err := testenv.Dial(t.Context(), srv, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	calling.Go(func() {
		<-started
		cancel()
	})
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	calling.Wait()
	if err := cs.Close(); err != nil {
		t.Error(err)
	}
	close(gone)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !done {
		t.Error("the handler was not waited for")
	}
}
