package faults_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestHundredMebibytes: a line far over the limit that the configuration has by
// itself, with an id at its end and without one, fails its call and no other.
func TestHundredMebibytes(t *testing.T) {
	if slow || testing.Short() {
		t.Skip("reading it takes long here")
	}
	g := openGateway(t, "version: 1\nservers:\n"+child("s", upstreamtest.Script{Extra: upstreamtest.BadTools}, ""), t.TempDir())
	for _, c := range []struct {
		fault string
		kind  tool.Kind
	}{{"large without id", tool.Failed}, {"large", tool.Failed}, {"", ""}} {
		args := upstreamtest.Fault{Kind: c.fault, Size: 100 << 20}
		res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "bad", Arguments: args.Arguments(), Timeout: patience})
		t.Logf("%s: %q after %s: %s", c.fault, res.Kind, res.Elapsed, res.Text())
		if res.Kind != c.kind {
			t.Errorf("%s: %q, want %q: %s", c.fault, res.Kind, c.kind, res.Text())
		}
	}
}
