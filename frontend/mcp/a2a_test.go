package mcp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

func (p *person) hand(t *testing.T, subtask string) string {
	t.Helper()
	res, err := p.CallTool(t.Context(), &sdk.CallToolParams{Name: "execute_subtask", Arguments: map[string]any{"subtask": subtask}})
	if err != nil {
		return "error " + err.Error()
	}
	return res.Content[0].(*sdk.TextContent).Text
}

// TestAnAgentAsksThePerson: what an agent elsewhere wants to know reaches the client in
// both eras, and its answer the same task.
func TestAnAgentAsksThePerson(t *testing.T) {
	for _, version := range []string{legacy, latest} {
		t.Run(version, func(t *testing.T) {
			d := doubles.StartAgent(t, true, "")
			url := gatewayOf(t, fmt.Sprintf("  there: {agent: {a2a: %q}}\npolicy: {mode: bypass}\n", d.URL))
			unwilling := answering(t, url+"/mcp/s/there", version, "decline", nil)
			if got := unwilling.hand(t, "ask"); !strings.Contains(got, "wanted to know something, and got no answer (decline)") {
				t.Errorf("a person who does not answer: %q", got)
			}
			deaf := dialIn(t, url+"/mcp/s/there", version, false, "bob")
			if got := deaf.hand(t, "ask"); !strings.Contains(got, "nobody can be asked here") || !strings.Contains(got, "Which host?") {
				t.Errorf("a client that cannot be asked: %q", got)
			}
			for limit := time.Now().Add(time.Minute); d.Canceled() < 2; <-time.After(5 * time.Millisecond) {
				if time.Now().After(limit) {
					t.Fatalf("%d tasks were canceled", d.Canceled())
				}
			}
			answers := answering(t, url+"/mcp/s/there", version, "accept", map[string]any{"answer": "db-1"})
			if got := answers.hand(t, "ask"); !strings.HasPrefix(got, "<<<UNTRUSTED") || !strings.Contains(got, "\nYou said db-1\n") {
				t.Errorf("got %q", got)
			}
		})
	}
}

// answering is a client whose person answers all questions so.
func answering(t *testing.T, url, version, action string, content map[string]any) *person {
	t.Helper()
	o := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}, ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: action, Content: content}, nil
	}}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "answering", Version: "1"}, o).
		Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &person{ClientSession: session}
}
