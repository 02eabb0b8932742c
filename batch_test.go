package tenon_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

type nothing struct{}

var (
	sideBySide = &tool.Meta{ReadOnly: true, ConcurrencySafe: true}
	notSafe    = &tool.Meta{ReadOnly: true}
)

// pair adds two tools that answer only once both run.
func pair(o *tenon.Options, meta *tool.Meta) {
	meeting := make(chan struct{})
	for _, name := range []string{"cpu", "disk"} {
		tenon.AddTool(o, tenon.Function{Name: name, Meta: meta}, func(ctx context.Context, _ nothing) (nothing, error) {
			select {
			case meeting <- struct{}{}:
			case <-meeting:
			case <-ctx.Done():
				return nothing{}, ctx.Err()
			}
			return nothing{}, nil
		})
	}
}

// alone adds a tool that counts how many calls of it there were, and fails where
// two overlap.
func alone(o *tenon.Options, name string, meta *tool.Meta) *atomic.Int64 {
	running, calls := &atomic.Int64{}, &atomic.Int64{}
	tenon.AddTool(o, tenon.Function{Name: name, Meta: meta}, func(context.Context, nothing) (nothing, error) {
		defer running.Add(-1)
		calls.Add(1)
		if running.Add(1) > 1 {
			return nothing{}, fmt.Errorf("%s overlaps with itself", name)
		}
		for range 50 {
			runtime.Gosched() // let another one come
		}
		return nothing{}, nil
	})
	return calls
}

func calls(ids ...string) []tool.Call {
	out := make([]tool.Call, len(ids))
	for i, id := range ids {
		server, name, _ := strings.Cut(id, "/")
		out[i] = tool.Call{Server: server, Tool: name, Timeout: time.Minute}
	}
	return out
}

func wantAll(t *testing.T, results []*tool.Result, n int) {
	t.Helper()
	if len(results) != n {
		t.Errorf("%d results, want %d", len(results), n)
	}
	for i, res := range results {
		if res.Kind != "" {
			t.Errorf("%d: %q: %s", i, res.Kind, res.Text())
		}
	}
}

// TestBatchRunsNeighboursSideBySide: [cpu, disk, web] are cpu beside disk, then
// web. Had cpu waited for disk or disk for cpu, neither would end.
func TestBatchRunsNeighboursSideBySide(t *testing.T) {
	var o tenon.Options
	pair(&o, sideBySide)
	alone(&o, "web", nil)
	g := open(t, o)
	results := g.CallBatch(t.Context(), calls("go/cpu", "go/disk", "go/web"))
	wantAll(t, results, 3)
	for i, name := range []string{"cpu", "disk", "web"} {
		if results[i].Tool != name {
			t.Errorf("result %d is of %s", i, results[i].Tool)
		}
	}
	t.Run("corrected servers too", func(t *testing.T) {
		wantAll(t, g.CallBatch(t.Context(), calls("misspelt/cpu", "/disk")), 2)
	})
}

// TestBatchRunsTheRestAlone: tools that nobody declared, and those that are
// declared not to be safe, never run beside their neighbours.
func TestBatchRunsTheRestAlone(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]*tool.Meta{"undeclared": nil, "declared": notSafe} {
		t.Run(name, func(t *testing.T) {
			var o tenon.Options
			n := alone(&o, "web", meta)
			g := open(t, o)
			wantAll(t, g.CallBatch(t.Context(), calls("go/web", "go/web", "go/web", "go/web")), 4)
			if n.Load() != 4 {
				t.Errorf("%d calls", n.Load())
			}
		})
	}
}

// TestDeclaredToolNeverOverlapsInASession: whoever calls, however; and one that
// nobody declared is free to, outside of batches.
func TestDeclaredToolNeverOverlapsInASession(t *testing.T) {
	t.Parallel()
	var o tenon.Options
	n := alone(&o, "sole", notSafe)
	g := open(t, o)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 3 {
				if res := g.Call(t.Context(), tool.Call{Server: "go", Tool: "sole", Session: "s"}); res.Kind != "" {
					t.Errorf("%q: %s", res.Kind, res.Text())
				}
			}
		})
		wg.Go(func() {
			batch := calls("go/sole", "misspelt/sole")
			batch[0].Session, batch[1].Session = "s", "s"
			wantAll(t, g.CallBatch(t.Context(), batch), 2)
		})
	}
	wg.Wait()
	if n.Load() != 50 {
		t.Errorf("%d calls, want 50", n.Load())
	}
	for name, c := range map[string]struct {
		meta     *tool.Meta
		sessions [2]string
	}{
		"two sessions":       {notSafe, [2]string{"a", "b"}},
		"nobody declared it": {nil, [2]string{"a", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var o tenon.Options
			meeting := make(chan struct{})
			tenon.AddTool(&o, tenon.Function{Name: "meet", Meta: c.meta}, func(ctx context.Context, _ nothing) (nothing, error) {
				select {
				case meeting <- struct{}{}:
				case <-meeting:
				case <-ctx.Done():
					return nothing{}, ctx.Err()
				}
				return nothing{}, nil
			})
			g := open(t, o)
			results := make([]*tool.Result, 2)
			var wg sync.WaitGroup
			for i, session := range c.sessions {
				wg.Go(func() {
					results[i] = g.Call(t.Context(), tool.Call{Server: "go", Tool: "meet", Session: session, Timeout: time.Minute})
				})
			}
			wg.Wait()
			wantAll(t, results, 2)
		})
	}
}

// TestBatchEndsWithItsCaller: what has not begun is canceled, what failed touches
// nothing else, and what is too much is denied.
func TestBatchEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var o tenon.Options
	pair(&o, sideBySide)
	tenon.AddTool(&o, tenon.Function{Name: "fail"}, func(context.Context, nothing) (nothing, error) {
		return nothing{}, fmt.Errorf("it did not work")
	})
	tenon.AddTool(&o, tenon.Function{Name: "stop"}, func(context.Context, nothing) (nothing, error) {
		cancel()
		return nothing{}, nil
	})
	o.Config = write(t, "version: 1\ngateway: {max_batch: 7}\n")
	g := open(t, o)
	results := g.CallBatch(ctx, calls("go/fail", "no/such", "go/cpu", "go/disk", "go/stop", "go/cpu", "go/disk", "go/cpu"))
	want := []tool.Kind{tool.Failed, tool.NotFound, "", "", "*", tool.Canceled, tool.Canceled, tool.Denied}
	for i, res := range results {
		if want[i] != "*" && res.Kind != want[i] { // the call that cancels itself may end either way
			t.Errorf("%d: %q, want %q: %s", i, res.Kind, want[i], res.Text())
		}
		if _, ok := g.CallRecord(res.ID); !ok {
			t.Errorf("%d is not recorded", i)
		}
	}
	if notes := tenon.BatchNotes(results); len(notes) != 1 || !strings.Contains(notes[0].Text, "at most 7 calls, and this one holds 8") {
		t.Errorf("notes %v", notes)
	}
}

// TestCrowdIsShed: of 2,000 calls at once all but those that run and wait are
// answered at once, and none is lost.
func TestCrowdIsShed(t *testing.T) {
	t.Parallel()
	const crowd, held = 2000, 4 + 10
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+
		entry(t, "s", upstreamtest.Script{}, ", max_concurrent: 4, max_queue: 10"))})
	if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo"}); res.Kind != "" {
		t.Fatal(res.Text())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make(chan *tool.Result)
	var wg sync.WaitGroup
	for range crowd {
		wg.Go(func() { results <- g.Call(ctx, tool.Call{Server: "s", Tool: "wait"}) })
	}
	kinds := map[tool.Kind]int{}
	for n := range crowd {
		if n == crowd-held { // those that are left run or wait
			if st := g.Status()[0]; st.Running != 4 || st.Queued != 10 {
				t.Errorf("%d run and %d wait, want 4 and 10", st.Running, st.Queued)
			}
			cancel()
		}
		res := <-results
		kinds[res.Kind]++
		if res.Kind == tool.Unavailable && !strings.Contains(res.Text(), "Server s is too busy: 4 calls are running and 10 wait") {
			t.Fatal(res.Text())
		}
	}
	wg.Wait()
	if want := map[tool.Kind]int{tool.Unavailable: crowd - held, tool.Canceled: held}; !maps.Equal(kinds, want) {
		t.Errorf("outcomes %v, want %v", kinds, want)
	}
	if st := g.Status()[0]; st.Running != 0 || st.Queued != 0 {
		t.Errorf("afterwards %d run and %d wait", st.Running, st.Queued)
	}
	if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo"}); res.Kind != "" {
		t.Errorf("afterwards: %s", res.Text())
	}
}

// TestReloadKeepsPlaces: calls from before a reload still hold their places, and
// its limits count at once for those that wait; the server stays.
func TestReloadKeepsPlaces(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "flag")
	config := func(limits string) string {
		return "version: 1\nservers:\n" + entry(t, "s", upstreamtest.Script{Extra: []string{upstreamtest.UntilTool}}, limits)
	}
	g, rewrite := reloadable(t, config(", max_concurrent: 1, max_queue: 1"))
	load := func(running, queued int) {
		for st := g.Status()[0]; st.Running != running || st.Queued != queued; st = g.Status()[0] {
			runtime.Gosched()
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "until", Arguments: fmt.Appendf(nil, `{"file":%q}`, flag)}); res.Kind != "" {
			t.Errorf("the call that ran: %s", res.Text())
		}
	})
	load(1, 0)
	waits := make(chan *tool.Result, 1)
	wg.Go(func() {
		waits <- g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo", Timeout: time.Minute})
	})
	load(1, 1)
	for _, step := range []struct {
		limits string
		kind   tool.Kind
	}{{", max_concurrent: 1, max_queue: 0", tool.Unavailable}, {", max_concurrent: 2, max_queue: 0", ""}} {
		rewrite(config(step.limits))
		if r, err := g.Reload(t.Context()); err != nil || len(r.Replaced) > 0 {
			t.Fatalf("got %+v, %v", r, err)
		}
		if step.kind == "" {
			if res := <-waits; res.Kind != "" {
				t.Errorf("the call that waited: %s", res.Text())
			}
			load(1, 0)
		}
		if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo"}); res.Kind != step.kind {
			t.Errorf("with%s: %q: %s", step.limits, res.Kind, res.Text())
		}
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}
