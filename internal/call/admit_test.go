package call_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/admission"
	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// admitted returns a pipeline whose server s has one place, and whose tool sole is
// exclusive.
func admitted(each admission.Limits, send func(context.Context, *call.Request, []byte) (tool.Bytes, error)) func(context.Context, tool.Call) *tool.Result {
	return call.New(call.Options{
		Admission: admission.New(admission.Limits{Queue: 100}, func(string) admission.Limits { return each }),
		Catalog: &shelf{tools: []tool.Tool{
			{ID: tool.ID{Server: "s", Name: "t"}},
			{ID: tool.ID{Server: "s", Name: "sole"}, Meta: tool.Meta{Registered: true, Exclusive: true}},
		}},
		Send:   send,
		Record: func(*call.Request, *tool.Result) {},
		NewID:  func() string { return "id" },
	})
}

// second is a server that takes a second for each call.
func second(ctx context.Context, _ *call.Request, _ []byte) (tool.Bytes, error) {
	select {
	case <-time.After(time.Second):
		return text("ok"), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TestQueueIsWithinTheDeadline: waiting counts, and what ended while it waited was
// not sent, and says so.
func TestQueueIsWithinTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := admitted(admission.Limits{Concurrent: 1, Queue: 1}, second)
		var wg sync.WaitGroup
		wg.Go(func() { run(t.Context(), tool.Call{Server: "s", Tool: "t"}) })
		synctest.Wait()
		res := run(t.Context(), tool.Call{Server: "s", Tool: "t", Timeout: 300 * time.Millisecond})
		if res.Kind != tool.Timeout || res.Elapsed != 300*time.Millisecond || res.Attempts != 0 || !strings.Contains(res.Text(), "waited 300ms in the queue") {
			t.Errorf("got %q after %s: %s", res.Kind, res.Elapsed, res.Text())
		}
		res = run(t.Context(), tool.Call{Server: "s", Tool: "t", Timeout: 1200 * time.Millisecond})
		if res.Kind != tool.Timeout || res.Elapsed != 1200*time.Millisecond || res.Attempts != 1 || strings.Contains(res.Text(), "queue") {
			t.Errorf("got %q after %s: %s", res.Kind, res.Elapsed, res.Text())
		}
		wg.Wait()
	})
}

// TestShedCall: what may not wait is answered at once, as it is in the record.
func TestShedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := admitted(admission.Limits{Concurrent: 1}, second)
		var wg sync.WaitGroup
		wg.Go(func() { run(t.Context(), tool.Call{Server: "s", Tool: "t"}) })
		synctest.Wait()
		res := run(t.Context(), tool.Call{Server: "s", Tool: "t"})
		if res.Kind != tool.Unavailable || res.Elapsed != 0 || res.Attempts != 0 || res.Server != "s" || !strings.Contains(res.Text(), "too busy") {
			t.Errorf("got %+v", res)
		}
		wg.Wait()
	})
}

// TestSessionOfACall: a run that names only its task is a session, and calls
// without either are one.
func TestSessionOfACall(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []tool.Call
		took  time.Duration
	}{
		{"a task", []tool.Call{{Task: "a"}, {Task: "a"}, {Task: "b"}}, 2 * time.Second},
		{"a session over its task", []tool.Call{{Session: "s", Task: "a"}, {Session: "s", Task: "b"}, {Session: "z", Task: "b"}}, 2 * time.Second},
		{"none", []tool.Call{{}, {}, {}}, 3 * time.Second},
		{"two callers", []tool.Call{{Caller: tool.Caller{Name: "x"}}, {Caller: tool.Caller{Name: "y"}}}, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := admitted(admission.Limits{Queue: 10}, second)
				began := time.Now()
				var wg sync.WaitGroup
				for _, one := range c.calls {
					one.Server, one.Tool = "s", "sole"
					wg.Go(func() { run(t.Context(), one) })
				}
				wg.Wait()
				if took := time.Since(began); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
			})
		})
	}
}

// TestPanicFreesThePlace: whatever a call does, its place is free after it.
func TestPanicFreesThePlace(t *testing.T) {
	boom := true
	run := admitted(admission.Limits{Concurrent: 1}, func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
		if boom {
			panic("boom")
		}
		return text("ok"), nil
	})
	one := tool.Call{Server: "s", Tool: "sole"}
	if res := run(t.Context(), one); res.Kind != tool.Internal {
		t.Errorf("got %q: %s", res.Kind, res.Text())
	}
	boom = false
	if res := run(t.Context(), one); res.Kind != "" {
		t.Errorf("got %q: %s", res.Kind, res.Text())
	}
}

func BenchmarkAdmit(b *testing.B) {
	limits := admission.Limits{Concurrent: 100, Queue: 100}
	for name, admission := range map[string]*admission.Admission{
		"without": nil, "with": admission.New(limits, func(string) admission.Limits { return limits }),
	} {
		b.Run(name, func(b *testing.B) {
			answer := text("ok")
			run := call.New(call.Options{
				Admission: admission,
				Catalog:   &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}},
				Send:      func(context.Context, *call.Request, []byte) (tool.Bytes, error) { return answer, nil },
				Record:    func(*call.Request, *tool.Result) {},
				NewID:     func() string { return "id" },
			})
			b.ReportAllocs()
			for b.Loop() {
				run(b.Context(), tool.Call{Server: "s", Tool: "t"})
			}
		})
	}
}
