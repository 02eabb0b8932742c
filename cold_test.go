package tenon_test

import (
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestCrowdAtAColdServer: calls that come while their server starts wait for its
// tools; none is told that they do not exist.
func TestCrowdAtAColdServer(t *testing.T) {
	t.Parallel()
	for range 3 {
		g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{Tools: 2000}, ""))})
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() {
				if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo"}); res.Kind != "" {
					t.Errorf("%s: %s", res.Kind, res.Text())
				}
			})
		}
		wg.Wait()
	}
}

// TestEagerBundledServer: a server whose tools are known without a process starts
// with the gateway where its entry says so, and else on its first use.
func TestEagerBundledServer(t *testing.T) {
	g := open(t, tenon.Options{Start: true, Config: write(t, "version: 1\nservers:\n"+
		"  early: {bundled: time, start: eager}\n  late: {bundled: time}\n")})
	events := g.Watch(t.Context())
	state := func(i int) tool.State { return g.Status()[i].State }
	for state(0) != tool.StateReady {
		if _, ok := <-events; !ok {
			t.Fatal("the gateway has ended")
		}
	}
	if got := state(1); got != tool.StateIdle {
		t.Errorf("the other one is %s", got)
	}
}
