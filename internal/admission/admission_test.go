package admission_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/admission"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// many is no limit that these tests meet.
var many = admission.Limits{Queue: 10_000}

// A hall is an admission with servers that are one function.
type hall struct {
	*admission.Admission

	send func(ctx context.Context, k admission.Ask) error
	wg   sync.WaitGroup

	mu    sync.Mutex
	order []string // the sessions of the calls, as they began
}

// newHall returns an admission for which send carries out what was let in.
func newHall(all, each admission.Limits, send func(ctx context.Context, k admission.Ask) error) *hall {
	return &hall{Admission: admission.New(all, func(string) admission.Limits { return each }), send: send}
}

// run makes a call. The tool sole is exclusive.
func (h *hall) run(ctx context.Context, c tool.Call) *tool.Result {
	began := time.Now()
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, &tool.Error{Kind: tool.Timeout, Text: "too late"})
		defer cancel()
	}
	k := admission.Ask{
		Server: c.Server, Tool: c.Tool, Bytes: len(c.Arguments),
		Exclusive: c.Tool == "sole", Caller: c.Caller.Name, Session: c.Session,
	}
	place, err := h.Enter(ctx, k)
	if err == nil {
		defer place.Leave()
		h.mu.Lock()
		h.order = append(h.order, k.Session)
		h.mu.Unlock()
		err = h.send(ctx, k)
	}
	res := &tool.Result{ID: "id", Kind: tool.KindOf(err), Elapsed: time.Since(began), Err: err}
	if err != nil {
		res.Message = err.Error()
	}
	return res
}

// start makes a call in the background.
func (h *hall) start(ctx context.Context, c tool.Call) *tool.Result {
	res := new(tool.Result)
	h.wg.Go(func() { *res = *h.run(ctx, c) })
	return res
}

// sleep is a server that takes a second for each call.
func sleep(ctx context.Context, _ admission.Ask) error {
	select {
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *hall) wantLoad(t *testing.T, server string, running, queued int) {
	t.Helper()
	if r, q := h.Load(server); r != running || q != queued {
		t.Errorf("%s: %d calls run and %d wait, want %d and %d", server, r, q, running, queued)
	}
}

// TestQueueIsInOrder: what waits is served first come, first served, as soon as
// there is room.
func TestQueueIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(many, admission.Limits{Concurrent: 2, Queue: 10}, sleep)
		var want []string
		began := time.Now()
		for i := range 8 {
			session := fmt.Sprint(i)
			want = append(want, session)
			h.start(t.Context(), tool.Call{Server: "s", Tool: "t", Session: session})
			time.Sleep(time.Millisecond) // so that no two end at once
		}
		h.wantLoad(t, "s", 2, 6)
		h.wg.Wait()
		if took := time.Since(began); took != 4*time.Second+time.Millisecond {
			t.Errorf("8 calls of 1 s, two at once, took %s", took)
		}
		if !slices.Equal(h.order, want) {
			t.Errorf("order %v, want %v", h.order, want)
		}
		h.wantLoad(t, "s", 0, 0)
	})
}

// TestShedding: of 2,000 calls at once those that may not even wait are answered
// at once, with what to do, and none is lost.
func TestShedding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(many, admission.Limits{Concurrent: 4, Queue: 10}, sleep)
		const n = 2000
		results := make([]*tool.Result, n)
		began := time.Now()
		for i := range n {
			results[i] = h.start(t.Context(), tool.Call{Server: "s", Tool: "t"})
		}
		synctest.Wait()
		h.wantLoad(t, "s", 4, 10)
		h.wg.Wait()
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("took %s, want the 4 s of 14 calls, four at once", took)
		}
		kinds := map[tool.Kind]int{}
		for _, res := range results {
			kinds[res.Kind]++
			if res.Kind == tool.Unavailable && (res.Elapsed != 0 ||
				!strings.Contains(res.Text(), "Server s is too busy: 4 calls are running and 10 wait. This one was not sent") ||
				!strings.Contains(res.Text(), "in about 1s")) {
				t.Fatalf("shed after %s: %s", res.Elapsed, res.Text())
			}
		}
		if kinds[""] != 14 || kinds[tool.Unavailable] != n-14 {
			t.Errorf("outcomes %v", kinds)
		}
	})
}

// TestHintFollowsTheTimeOfCalls: who is sent away is told how long what is there
// may take, by the calls that have ended, or by how long none has.
func TestHintFollowsTheTimeOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		length := 10 * time.Second
		h := newHall(many, admission.Limits{Concurrent: 1, Queue: 2}, func(context.Context, admission.Ask) error {
			time.Sleep(length)
			return nil
		})
		c := tool.Call{Server: "s", Tool: "t", Timeout: 5 * time.Hour}
		hint := func(want string) {
			t.Helper()
			if res := h.run(t.Context(), c); res.Kind != tool.Unavailable || !strings.Contains(res.Text(), "in about "+want+",") {
				t.Errorf("got %q, want a hint of %s: %s", res.Kind, want, res.Text())
			}
		}
		fill := func() {
			for range 3 {
				h.start(t.Context(), c)
			}
			synctest.Wait()
		}
		fill()
		hint("1s") // nothing is known
		time.Sleep(4 * time.Second)
		hint("12s") // none has ended for 4 s
		h.wg.Wait()
		fill()
		hint("30s")
		h.wg.Wait()
		length = time.Hour
		fill()
		time.Sleep(30 * time.Minute)
		hint("15m0s") // no longer than anybody would wait
		h.wg.Wait()
	})
}

// TestNobodyMayWait: without a queue, what cannot run now is sent away, and is
// told what there is too much of.
func TestNobodyMayWait(t *testing.T) {
	for _, c := range []struct {
		name      string
		all, each admission.Limits
		tool      string
		want      string
	}{
		{"server", many, admission.Limits{Concurrent: 1}, "t", "Server s is too busy: 1 calls are running and no call may wait."},
		{"gateway", admission.Limits{Concurrent: 1}, admission.Limits{Concurrent: 2, Queue: 2}, "t", "The gateway is too busy: 1 calls"},
		{"gateway, and no queue at the server", admission.Limits{Concurrent: 1, Queue: 2}, admission.Limits{Concurrent: 2}, "t", "The gateway is too busy: 1 calls"},
		{"tool", many, admission.Limits{Concurrent: 2}, "sole", "Tool sole, which runs once at a time in a session, is too busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(c.all, c.each, sleep)
				one := tool.Call{Server: "s", Tool: c.tool}
				h.start(t.Context(), one)
				synctest.Wait()
				res := h.run(t.Context(), one)
				if res.Kind != tool.Unavailable || !strings.Contains(res.Text(), c.want) || res.Elapsed != 0 {
					t.Errorf("got %q after %s: %s", res.Kind, res.Elapsed, res.Text())
				}
				h.wg.Wait()
			})
		})
	}
}

// TestFullServerHoldsNobodyUp: calls that wait for a busy server take nothing
// from the calls of another.
func TestFullServerHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(admission.Limits{Concurrent: 2, Queue: 20}, admission.Limits{Concurrent: 1, Queue: 10}, sleep)
		for range 10 {
			h.start(t.Context(), tool.Call{Server: "s", Tool: "t"})
		}
		synctest.Wait()
		h.wantLoad(t, "s", 1, 9)
		if res := h.run(t.Context(), tool.Call{Server: "other", Tool: "t"}); res.Kind != "" || res.Elapsed != time.Second {
			t.Errorf("got %q after %s: %s", res.Kind, res.Elapsed, res.Text())
		}
		h.wg.Wait()
	})
}

// TestServersTakeTurns: where all places are taken, the servers get the next ones
// in turn, however many calls of each wait.
func TestServersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(admission.Limits{Concurrent: 1, Queue: 20}, admission.Limits{Concurrent: 9, Queue: 20}, sleep)
		for _, c := range []struct{ server, session string }{
			{"s", "s1"},
			{"s", "s2"},
			{"s", "s3"},
			{"s", "s4"},
			{"other", "o1"},
			{"other", "o2"},
		} {
			h.start(t.Context(), tool.Call{Server: c.server, Tool: "t", Session: c.session})
			synctest.Wait()
		}
		h.wg.Wait()
		if want := []string{"s1", "s2", "o1", "s3", "o2", "s4"}; !slices.Equal(h.order, want) {
			t.Errorf("order %v, want %v", h.order, want)
		}
	})
}

// TestGatewayIsFull: the limits of all hold too, and are told as such.
func TestGatewayIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(admission.Limits{Concurrent: 1, Queue: 3, Bytes: 100}, admission.Limits{Concurrent: 5, Queue: 5}, sleep)
		big := []byte(`{"text":"` + strings.Repeat("x", 80) + `"}`)
		h.start(t.Context(), tool.Call{Server: "s", Tool: "t"})
		synctest.Wait()
		h.start(t.Context(), tool.Call{Server: "s", Tool: "t", Arguments: big})
		synctest.Wait()
		res := h.run(t.Context(), tool.Call{Server: "other", Tool: "t", Arguments: big})
		if res.Kind != tool.Unavailable || !strings.Contains(res.Text(), "The gateway is too busy: 1 calls") || !strings.Contains(errors.Unwrap(res.Err).Error(), "exceed 100") {
			t.Errorf("too many bytes wait, got %q: %s (%v)", res.Kind, res.Text(), res.Err)
		}
		for range 2 {
			h.start(t.Context(), tool.Call{Server: "s", Tool: "t"})
		}
		synctest.Wait()
		if res := h.run(t.Context(), tool.Call{Server: "other", Tool: "t"}); res.Kind != tool.Unavailable || !strings.Contains(res.Text(), "1 calls are running and 3 wait") {
			t.Errorf("too many calls wait, got %q: %s", res.Kind, res.Text())
		}
		h.wg.Wait()
		// One that is larger than all that may wait may wait alone.
		h.start(t.Context(), tool.Call{Server: "s", Tool: "t"})
		synctest.Wait()
		huge := []byte(`{"text":"` + strings.Repeat("x", 800) + `"}`)
		if res := h.run(t.Context(), tool.Call{Server: "s", Tool: "t", Arguments: huge}); res.Kind != "" {
			t.Errorf("alone, got %q: %s", res.Kind, res.Text())
		}
		h.wg.Wait()
	})
}

// TestEndInTheQueue: a call that ends while it waits says so, was not sent, and
// leaves its place to others.
func TestEndInTheQueue(t *testing.T) {
	mine := &tool.Error{Kind: tool.Denied, Text: "not any more"}
	for _, c := range []struct {
		name string
		tool string
		call tool.Call
		end  func(t *testing.T) context.Context
		kind tool.Kind
		text string
		took time.Duration
	}{
		{
			name: "deadline", tool: "t", call: tool.Call{Timeout: 300 * time.Millisecond}, kind: tool.Timeout,
			text: "waited 300ms in the queue, because its server was busy with 1 calls, and was not sent. Its time is over", took: 300 * time.Millisecond,
		},
		{
			name: "deadline of the context", tool: "t", kind: tool.Timeout, text: "Its time is over", took: 400 * time.Millisecond,
			end: func(t *testing.T) context.Context {
				ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
				t.Cleanup(cancel)
				return ctx
			},
		},
		{
			name: "canceled", tool: "t", kind: tool.Canceled, text: "waited 500ms in the queue", took: 500 * time.Millisecond,
			end: func(t *testing.T) context.Context {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(500*time.Millisecond, cancel)
				return ctx
			},
		},
		{
			name: "a cause of its own", tool: "t", kind: tool.Denied, text: "in the queue", took: 500 * time.Millisecond,
			end: func(t *testing.T) context.Context {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(500*time.Millisecond, func() { cancel(mine) })
				return ctx
			},
		},
		{
			name: "behind itself", tool: "sole", call: tool.Call{Timeout: 300 * time.Millisecond}, kind: tool.Timeout,
			text: "because tool sole runs once at a time in a session", took: 300 * time.Millisecond,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				each := admission.Limits{Concurrent: 1, Queue: 2}
				if c.tool == "sole" {
					each.Concurrent = 5
				}
				h := newHall(many, each, sleep)
				c.call.Server, c.call.Tool = "s", c.tool
				h.start(t.Context(), tool.Call{Server: "s", Tool: c.tool, Session: "first"})
				if c.tool == "sole" {
					c.call.Session = "first"
				}
				synctest.Wait()
				ctx := t.Context()
				if c.end != nil {
					ctx = c.end(t)
				}
				res := h.start(ctx, c.call)
				synctest.Wait()
				h.wantLoad(t, "s", 1, 1)
				last := h.start(t.Context(), tool.Call{Server: "s", Tool: c.tool, Session: "last"})
				time.Sleep(600 * time.Millisecond)
				synctest.Wait()
				if res.Kind != c.kind || res.Elapsed != c.took || !strings.Contains(res.Text(), c.text) {
					t.Errorf("got %q after %s: %s", res.Kind, res.Elapsed, res.Text())
				}
				h.wg.Wait()
				if want := []string{"first", "last"}; last.Kind != "" || !slices.Equal(h.order, want) {
					t.Errorf("%v were sent, want %v", h.order, want)
				}
				h.wantLoad(t, "s", 0, 0)
			})
		})
	}
}

// TestAdmittedAsItGivesUp: a call that gets its place in the moment in which it
// gives up hands it on.
func TestAdmittedAsItGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := admission.Limits{Concurrent: 1, Queue: 10}
		a := admission.New(limits, func(string) admission.Limits { return limits })
		for _, k := range []admission.Ask{{Server: "s"}, {Server: "s", Exclusive: true}} {
			for range 500 { // it depends on who is first
				place, err := a.Enter(t.Context(), k)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for _, ctx := range []context.Context{ctx, t.Context()} {
					wg.Go(func() {
						if place, err := a.Enter(ctx, k); err == nil {
							place.Leave()
						}
					})
					synctest.Wait()
				}
				cancel()
				place.Leave()
				wg.Wait()
				if running, queued := a.Load("s"); running != 0 || queued != 0 {
					t.Fatalf("%d run and %d wait", running, queued)
				}
			}
		}
	})
}

// TestExclusiveTool: a tool that is declared so never overlaps with itself in a
// session, and does in others.
func TestExclusiveTool(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []tool.Call
		took  time.Duration
	}{
		{"one session", []tool.Call{{Tool: "sole", Session: "a"}, {Tool: "sole", Session: "a"}, {Tool: "sole", Session: "a"}}, 3 * time.Second},
		{"no session is one", []tool.Call{{Tool: "sole"}, {Tool: "sole"}}, 2 * time.Second},
		{"two sessions", []tool.Call{{Tool: "sole", Session: "a"}, {Tool: "sole", Session: "b"}}, time.Second},
		{"two callers", []tool.Call{{Tool: "sole", Session: "a"}, {Tool: "sole", Session: "a", Caller: tool.Caller{Name: "x"}}}, time.Second},
		{"beside another tool", []tool.Call{{Tool: "sole", Session: "a"}, {Tool: "t", Session: "a"}}, time.Second},
		{"one that nobody declared", []tool.Call{{Tool: "t", Session: "a"}, {Tool: "t", Session: "a"}}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(many, admission.Limits{Concurrent: 3, Queue: 2}, sleep)
				began := time.Now()
				for _, one := range c.calls {
					one.Server = "s"
					h.start(t.Context(), one)
				}
				h.wg.Wait()
				if took := time.Since(began); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
				h.wantLoad(t, "s", 0, 0)
			})
		})
	}
}

// TestConfigure: new limits count at once for those that wait.
func TestConfigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(many, admission.Limits{Concurrent: 1, Queue: 10}, sleep)
		for range 5 {
			h.start(t.Context(), tool.Call{Server: "s", Tool: "t"})
		}
		synctest.Wait()
		h.wantLoad(t, "s", 1, 4)
		h.Configure(admission.Limits{Concurrent: 3, Queue: 1}, func(string) admission.Limits { return admission.Limits{} })
		synctest.Wait()
		h.wantLoad(t, "s", 3, 2)
		h.wg.Wait()
	})
}

// TestCrowd mixes everything at random: nothing overlaps that must not, no limit
// is passed, every call ends, and no place is lost.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all, sole atomic.Int64
		byServer := map[string]*atomic.Int64{"s": {}, "other": {}}
		enter := func(n *atomic.Int64, most int64) func() {
			if n.Add(1) > most {
				t.Errorf("%d at once, want at most %d", n.Load(), most)
			}
			return func() { n.Add(-1) }
		}
		h := newHall(admission.Limits{Concurrent: 5, Queue: 60, Bytes: 1000}, admission.Limits{Concurrent: 3, Queue: 40}, func(ctx context.Context, k admission.Ask) error {
			defer enter(&all, 5)()
			defer enter(byServer[k.Server], 3)()
			if k.Tool == "sole" {
				defer enter(&sole, 1)()
			}
			select {
			case <-time.After(time.Duration(rand.IntN(5)) * time.Millisecond):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		calls := []tool.Call{{Server: "s", Tool: "t"}, {Server: "s", Tool: "sole", Session: "a"}, {Server: "other", Tool: "t"}}
		results := make([]*tool.Result, 0, 3000)
		for range cap(results) / 100 {
			for range 100 {
				c := calls[rand.IntN(3)]
				c.Timeout = time.Duration(1+rand.IntN(60)) * time.Millisecond
				c.Arguments = []byte(`{"x":"` + strings.Repeat("x", rand.IntN(50)) + `"}`)
				results = append(results, h.start(t.Context(), c))
			}
			time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		}
		h.wg.Wait()
		kinds := map[tool.Kind]int{}
		for _, res := range results {
			kinds[res.Kind]++
			if res.ID == "" || res.Elapsed > 60*time.Millisecond {
				t.Fatalf("%+v", res)
			}
		}
		if len(kinds) != 3 || kinds[""] == 0 || kinds[tool.Timeout] == 0 || kinds[tool.Unavailable] == 0 {
			t.Errorf("outcomes %v", kinds)
		}
		h.wantLoad(t, "s", 0, 0)
		h.wantLoad(t, "other", 0, 0)
		for _, c := range calls {
			for range 7 {
				if res := h.run(t.Context(), c); res.Kind != "" || res.Elapsed > 5*time.Millisecond {
					t.Errorf("afterwards %s took %s: %q", c.Tool, res.Elapsed, res.Kind)
				}
			}
		}
	})
}

// TestShedIsTold: the log gets the figures.
func TestShedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(many, admission.Limits{Concurrent: 1}, sleep)
		h.start(t.Context(), tool.Call{Server: "s", Tool: "t"})
		synctest.Wait()
		res := h.run(t.Context(), tool.Call{Server: "s", Tool: "t"})
		if errors.Unwrap(res.Err) == nil || !strings.Contains(errors.Unwrap(res.Err).Error(), "1 of 1 running, 0 of 0 waiting") {
			t.Errorf("got %v", res.Err)
		}
		h.wg.Wait()
	})
}
