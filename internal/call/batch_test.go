package call_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		safe     string // s is safe, u is not
		parallel int
		want     []int
	}{
		{"", 6, nil},
		{"u", 6, []int{1}},
		{"ssu", 6, []int{2, 1}}, // [cpu, disk, web]
		{"sssssss", 6, []int{6, 1}},
		{"usu", 6, []int{1, 1, 1}},
		{"ussuss", 6, []int{1, 2, 1, 2}},
		{"uu", 6, []int{1, 1}},
		{"sss", 1, []int{1, 1, 1}},
		{"ss", 0, []int{1, 1}},
	} {
		safe := make([]bool, len(c.safe))
		for i := range c.safe {
			safe[i] = c.safe[i] == 's'
		}
		if got := call.Plan(safe, c.parallel); !slices.Equal(got, c.want) {
			t.Errorf("%s in groups of %d: %v, want %v", c.safe, c.parallel, got, c.want)
		}
	}
}

// late is a catalog whose server "late" lists its tools after two seconds, and
// whose server "hangs" never does.
type late struct {
	*shelf

	mu     sync.Mutex
	listed bool
}

func (l *late) HasServer(name string) bool {
	return name == "late" || name == "hangs" || l.shelf.HasServer(name)
}

func (l *late) Await(ctx context.Context, server string) error {
	wait := 2 * time.Second
	if server == "hangs" {
		wait = time.Hour
	}
	if server != "late" && server != "hangs" && server != "" {
		return nil
	}
	l.mu.Lock()
	listed := l.listed
	l.mu.Unlock()
	if listed {
		return nil
	}
	select {
	case <-time.After(wait):
		l.mu.Lock()
		defer l.mu.Unlock()
		l.listed = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *late) Find(id tool.ID) (*tool.Tool, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id.Server == "late" && !l.listed {
		return nil, false
	}
	return l.shelf.Find(id)
}

func (l *late) WithName(name string) (out []*tool.Tool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, t := range l.shelf.WithName(name) {
		if t.Server != "late" || l.listed {
			out = append(out, t)
		}
	}
	return out
}

// TestBatchAsksTheToolThatIsMeant shows which calls run side by side: those that
// are written together in want.
func TestBatchAsksTheToolThatIsMeant(t *testing.T) {
	safe := tool.Meta{Registered: true, ConcurrencySafe: true}
	catalog := func(listed bool) *late {
		return &late{listed: listed, shelf: &shelf{black: tool.ID{Server: "s", Name: "black"}, tools: []tool.Tool{
			{ID: tool.ID{Server: "s", Name: "cpu"}, Meta: safe},
			{ID: tool.ID{Server: "s", Name: "disk"}, Meta: safe},
			{ID: tool.ID{Server: "s", Name: "web"}},
			{ID: tool.ID{Server: "s", Name: "black"}, Meta: safe},
			{ID: tool.ID{Server: "s", Name: "twice"}, Meta: safe},
			{ID: tool.ID{Server: "z", Name: "twice"}, Meta: safe},
			{ID: tool.ID{Server: "z", Name: "zip"}, Meta: safe},
			{ID: tool.ID{Server: "late", Name: "cpu"}},
			{ID: tool.ID{Server: "late", Name: "slow"}, Meta: safe},
		}}}
	}
	for _, c := range []struct {
		name  string
		calls string
		want  string
		took  time.Duration // before the last group
	}{
		{"by kind", "s/cpu s/disk s/web", "s/cpu+s/disk s/web", time.Second},
		{"unsafe first", "s/web s/cpu s/disk", "s/web s/cpu+s/disk", time.Second},
		{"more than may", "s/cpu s/cpu s/cpu s/disk", "s/cpu+s/cpu+s/cpu s/disk", time.Second},
		{"misspelt server", "ss/zip s/cpu", "s/cpu+z/zip", 0},
		{"no server", "/zip s/cpu", "s/cpu+z/zip", 0},
		{"server that lacks it", "s/zip s/cpu", "s/cpu+z/zip", 0},
		{"unknown tool", "s/cpu s/nope s/disk", "s/cpu s/disk", time.Second},
		{"name that two have", "s/cpu nowhere/twice s/disk", "s/cpu s/disk", time.Second},
		{"blacklisted", "s/cpu s/black s/disk", "s/cpu s/disk", time.Second},
		{"not listed yet", "late/slow late/slow s/web", "late/slow+late/slow s/web", 3 * time.Second},
		{"not listed yet, and another has the name", "late/cpu s/cpu s/web", "late/cpu s/cpu s/web", 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				began := time.Now()
				groups := map[time.Duration][]string{}
				options := call.Options{
					Catalog: catalog(!strings.Contains(c.calls, "late/")),
					Send: func(ctx context.Context, r *call.Request, _ []byte) (tool.Bytes, error) {
						mu.Lock()
						at := time.Since(began)
						groups[at] = append(groups[at], r.Target.String())
						mu.Unlock()
						return second(ctx, r, nil)
					},
					Record: func(*call.Request, *tool.Result) {}, NewID: func() string { return "id" },
				}
				batch := call.NewBatch(options, call.BatchOptions{MaxParallel: 3}, call.New(options))
				var calls []tool.Call
				for _, id := range strings.Fields(c.calls) {
					server, name, _ := strings.Cut(id, "/")
					calls = append(calls, tool.Call{Server: server, Tool: name})
				}
				results := batch(t.Context(), calls)
				var got []string
				var last time.Duration
				for at := time.Duration(0); at < time.Minute; at += time.Second {
					if g := groups[at]; g != nil {
						slices.Sort(g)
						got, last = append(got, strings.Join(g, "+")), at
					}
				}
				if groups := strings.Join(got, " "); groups != c.want || last != c.took {
					t.Errorf("ran %q, the last at %s, want %q at %s", groups, last, c.want, c.took)
				}
				for i, res := range results {
					if res == nil || res.Tool != calls[i].Tool {
						t.Errorf("result %d is %+v", i, res)
					}
				}
			})
		})
	}
}

// TestBatchBesideAServerThatHangs: waiting to know a tool ends with the time of
// the call, which then runs alone: that a neighbour has a safe tool of its name
// says nothing.
func TestBatchBesideAServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var sent time.Duration
		options := call.Options{
			Catalog: &late{shelf: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: tool.Meta{ConcurrencySafe: true}}}}},
			Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
				sent = time.Since(began)
				return text("ok"), nil
			},
			Record: func(*call.Request, *tool.Result) {}, NewID: func() string { return "id" },
		}
		batch := call.NewBatch(options, call.BatchOptions{MaxParallel: 3}, call.New(options))
		results := batch(t.Context(), []tool.Call{{Server: "hangs", Tool: "t", Timeout: time.Second}, {Server: "s", Tool: "t"}})
		if took := time.Since(began); took != 2*time.Second || sent != took || results[0].Kind != tool.Timeout || results[1].Kind != "" {
			t.Errorf("after %s, sent at %s: %q, %q", took, sent, results[0].Kind, results[1].Kind)
		}
	})
}

// TestBatchIsCut: calls over the limit are recorded, denied and noted, not run.
func TestBatchIsCut(t *testing.T) {
	var sent, recorded int
	options := call.Options{
		Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}},
		Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
			sent++
			return text("ok"), nil
		},
		Record: func(*call.Request, *tool.Result) { recorded++ },
		NewID:  func() string { return "id" },
	}
	batch := call.NewBatch(options, call.BatchOptions{MaxParallel: 3, MaxCalls: 2}, call.New(options))
	results := batch(t.Context(), make12())
	for i, res := range results {
		if i < 2 {
			if res.Kind != "" || len(res.Notes) > 0 {
				t.Errorf("%d: %+v", i, res)
			}
			continue
		}
		if res.Kind != tool.Denied || res.ID != "id" || !strings.Contains(res.Text(), fmt.Sprintf("number %d of its batch", i+1)) ||
			len(res.Notes) != 1 || res.Notes[0] != (tool.Note{Stage: call.BatchStage, Text: "a batch carries out at most 2 calls, and this one holds 12: the rest were not run"}) {
			t.Errorf("%d: %+v", i, res)
		}
	}
	if len(results) != 12 || sent != 2 || recorded != 12 {
		t.Errorf("%d results, %d sent, %d recorded", len(results), sent, recorded)
	}
}

func make12() []tool.Call {
	calls := make([]tool.Call, 12)
	for i := range calls {
		calls[i] = tool.Call{Server: "s", Tool: "t"}
	}
	return calls
}

// TestBatchIsCanceled: what has not begun is told so, whatever the cause.
func TestBatchIsCanceled(t *testing.T) {
	for _, cause := range []error{nil, context.DeadlineExceeded, fmt.Errorf("a cause of its own")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		sent := 0
		options := call.Options{
			Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}},
			Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
				if sent++; sent == 3 {
					cancel(cause)
				}
				return text("ok"), nil
			},
			Record: func(*call.Request, *tool.Result) {}, NewID: func() string { return "id" },
		}
		results := call.NewBatch(options, call.BatchOptions{MaxParallel: 3}, call.New(options))(ctx, make12())
		for i, res := range results {
			if i < 3 && res.Kind != "" || i >= 3 && (res.Kind != tool.Canceled || res.ID == "" || !strings.Contains(res.Text(), "before this call began")) {
				t.Errorf("%v, %d: %+v", cause, i, res)
			}
		}
		if sent != 3 {
			t.Errorf("%v: %d calls were sent", cause, sent)
		}
	}
}
