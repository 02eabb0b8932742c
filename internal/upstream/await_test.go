package upstream_test

import (
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestAwaitMeansListed: whoever waits for the tools of a server goes on only when
// they have been told, however soon the server itself can be called.
func TestAwaitMeansListed(t *testing.T) {
	spawner := proc.New(proc.Options{})
	told := make(chan struct{})
	s, err := upstream.New(upstream.Options{
		Name: "script", Command: upstreamtest.Command(t, upstreamtest.Script{}), Spawner: spawner,
		Listed: func([]json.RawMessage) { <-told },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = spawner.Close() })
	s.Ensure()
	for s.Status().State != tool.StateReady {
		runtime.Gosched()
	}
	awaited := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { awaited <- s.Await(t.Context()) })
	select {
	case <-awaited:
		t.Error("the wait ended before the tools were told")
	case <-time.After(100 * time.Millisecond):
	}
	close(told)
}
