package upstream_test

import (
	"encoding/json"
	"path/filepath"
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
	if !upstream.IsStarting(s) {
		t.Error("who makes a list would not wait for these tools")
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

// TestKnownToolsComeBack: a server whose tools are known without it (a bundled one) comes
// back by itself after its death, as any other does, and does not stay failed until it is used.
func TestKnownToolsComeBack(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{CountFile: count}, upstream.Options{
		Keep: true, Tools: []json.RawMessage{json.RawMessage(`{"name":"echo","inputSchema":{"type":"object"}}`)},
	})
	if st := p.Status(); st.State != tool.StateIdle {
		t.Errorf("it is %s before anybody needs it", st.State)
	}
	p.text(t, call("echo", "{}"))
	if _, err := p.Call(t.Context(), call("exit", "{}")); err == nil {
		t.Fatal("it has not ended")
	}
	p.until(t, "a second start", func() bool { return p.Status().State == tool.StateReady && upstreamtest.Starts(t, count) == 2 })
	if st := p.Status(); st.Reason != "" || st.NextTry != nil {
		t.Errorf("it is ready, and %q is said of it", st.Reason)
	}
}
