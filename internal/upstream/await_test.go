package upstream_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
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
	if err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaited := make(chan error, 1)
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	start := func() { awaited <- s.Await(t.Context()); close(done) }
	time.AfterFunc(0, start)
	select {
	case <-awaited:
		t.Error("the wait ended before the tools were told")
		close(told)
		return
	case <-time.After(100 * time.Millisecond):
	}
	close(told)
	if err := <-awaited; err != nil {
		t.Error(err)
	}
}
