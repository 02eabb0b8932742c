package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	sdkrpc "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// answers is a call that servers may ask.
type answers struct{ asked atomic.Int32 }

// Asked implements upstream.Handler.
func (a *answers) Asked(context.Context, string, tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	a.asked.Add(1)
	return tool.OneOf([]byte(`{"role":"assistant","model":"m","content":{"type":"text","text":"blue"}}`)), nil
}

// Heard implements upstream.Handler.
func (*answers) Heard(string, tool.Bytes) {}

// TestAServerAsksTheCallsOnItsLink has a server on a stream of a session or call ask what
// runs there; without capabilities, and on a link that is shared, it can ask nobody.
func TestAServerAsksTheCallsOnItsLink(t *testing.T) {
	srv := mcp.NewServer(&mcp.Implementation{Name: "curious", Version: "1"}, nil)
	srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "server/discover" { // the era in which servers ask
				return nil, &sdkrpc.Error{Code: sdkrpc.CodeMethodNotFound, Message: "method not found"}
			}
			return next(ctx, method, r)
		}
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "sample"}, func(ctx context.Context, r *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
		if r.Session.InitializeParams().Capabilities.Sampling == nil {
			return nil, nil, errors.New("nobody can answer")
		}
		res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 5, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Which?"}}}})
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{res.Content}}, nil, nil
	})
	dial := func(context.Context) (io.ReadWriteCloser, error) {
		here, there := net.Pipe()
		_, err := srv.Connect(t.Context(), &mcp.IOTransport{Reader: there, Writer: there}, nil)
		return here, err
	}
	for _, c := range []struct {
		isolation upstream.Isolation
		can       string
		asked     int32
	}{{upstream.PerSession, `{"sampling":{}}`, 1}, {upstream.PerCall, `{"sampling":{}}`, 1}, {upstream.PerSession, "", 0}, {upstream.Shared, `{"sampling":{}}`, 0}} {
		s, err := upstream.New(upstream.Options{Name: "curious", Dial: dial, Isolation: c.isolation, Capabilities: json.RawMessage(c.can)})
		if err != nil {
			t.Fatal(err)
		}
		var a answers
		result, err := s.Call(t.Context(), upstream.Call{Params: []byte(`{"name":"sample","arguments":{}}`), Key: upstream.Key{Session: "s"}, Stream: &a})
		if a.asked.Load() != c.asked || strings.Contains(string(result.Join()), "blue") != (c.asked > 0) {
			t.Errorf("%s, %q: asked %d times, got %s, %v", c.isolation, c.can, a.asked.Load(), result.Join(), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
