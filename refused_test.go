package tenon_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestRuleOfAServerIsNoBadLuck: what a rule of a bundled server refuses is denied, is
// sent once, and nothing stands in for it: neither an own fallback nor the fetching of
// pages.
func TestRuleOfAServerIsNoBadLuck(t *testing.T) {
	dir := t.TempDir()
	o := tenon.Options{
		Bundled: bundled(),
		Config: write(t, `version: 1
policy: {mode: bypass}
servers:
  reading: {bundled: reading, in_process: true, options: {roots: ["`+dir+`"]}}
  closed: {bundled: reading, in_process: true}
  websearch: {bundled: websearch, in_process: true}
  system: {bundled: system, in_process: true, options: {scan_roots: ["`+dir+`"]}}
fallbacks:
  "*/*": [go/other]
`),
	}
	type anything struct {
		URI   string `json:"uri,omitempty"`
		URL   string `json:"url,omitempty"`
		Query string `json:"query,omitempty"`
		Path  string `json:"path,omitempty"`
	}
	others := 0
	tenon.AddTool(&o, tenon.Function{Name: "other"}, func(context.Context, anything) (string, error) { others++; return "in its place", nil })
	g := open(t, o)
	for _, c := range []struct{ server, name, args string }{
		{"reading", "read_file", `{"uri":"/etc/hostname"}`},
		{"reading", "read_file", `{"uri":"http://127.0.0.1:1/"}`},
		{"closed", "convert_to_markdown", `{"uri":"file:///etc/hostname"}`},
		{"websearch", "fetch_page", `{"url":"http://127.0.0.1:1/"}`},
		{"websearch", "web_search", `{"query":"原神"}`},
		{"system", "scan_dir_usage", `{"root":"/etc"}`},
	} {
		res := g.Call(t.Context(), tool.Call{Server: c.server, Tool: c.name, Arguments: json.RawMessage(c.args)})
		if res.Kind != tool.Denied || res.Attempts != 1 || others > 0 || res.Server != c.server || strings.Contains(noteTexts(res), "fallback") {
			t.Errorf("%s/%s %s: %q after %d attempts by %s, %d others: %s\n%s", c.server, c.name, c.args, res.Kind, res.Attempts, res.Server, others, res.Text(), noteTexts(res))
		}
	}
	res := g.Call(t.Context(), tool.Call{Server: "reading", Tool: "read_file", Arguments: json.RawMessage(`{"uri":"` + dir + `/absent.txt"}`)})
	if res.Kind != "" || others != 1 || !strings.Contains(noteTexts(res), dir) {
		t.Errorf("of what is not there: %q, %d others: %s", res.Kind, others, res.Text())
	}
}
