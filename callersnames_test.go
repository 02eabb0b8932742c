package tenon_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestNamesThatCallersGive: a session or a task whose name cannot go into the environment
// of a server or into a header is refused, before it counts against the server.
func TestNamesThatCallersGive(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "own", upstreamtest.Script{}, ", isolation: call"))})
	about := func(session, task string) *tool.Result {
		return g.Call(t.Context(), tool.Call{Server: "own", Tool: "echo", Arguments: []byte(`{"text":"x"}`), Session: session, Task: task})
	}
	long := strings.Repeat("n", 255)
	for what, name := range map[string]string{
		"is longer than 255 bytes":              long + "n",
		"holds characters that are not printed": "a\x00b",
		"characters that are not printed.":      "a\r\nX-Other: b",
		"not printed":                           "a\x1b[2J",
		"that are not printed":                  "a\xff",
	} {
		for _, res := range []*tool.Result{about(name, ""), about("", name), about("s", name)} {
			if res.Kind != tool.Invalid || !strings.Contains(res.Text(), what) || res.Attempts != 0 {
				t.Errorf("%.20q: %s after %d attempts: %.200s", name, res.Kind, res.Attempts, res.Text())
			}
		}
	}
	for _, name := range []string{long, "ü ü", "ok"} {
		if res := about("", name); res.Kind != "" || res.Attempts != 1 {
			t.Errorf("%.20q: %s after %d attempts: %.200s", name, res.Kind, res.Attempts, res.Text())
		}
	}
}
