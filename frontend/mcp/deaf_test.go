package mcp_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

// TestDeafClientOnStdio: a client over stdio that does not read delays nobody who shares
// a server with it.
func TestDeafClientOnStdio(t *testing.T) {
	s, url := front(t, map[string]upstreamtest.Script{"one": {}}, "")
	in, say := io.Pipe()
	out, deaf := io.Pipe() // nobody reads out
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.ServeStdio(ctx, in, deaf) })
	_, _ = io.WriteString(say, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one__progress","arguments":{"times":3000,"size":4000},"_meta":{"progressToken":1}}}`+"\n")
	id := session(t, url)
	began := time.Now()
	for range 5 {
		_, answer, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one__echo","arguments":{"a":1}}}`, "Mcp-Session-Id", id)
		if !strings.Contains(answer, `"result"`) {
			t.Fatal(answer)
		}
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("others waited %v", d)
	}
	cancel()
	_ = out.Close()
	_ = say.Close()
	serving.Wait()
}
