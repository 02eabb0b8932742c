package tenon_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// library is a server with a note to read, and tools that say what it does with data.
func library(json.RawMessage, tool.Place) (*mcp.Server, error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "library", Version: "1"}, nil)
	for _, name := range []string{"look", "send"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
			})
	}
	s.AddResource(&mcp.Resource{Name: "note", URI: "file:///note"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "the note"}}}, nil
	})
	return s, nil
}

// TestReadingCounts: what a client reads beside tools counts against its limits, is in
// the record, and marks its session as a tool's answer would.
func TestReadingCounts(t *testing.T) {
	g := open(t, tenon.Options{
		Config: write(t, `version: 1
servers: {library: {bundled: library, in_process: true}}
policy:
  taint: block
  limits: [{per: session, calls: 3}]
`),
		Bundled: []tenon.Bundled{{Name: "library", New: library, Meta: map[string]tool.Meta{
			"look": {Registered: true, ReadOnly: true, Labels: []tool.Label{tool.LabelPrivate, tool.LabelUntrusted}},
			"send": {Registered: true, ReadOnly: true, Labels: []tool.Label{tool.LabelEgress}},
		}}},
	})
	send := func(session string) *tool.Result {
		return g.Call(t.Context(), tool.Call{Server: "library", Tool: "send", Session: session})
	}
	for name, server := range map[string]string{"one server": "library"} {
		t.Run(name, func(t *testing.T) {
			as := tenon.Viewer{Caller: tool.Caller{Via: "mcp"}, Session: "session of " + name}
			s := g.NewSession(tenon.SessionOptions{Viewer: as, Server: server})
			defer s.Close()
			read := func(method, params string) string {
				result, err := s.Request(t.Context(), tenon.PeerRequest{Viewer: as, Method: method, Params: []byte(params)})
				if err != nil {
					return "error: " + err.Message
				}
				return string(result.Join())
			}
			if res := send(as.Session); res.Kind != "" {
				t.Fatalf("%q: %s", res.Kind, res.Text())
			}
			if got := read("resources/list", "{}"); !strings.Contains(got, "file:///note") {
				t.Fatal(got)
			}
			const note = `{"uri":"file:///note"}`
			if got := read("resources/read", note); !strings.Contains(got, "the note") {
				t.Fatal(got)
			}
			if res := send(as.Session); res.Kind != tool.Denied || !strings.Contains(res.Text(), "library/resources/read") {
				t.Errorf("after a read: %q: %s", res.Kind, res.Text())
			}
			if got := read("resources/read", note); !strings.Contains(got, "the note") {
				t.Error(got)
			}
			if got := read("resources/read", note); !strings.Contains(got, "limit of 3 calls") {
				t.Errorf("the fourth: %s", got)
			}
			n := 0
			for _, c := range g.Calls(100) {
				if c.Tool == "resources/read" && c.Session == as.Session && c.Server == "library" {
					n++
				}
			}
			if n != 3 {
				t.Errorf("%d reads are in the record, want 3", n)
			}
		})
	}
}
