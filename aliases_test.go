package tenon_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/servers"
	"github.com/tenon-mcp/tenon/tool"
)

// TestAliases opens a pool whose servers are called as other programs call them, with a
// key in the environment of one: it decides which tools there are.
func TestAliases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	text := `version: 1
servers:
  a: {bundled: tool-searching}
  b: {bundled: tool-searching-tavily, env: {TAVILY_API_KEY: not-a-real-key-000}}
  c: {bundled: tool-markitdown, options: {timeout_sec: 60}}
  d: {bundled: tool-reading}
  off: {bundled: reading}
blacklist: [[off, convert_to_markdown]]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list := bundled()
	for i := range list {
		list[i].Aliases = servers.Aliases(list[i].Name)
	}
	g, err := tenon.Open(t.Context(), tenon.Options{Config: path, Bundled: list})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	var names []string
	l, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range l.Servers {
		for _, tl := range s.Tools {
			names = append(names, s.Name+"/"+tl.Name)
		}
	}
	all := strings.Join(names, " ")
	for _, want := range []string{"a/google_search", "b/google_search", "b/tavily_search", "c/convert_to_markdown"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not listed: %s", want, all)
		}
	}
	if strings.Contains(all, "d/convert_to_markdown") {
		t.Errorf("one tool is listed under two names: %s", all)
	}
	for _, c := range []tool.Call{
		{Server: "c", Tool: "convert_to_markdown"},
		{Server: "c", Tool: "read_file"},
		{Server: "d", Tool: "convert_to_markdown"},
		{Server: "d", Tool: "read_file"},
		{Server: "off", Tool: "convert_to_markdown"},
	} {
		c.Arguments = json.RawMessage(`{"uri": "data:text/plain,hello"}`)
		res := g.Call(t.Context(), c)
		if want := map[bool]tool.Kind{true: tool.Denied}[c.Server == "off"]; res.Kind != want || want == "" && (res.Server != c.Server || !strings.Contains(res.Text(), "hello")) {
			t.Errorf("%s/%s: %q %s", c.Server, c.Tool, res.Kind, res.Text())
		}
	}
	for flat, want := range map[string]bool{"d__convert_to_markdown": true, "off__convert_to_markdown": false, "a__convert_to_markdown": false} {
		if id, ok := g.Named(flat); ok != want {
			t.Errorf("%s is %s, %t", flat, id, ok)
		}
	}
	if strings.Contains(all, "a/tavily_search") {
		t.Errorf("a tool without its key is listed: %s", all)
	}
}

// TestOneToolFileOfABundledServer: a file that holds one tool server may name a bundled
// one, with its options, and what is wrong with it is told by the name of the entry.
func TestOneToolFileOfABundledServer(t *testing.T) {
	list := bundled()
	for i := range list {
		list[i].Aliases = servers.Aliases(list[i].Name)
	}
	load := func(files map[string]string) *tenon.Gateway {
		t.Helper()
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path := dir
		if len(files) == 1 {
			for name := range files {
				path = filepath.Join(dir, name)
			}
		}
		return open(t, tenon.Options{Config: path, Bundled: list})
	}
	said := func(g *tenon.Gateway) string {
		var out strings.Builder
		for _, s := range g.Status() {
			out.WriteString(s.Name + " " + string(s.State) + " " + s.Reason + "\n")
		}
		for _, p := range g.Check(t.Context(), false).Broken {
			out.WriteString(p.Text + " (" + p.Hint + ")\n")
		}
		return out.String()
	}
	clock := "name: clock\nbundled: time\noptions: {timezone: Europe/Berlin}\n"
	for what, files := range map[string]map[string]string{
		"alone": {"clock.yaml": clock}, "in a folder": {"clock.yaml": clock, "other.yaml": "name: host\nbundled: system\n"},
	} {
		g := load(files)
		if res := g.Call(t.Context(), tool.Call{Server: "clock", Tool: "get_current_time"}); res.Kind != "" || !strings.Contains(res.Text(), "Berlin") {
			t.Errorf("%s: %q %s\n%s", what, res.Kind, res.Text(), said(g))
		}
	}
	for text, want := range map[string]string{
		"name: docs\nbundled: reading\noptions: {no_such: 1}\n": "docs (bundled reading)",
		"name: docs\nbundled: tool-markitdwon\n":                `did you mean "tool-markitdown", which is reading?`,
		"name: docs\nbundled: raeding\n":                        `did you mean "reading"?`,
	} {
		if got := said(load(map[string]string{"docs.yaml": text})); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}
