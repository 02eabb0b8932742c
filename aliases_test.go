package tenon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/servers"
)

// TestAliases opens a pool whose servers are called as other programs call them, with a
// key in the environment of one: it decides which tools there are.
func TestAliases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	text := `version: 1
servers:
  a: {bundled: tool-searching}
  b: {bundled: tool-searching-tavily, env: {TAVILY_API_KEY: not-a-real-key-000}}
  c: {bundled: tool-markitdown}
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
	if strings.Contains(all, "a/tavily_search") {
		t.Errorf("a tool without its key is listed: %s", all)
	}
}
