package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestKilledAllTheTime: calls while the child is killed every 200 ms. Every call
// ends, with its own answer or with an error that says what became of
// it, nothing is carried out twice, and nothing is left.
func TestKilledAllTheTime(t *testing.T) {
	const calls, callers = 3000, 8
	file := filepath.Join(t.TempDir(), "written")
	pids := filepath.Join(t.TempDir(), "pids")
	p := start(t, upstreamtest.Script{CountFile: pids}, upstream.Options{StartRate: 100})
	p.await(t)
	ctx, cancel := context.WithCancel(t.Context())
	var killer, running sync.WaitGroup
	kills := 0
	killer.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
			if killLast(t, pids) {
				kills++
			}
		}
	})
	var next, answered, lost, unavailable, slowest atomic.Int64
	began := time.Now()
	for range callers {
		running.Go(func() {
			for n := next.Add(1); n <= calls; n = next.Add(1) {
				at := time.Now()
				_, err := p.Call(ctx, call("append", fmt.Sprintf(`{"file":%q,"text":"%d"}`, file, n)))
				slowest.Store(max(slowest.Load(), int64(time.Since(at))))
				switch _, isLost := errors.AsType[*upstream.LostError](err); {
				case err == nil:
					answered.Add(1)
				case isLost:
					lost.Add(1)
				case tool.KindOf(err) == tool.Unavailable:
					unavailable.Add(1)
				default:
					t.Errorf("call %d: %v", n, err)
				}
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	cancel()
	killer.Wait()
	t.Logf("%d calls and %d kills in %s: %d answered, %d lost, %d never sent, the slowest took %s",
		calls, kills, took.Round(time.Millisecond), answered.Load(), lost.Load(), unavailable.Load(), time.Duration(slowest.Load()).Round(time.Millisecond))
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(string(written)) {
		if seen[line] {
			t.Errorf("call %s was carried out twice", strings.TrimSpace(line))
		}
		seen[line] = true
	}
	if n := int64(len(seen)); n < answered.Load() || n > answered.Load()+lost.Load() {
		t.Errorf("%d calls were carried out", n)
	}
	if kills > 3 && answered.Load() < calls/2 {
		t.Errorf("only %d of %d calls were answered", answered.Load(), calls)
	}
}

// killLast kills the child that was started last.
func killLast(t *testing.T, pids string) bool {
	t.Helper()
	text, err := os.ReadFile(pids)
	if err != nil {
		return false
	}
	lines := strings.Fields(string(text))
	var pid int
	if _, err := fmt.Sscan(lines[len(lines)-1], &pid); err != nil {
		return false
	}
	child, err := os.FindProcess(pid)
	return err == nil && child.Kill() == nil
}

// TestManySessions: many sessions at once, none of which sees another's state.
func TestManySessions(t *testing.T) {
	const sessions, each = 40, 5
	p := start(t, upstreamtest.Script{}, upstream.Options{Isolation: upstream.PerSession, StartTimeout: time.Minute})
	var running sync.WaitGroup
	for i := range sessions {
		running.Go(func() {
			for n := range each {
				if got := p.count(t, fmt.Sprint("s", i)); got != fmt.Sprint(n+1) {
					t.Errorf("session %d counts %s, want %d", i, got, n+1)
				}
			}
		})
	}
	running.Wait()
}
