package tenon_test

import (
	"path/filepath"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestParamsThatCannotBeSent: a call whose own params are at fault is refused, and
// its server, which others use, is not blamed for it.
func TestParamsThatCannotBeSent(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{CountFile: count}, ""))})
	for _, params := range []string{
		`{"name":"echo","_meta":{"progressToken":1,"progressToken":2}}`,
		`{"name":"echo","_meta":[]}`,
	} {
		if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo", Params: []byte(params)}); res.Kind != tool.Invalid {
			t.Errorf("%s: got %q: %s", params, res.Kind, res.Text())
		}
	}
	if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo"}); res.Kind != "" {
		t.Error(res.Text())
	}
	if n := upstreamtest.Starts(t, count); n != 1 {
		t.Errorf("the server was started %d times, want once", n)
	}
}
