package call_test

import (
	"context"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// TestMendedArgumentsReachTheServer: the mended arguments take the place of the
// sent ones, and all else that a client sent stays as it is.
func TestMendedArgumentsReachTheServer(t *testing.T) {
	mend := func(_ *tool.Tool, args []byte) call.Checked {
		switch string(args) {
		case `{"n":"5"}`, `"{\"n\":5}"`:
			return call.Checked{Arguments: []byte(`{"n":5}`), Repairs: []string{"/n: mended"}}
		case `{}`:
			return call.Checked{Problem: "- /n: is missing"}
		}
		return call.Checked{}
	}
	for _, c := range []struct {
		name string
		call tool.Call
		want string
		note string
	}{
		{name: "right", call: tool.Call{Arguments: []byte(`{ "n":1}`)}, want: `{"name":"t","arguments":{ "n":1}}`},
		{name: "mended", call: tool.Call{Arguments: []byte(` {"n":"5"} `)}, want: `{"name":"t","arguments":{"n":5}}`, note: "/n: mended"},
		{name: "all as text", call: tool.Call{Arguments: []byte(`"{\"n\":5}"`)}, want: `{"name":"t","arguments":{"n":5}}`, note: "/n: mended"},
		{
			name: "of a client", call: tool.Call{Arguments: []byte(`{"n":"5"}`), Params: []byte(`{"task":{"ttl":1}, "arguments":{"n":"5"}, "name":"t", "x":1.50}`)},
			want: `{"task":{"ttl":1}, "arguments":{"n":5}, "name":"t", "x":1.50}`, note: "/n: mended",
		},
		{name: "missing", call: tool.Call{}},
		{name: "null", call: tool.Call{Arguments: []byte(`null`)}},
		{name: "missing in params", call: tool.Call{Params: []byte(`{"name":"t"}`)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent []string
			run := call.New(call.Options{
				Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}}, Check: mend,
				Send: func(_ context.Context, _ *call.Request, params []byte) (tool.Bytes, error) {
					sent = append(sent, string(params))
					return text("ok"), nil
				},
				Record: func(r *call.Request, _ *tool.Result) {
					if string(r.Arguments) != string(c.call.Arguments) || string(r.Params) != string(c.call.Params) {
						t.Errorf("the stages outside see %s", r.Arguments)
					}
				},
				NewID: func() string { return "id" },
			})
			c.call.Server, c.call.Tool = "s", "t"
			res := run(t.Context(), c.call)
			if c.want == "" {
				if res.Kind != tool.Invalid || !strings.Contains(res.Text(), "The arguments of t are not valid") || !strings.Contains(res.Text(), "/n: is missing") || len(sent) != 0 {
					t.Errorf("%q: %s, sent %s", res.Kind, res.Text(), sent)
				}
				return
			}
			if len(sent) != 1 || sent[0] != c.want {
				t.Errorf("sent %s, want %s", sent, c.want)
			}
			if len(res.Notes) > 0 != (c.note != "") || c.note != "" && res.Notes[0] != (tool.Note{Stage: "repair", Text: c.note}) {
				t.Errorf("notes %v", res.Notes)
			}
		})
	}
}
