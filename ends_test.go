package tenon_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestServersInProcessGiveBack: a bundled server that runs in this process is told its
// end, and one that is only looked at has none.
func TestServersInProcessGiveBack(t *testing.T) {
	var ended atomic.Int32
	looked := false
	holding := tenon.Bundled{Name: "holding", New: func(_ json.RawMessage, at tool.Place) (*mcp.Server, error) {
		if looked = at.AtEnd == nil; !looked {
			at.AtEnd(func() error { ended.Add(1); return nil })
		}
		return mirrors(nil, at)
	}}
	config := write(t, "version: 1\nservers: {holding: {bundled: holding}}\n")
	for _, executable := range [][]string{nil, {"/nowhere/tenon"}} {
		ended.Store(0)
		g, err := tenon.Open(t.Context(), tenon.Options{Config: config, Bundled: []tenon.Bundled{holding}, Executable: executable})
		if err != nil {
			t.Fatal(err)
		}
		before := ended.Load()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		want := int32(1)
		if executable != nil {
			want = 0
		}
		if before != 0 || ended.Load() != want || looked != (executable != nil) {
			t.Errorf("%v: %d ended before, %d after, looked at: %v", executable, before, ended.Load(), looked)
		}
	}
}
