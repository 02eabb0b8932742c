package tenon_test

import (
	"strings"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/servers"
	"github.com/tenon-mcp/tenon/tool"
)

// TestHowAServerComesToBe calls servers that come with Tenon where the pool has declared
// none of them: the answer says how to get them, and only those.
func TestHowAServerComesToBe(t *testing.T) {
	t.Parallel()
	list := bundled()
	for i := range list {
		list[i].Aliases = servers.Aliases(list[i].Name)
	}
	g := open(t, tenon.Options{Bundled: list, Config: write(t, "version: 1\nservers:\n  clock: {bundled: time, in_process: true}\n")})
	for _, c := range []struct{ server, tool, want string }{
		{"python", "python", "There is no server python. It comes with Tenon, but is not declared in this pool: whoever runs Tenon adds python: {bundled: python} under servers in its configuration (tenon.yaml)."},
		{"e2b-python-interpreter", "run_command", "adds e2b-python-interpreter: {bundled: python} under servers"},
		{"playwright", "browser_navigate", "adds playwright: {browser: {}} under servers"},
		{"nothing", "nothing", "There is no server nothing. Server and tool may have been mixed up"},
	} {
		if res := g.Call(t.Context(), tool.Call{Server: c.server, Tool: c.tool}); res.Kind != tool.NotFound || !strings.Contains(res.Text(), c.want) || strings.Count(res.Text(), "There is no") != 1 {
			t.Errorf("%s/%s: %s %s", c.server, c.tool, res.Kind, res.Text())
		}
		if c.server == "python" {
			if _, err := g.Tools(t.Context(), tenon.ListOptions{Server: c.server}); err == nil || err.Error() != c.want {
				t.Errorf("a list of %s: %v", c.server, err)
			}
		}
	}
}
