package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/batch"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		if got := batch.Plan(safe, c.parallel); !slices.Equal(got, c.want) {
			t.Errorf("%s in groups of %d: %v, want %v", c.safe, c.parallel, got, c.want)
		}
	}
}

// late is a catalog whose server "late" lists its tools after two seconds, and
// whose server "hangs" never does.
type late struct {
	tools []tool.Tool

	mu     sync.Mutex
	listed bool
}

func (l *late) HasServer(name string) bool {
	return name == "late" || name == "hangs" || slices.ContainsFunc(l.tools, func(t tool.Tool) bool { return t.Server == name })
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

func (l *late) Find(id tool.ID) (*tool.Tool, *tool.Decision) {
	if (id == tool.ID{Server: "s", Name: "black"}) {
		return nil, &tool.Decision{Behavior: tool.Deny}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if id.Server == "late" && !l.listed {
		return nil, nil
	}
	for i := range l.tools {
		if l.tools[i].ID == id {
			return &l.tools[i], nil
		}
	}
	return nil, nil
}

func (l *late) WithName(name string) (out []*tool.Tool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, t := range l.tools {
		if t.Name == name && (t.Server != "late" || l.listed) {
			out = append(out, &l.tools[i])
		}
	}
	return out
}

// refuse answers for what is not run.
func refuse(_ context.Context, c tool.Call, why *tool.Error, notes ...tool.Note) *tool.Result {
	return &tool.Result{ID: "refused", Server: c.Server, Tool: c.Tool, Kind: why.Kind, Message: why.Text, Err: why, Notes: notes}
}

// TestBatchAsksTheToolThatIsMeant shows which calls run side by side: those that
// are written together in want.
func TestBatchAsksTheToolThatIsMeant(t *testing.T) {
	safe := tool.Meta{Registered: true, ConcurrencySafe: true}
	catalog := func(listed bool) *late {
		return &late{listed: listed, tools: []tool.Tool{
			{ID: tool.ID{Server: "s", Name: "cpu"}, Meta: safe},
			{ID: tool.ID{Server: "s", Name: "disk"}, Meta: safe},
			{ID: tool.ID{Server: "s", Name: "web"}},
			{ID: tool.ID{Server: "s", Name: "black"}, Meta: safe},
			{ID: tool.ID{Server: "s", Name: "twice"}, Meta: safe},
			{ID: tool.ID{Server: "z", Name: "twice"}, Meta: safe},
			{ID: tool.ID{Server: "z", Name: "zip"}, Meta: safe},
			{ID: tool.ID{Server: "late", Name: "cpu"}},
			{ID: tool.ID{Server: "late", Name: "slow"}, Meta: safe},
		}}
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
		{"misspelt server", "ss/zip s/cpu", "s/cpu+ss/zip", 0},
		{"no server", "/zip s/cpu", "/zip+s/cpu", 0},
		{"server that lacks it", "s/zip s/cpu", "s/cpu+s/zip", 0},
		{"unknown tool", "s/cpu s/nope s/disk", "s/cpu s/nope s/disk", 2 * time.Second},
		{"name that two have", "s/cpu nowhere/twice s/disk", "s/cpu nowhere/twice s/disk", 2 * time.Second},
		{"blacklisted", "s/cpu s/black s/disk", "s/cpu s/black s/disk", 2 * time.Second},
		{"not listed yet", "late/slow late/slow s/web", "late/slow+late/slow s/web", 3 * time.Second},
		{"not listed yet, and another has the name", "late/cpu s/cpu s/web", "late/cpu s/cpu s/web", 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				began := time.Now()
				groups := map[time.Duration][]string{}
				run := batch.New(batch.Options{
					Catalog: catalog(!strings.Contains(c.calls, "late/")), Refuse: refuse, MaxParallel: 3,
					Run: func(_ context.Context, one tool.Call) *tool.Result {
						mu.Lock()
						at := time.Since(began)
						groups[at] = append(groups[at], one.Server+"/"+one.Tool)
						mu.Unlock()
						time.Sleep(time.Second)
						return &tool.Result{Tool: one.Tool}
					},
				})
				var calls []tool.Call
				for id := range strings.FieldsSeq(c.calls) {
					server, name, _ := strings.Cut(id, "/")
					calls = append(calls, tool.Call{Server: server, Tool: name})
				}
				results := run(t.Context(), calls)
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
		var at []time.Duration
		run := batch.New(batch.Options{
			Catalog: &late{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: tool.Meta{ConcurrencySafe: true}}}},
			Refuse:  refuse, MaxParallel: 3,
			Run: func(context.Context, tool.Call) *tool.Result {
				at = append(at, time.Since(began))
				time.Sleep(time.Second)
				return &tool.Result{}
			},
		})
		run(t.Context(), []tool.Call{{Server: "hangs", Tool: "t", Timeout: time.Second}, {Server: "s", Tool: "t"}})
		if want := []time.Duration{time.Second, 2 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("began at %s, want %s", at, want)
		}
	})
}

// twelve are so many calls of a tool that nobody declared.
func twelve() []tool.Call { return slices.Repeat([]tool.Call{{Server: "s", Tool: "t"}}, 12) }

// TestBatchIsCut: calls over the limit are denied and noted, not run.
func TestBatchIsCut(t *testing.T) {
	ran := 0
	run := batch.New(batch.Options{
		Catalog: &late{listed: true}, Refuse: refuse, MaxParallel: 3, MaxCalls: 2,
		Run: func(context.Context, tool.Call) *tool.Result {
			ran++
			return &tool.Result{}
		},
	})
	results := run(t.Context(), twelve())
	note := tool.Note{Stage: batch.Stage, Text: "a batch carries out at most 2 calls, and this one holds 12: the rest were not run"}
	for i, res := range results {
		if i < 2 {
			if res.Kind != "" || len(res.Notes) > 0 {
				t.Errorf("%d: %+v", i, res)
			}
			continue
		}
		if res.Kind != tool.Denied || !strings.Contains(res.Text(), fmt.Sprintf("number %d of its batch", i+1)) || !slices.Equal(res.Notes, []tool.Note{note}) {
			t.Errorf("%d: %+v", i, res)
		}
	}
	if len(results) != 12 || ran != 2 {
		t.Errorf("%d results, %d calls", len(results), ran)
	}
}

// TestBatchIsCanceled: what has not begun is told so, whatever the cause.
func TestBatchIsCanceled(t *testing.T) {
	for _, cause := range []error{context.Canceled, context.DeadlineExceeded, errors.New("a cause of its own")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		ran := 0
		run := batch.New(batch.Options{
			Catalog: &late{listed: true}, Refuse: refuse, MaxParallel: 3,
			Run: func(context.Context, tool.Call) *tool.Result {
				if ran++; ran == 3 {
					cancel(cause)
				}
				return &tool.Result{}
			},
		})
		for i, res := range run(ctx, twelve()) {
			if i < 3 && res.Kind != "" || i >= 3 && (res.Kind != tool.Canceled || !strings.Contains(res.Text(), "before this call began") || !errors.Is(res.Err, cause)) {
				t.Errorf("%v, %d: %+v", cause, i, res)
			}
		}
		if ran != 3 {
			t.Errorf("%v: %d calls ran", cause, ran)
		}
	}
}
