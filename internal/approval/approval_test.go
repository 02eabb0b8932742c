package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/approval"
	"github.com/tenon-mcp/tenon/tool"
)

// A clock is a clock on the wall that can be set.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time      { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) set(d time.Duration) { c.ahead.Store(int64(d)) }

// A desk is a broker with what a test needs of it.
type desk struct {
	*approval.Broker
	t     *testing.T
	store approval.Store
	clock *clock
	told  chan tool.Approval

	shared bool
}

func open(t *testing.T, store approval.Store) *desk {
	t.Helper()
	d := &desk{t: t, store: store, clock: new(clock), told: make(chan tool.Approval, 1000)}
	d.start()
	return d
}

var ids atomic.Int64

// start makes the broker, as a start of the gateway does.
func (d *desk) start() {
	d.t.Helper()
	b, err := approval.New(d.t.Context(), approval.Options{
		Store: d.store, Now: d.clock.now, MaxPending: 20, Shared: d.shared,
		NewID: func() string { return fmt.Sprintf("apv_%06d", ids.Add(1)) },
		Mask: func(raw []byte) []byte {
			return []byte(strings.ReplaceAll(string(raw), "not-a-real-key-000", "••••"))
		},
		Notify: func(a tool.Approval) { d.told <- a },
	})
	if err != nil {
		d.t.Fatal(err)
	}
	d.Broker = b
	d.t.Cleanup(func() { _ = b.Close() })
}

var remove = &tool.Tool{
	ID:   tool.ID{Server: "files", Name: "remove"},
	Meta: tool.Meta{Registered: true, Destructive: true, Notification: true, RiskLevel: tool.RiskHigh, SideEffect: tool.EffectFilesystem},
}

func ask(args string) approval.Question {
	return approval.Question{
		CallID: fmt.Sprintf("call_%d", ids.Add(1)), Caller: tool.Caller{Name: "anna", Via: "rest"}, Session: "s",
		Tool: remove, Arguments: []byte(args), Rule: "mode_ask", Reason: "it may do harm",
	}
}

type answer struct {
	tool.Approval
	err error
}

// later asks in the background.
func (d *desk) later(ctx context.Context, q approval.Question) <-chan answer {
	out := make(chan answer, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		a, err := d.Ask(ctx, q)
		out <- answer{a, err}
	})
	d.t.Cleanup(wg.Wait)
	return out
}

// pending returns the one question that waits.
func (d *desk) pending() tool.Approval {
	d.t.Helper()
	for a := range d.told {
		if a.Status == tool.ApprovalPending {
			return a
		}
	}
	return tool.Approval{}
}

var yes = tool.Verdict{Approved: true, By: "bert", Why: "fine"}

func (d *desk) decide(id string, v tool.Verdict) tool.Approval {
	d.t.Helper()
	a, err := d.Decide(d.t.Context(), id, v)
	if err != nil {
		d.t.Fatalf("decide %s: %v", id, err)
	}
	return a
}

func want(t *testing.T, got answer, status tool.ApprovalStatus) {
	t.Helper()
	if got.err != nil || got.Status != status {
		t.Fatalf("got %q, %v; want %s", got.Status, got.err, status)
	}
}

func TestAskAndDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		got := d.later(t.Context(), ask(`{ "path": "/a", "key": "not-a-real-key-000", "to": "x\u202ey" }`))
		p := d.pending()
		if shown := string(p.Arguments); shown != `{"path":"/a","key":"••••","to":"x\u202ey"}` {
			t.Errorf("arguments are shown as %s", shown)
		}
		if p.Impact != "risk high · acts on filesystem · irreversible · notifies others · arguments path, key, to" {
			t.Errorf("impact: %s", p.Impact)
		}
		if p.Caller.Name != "anna" || p.ExpiresAt.Sub(p.CreatedAt) != approval.DefaultTimeout || len(p.Hash) != 64 {
			t.Errorf("%+v", p)
		}
		if all := d.Pending(10); len(all) != 1 || all[0].ID != p.ID {
			t.Errorf("pending: %+v", all)
		}
		d.decide(p.ID, yes)
		a := <-got
		want(t, a, tool.ApprovalApproved)
		if a.DecidedBy != "bert" || a.Why != "fine" || a.Scope != tool.ScopeOnce || a.DecidedAt == nil {
			t.Errorf("%+v", a)
		}
		if _, err := d.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrDecided) {
			t.Errorf("decided twice: %v", err)
		}
		if _, err := d.Decide(t.Context(), "apv_none", yes); !errors.Is(err, approval.ErrNotFound) {
			t.Errorf("decided what is not there: %v", err)
		}
		if kept, err := d.Get(t.Context(), p.ID); err != nil || kept.Status != tool.ApprovalApproved || kept.UsedBy != a.CallID {
			t.Errorf("%+v, %v", kept, err)
		}
	})
}

// What a person does not see stands as its number, each of these.
func TestUnseenCharactersAreWrittenOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		for _, c := range "\ufe00\ufe0f\u3164\u2800\u115f\u1160\uffa0\u034f\u180b\u17b4\u2065\ufffc\u00a0" {
			got := d.later(t.Context(), ask(fmt.Sprintf(`{"a":"x%cy"}`, c)))
			p := d.pending()
			if want := fmt.Sprintf(`{"a":"x\u%04xy"}`, c); string(p.Arguments) != want {
				t.Errorf("%s is shown as %q", want, p.Arguments)
			}
			d.decide(p.ID, tool.Verdict{})
			want(t, <-got, tool.ApprovalDenied)
		}
	})
}

func TestHiddenCharactersAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		got := d.later(t.Context(), ask("{\"a\":\"x\u202ey\u200b\U000E0041é 漢\"}"))
		p := d.pending()
		if shown := string(p.Arguments); shown != `{"a":"x\u202ey\u200b\udb40\udc41é 漢"}` || !json.Valid(p.Arguments) {
			t.Errorf("arguments are shown as %s", shown)
		}
		d.decide(p.ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
	})
}

// However many decide at once, one of them does.
func TestOneDecision(t *testing.T) {
	for round := range 20 {
		d := open(t, new(approval.Memory))
		got := d.later(t.Context(), ask(fmt.Sprintf(`{"n":%d}`, round)))
		p := d.pending()
		var wins, losses atomic.Int64
		var winner atomic.Value
		var wg sync.WaitGroup
		begin := make(chan struct{})
		for i := range 100 {
			wg.Go(func() {
				<-begin
				a, err := d.Decide(t.Context(), p.ID, tool.Verdict{Approved: i%2 == 0, By: fmt.Sprint(i)})
				switch {
				case err == nil:
					wins.Add(1)
					winner.Store(a)
				case errors.Is(err, approval.ErrDecided):
					losses.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		close(begin)
		wg.Wait()
		a := <-got
		won := winner.Load().(tool.Approval)
		if wins.Load() != 1 || losses.Load() != 99 || a.err != nil || a.Status != won.Status || a.DecidedBy != won.DecidedBy {
			t.Fatalf("%d won, %d lost; told %s by %s, decided %s by %s", wins.Load(), losses.Load(), a.Status, a.DecidedBy, won.Status, won.DecidedBy)
		}
	}
}

func TestExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		begun := time.Now()
		got := d.later(t.Context(), ask(`{}`))
		p := d.pending()
		want(t, <-got, tool.ApprovalTimeout)
		if waited := time.Since(begun); waited != approval.DefaultTimeout {
			t.Errorf("expired after %s", waited)
		}
		if _, err := d.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrExpired) {
			t.Errorf("decided after its expiry: %v", err)
		}
	})
}

// A clock that is set gives nobody more time, and one that is ahead ends it at once.
func TestTheClockJumps(t *testing.T) {
	t.Run("ahead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, new(approval.Memory))
			got := d.later(t.Context(), ask(`{}`))
			p := d.pending()
			d.clock.set(time.Hour)
			if all := d.Pending(10); len(all) != 0 {
				t.Errorf("still waits: %+v", all)
			}
			if _, err := d.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrExpired) {
				t.Errorf("decided after its expiry: %v", err)
			}
			d.clock.set(0)
			if _, err := d.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrExpired) {
				t.Errorf("the clock was set back, and it came to life: %v", err)
			}
			want(t, <-got, tool.ApprovalTimeout)
		})
	})
	t.Run("back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, new(approval.Memory))
			begun := time.Now()
			got := d.later(t.Context(), ask(`{}`))
			p := d.pending()
			d.clock.set(-24 * time.Hour)
			want(t, <-got, tool.ApprovalTimeout)
			if waited := time.Since(begun); waited != approval.DefaultTimeout {
				t.Errorf("expired after %s", waited)
			}
			if _, err := d.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrExpired) {
				t.Errorf("decided after its expiry: %v", err)
			}
		})
	})
	t.Run("back over a restart", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, new(approval.Memory))
			_ = d.later(t.Context(), ask(`{}`))
			d.pending()
			_ = d.Close()
			d.clock.set(-30 * time.Second) // no more than a clock is mended by
			begun := time.Now()
			d.start()
			p := d.Pending(10)
			if len(p) != 1 {
				t.Fatalf("%d wait", len(p))
			}
			synctest.Wait()
			time.Sleep(approval.DefaultTimeout)
			synctest.Wait()
			if a, _ := d.Get(t.Context(), p[0].ID); a.Status != tool.ApprovalTimeout {
				t.Errorf("%s after %s", a.Status, time.Since(begun))
			}
			d.clock.set(0)
			_ = d.later(t.Context(), ask(`{}`))
			d.pending()
			_ = d.Close()
			d.clock.set(-time.Hour)
			d.start()
			if all := d.Pending(10); len(all) != 0 {
				t.Errorf("one from the future waits: %+v", all)
			}
		})
	})
}

func TestEndOfTheCallCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		ctx, cancel := context.WithCancelCause(t.Context())
		got := d.later(ctx, ask(`{}`))
		p := d.pending()
		late := &tool.Error{Kind: tool.Timeout, Text: "too late"}
		cancel(late)
		if a := <-got; !errors.Is(a.err, late) || a.Status != tool.ApprovalCanceled {
			t.Errorf("%s, %v", a.Status, a.err)
		}
		if _, err := d.Decide(t.Context(), p.ID, yes); !errors.Is(err, approval.ErrDecided) {
			t.Errorf("decided for a call that is over: %v", err)
		}
		got = d.later(t.Context(), ask(`{}`))
		d.decide(d.pending().ID, yes)
		want(t, <-got, tool.ApprovalApproved)
	})
}

// Equal questions are shown once. Allowed once, one call runs, and the others are
// asked for again; denied, all are.
func TestEqualQuestionsJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		first, second := d.later(t.Context(), ask(`{"a":1}`)), d.later(t.Context(), ask(`{ "a": 1 }`))
		synctest.Wait()
		if all := d.Pending(10); len(all) != 1 {
			t.Fatalf("%d questions wait", len(all))
		}
		p := d.pending()
		d.decide(p.ID, yes)
		synctest.Wait()
		all := d.Pending(10)
		if len(all) != 1 || all[0].ID == p.ID {
			t.Fatalf("after one was allowed, there wait: %+v", all)
		}
		d.decide(all[0].ID, tool.Verdict{})
		statuses := map[tool.ApprovalStatus]int{(<-first).Status: 1}
		statuses[(<-second).Status]++
		if statuses[tool.ApprovalApproved] != 1 || statuses[tool.ApprovalDenied] != 1 {
			t.Errorf("%v", statuses)
		}
		other := ask(`{"a":1}`)
		other.Session = "t"
		for _, q := range []approval.Question{ask(`{"a":1}`), ask(`{"a":2}`), other} {
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			_ = d.later(ctx, q)
		}
		synctest.Wait()
		if all := d.Pending(10); len(all) != 3 {
			t.Errorf("%d of 3 different questions wait", len(all))
		}
		_ = d.Close()
	})
}

// A call that is sent again with its key is not asked for again.
func TestRepeatedCallIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		keyed := func() approval.Question {
			q := ask(`{}`)
			q.IdempotencyKey = "k"
			return q
		}
		first, second := d.later(t.Context(), keyed()), d.later(t.Context(), keyed())
		d.decide(d.pending().ID, yes)
		want(t, <-first, tool.ApprovalApproved)
		want(t, <-second, tool.ApprovalApproved)
		want(t, <-d.later(t.Context(), keyed()), tool.ApprovalApproved)
		changed := keyed()
		changed.Arguments = []byte(`{"a":1}`)
		got := d.later(t.Context(), changed)
		d.decide(d.pending().ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
		time.Sleep(approval.DefaultTimeout)
		got = d.later(t.Context(), keyed())
		d.decide(d.pending().ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
	})
}

// What waited when the gateway ended is listed by the next one, and what is decided
// then holds for one equal call of the same caller.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		got := d.later(t.Context(), ask(`{"a":1}`))
		p := d.pending()
		_ = d.Close()
		if a := <-got; !errors.Is(a.err, approval.ErrClosed) || !strings.Contains(a.err.Error(), p.ID) {
			t.Errorf("%v", a.err)
		}
		d.start()
		if all := d.Pending(10); len(all) != 1 || all[0].ID != p.ID {
			t.Fatalf("pending after a restart: %+v", all)
		}
		if _, err := d.Decide(t.Context(), p.ID, tool.Verdict{Approved: true, Scope: tool.ScopeSession}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("a session that has ended is allowed for: %v", err)
		}
		d.decide(p.ID, yes)
		_ = d.Close()
		d.start() // again, before it is used
		for name, change := range map[string]func(*approval.Question){
			"caller":    func(q *approval.Question) { q.Caller.Name = "eve" },
			"arguments": func(q *approval.Question) { q.Arguments = []byte(`{"a":2}`) },
			"rule":      func(q *approval.Question) { q.Rule = "taint" },
			"tool":      func(q *approval.Question) { q.Tool = &tool.Tool{ID: tool.ID{Server: "files", Name: "other"}} },
		} {
			q := ask(`{"a":1}`)
			change(&q)
			got := d.later(t.Context(), q)
			if asked := d.pending(); asked.ID == p.ID {
				t.Errorf("another %s runs on it", name)
			} else {
				d.decide(asked.ID, tool.Verdict{})
			}
			want(t, <-got, tool.ApprovalDenied)
		}
		repeat := ask(`{"a":1}`)
		repeat.Session = "after the restart"
		a := <-d.later(t.Context(), repeat)
		want(t, a, tool.ApprovalApproved)
		if a.ID != p.ID || a.UsedBy != repeat.CallID {
			t.Errorf("%+v", a)
		}
		got = d.later(t.Context(), ask(`{"a":1}`)) // used once
		d.decide(d.pending().ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
		_ = d.Close()
		d.start() // and it stays used
		got = d.later(t.Context(), ask(`{"a":1}`))
		d.decide(d.pending().ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
	})
}

// A repeat of what waits since before the restart joins it, and an approval that
// nobody used ends with its expiry.
func TestRestartJoinsAndExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		_ = d.later(t.Context(), ask(`{"a":1}`))
		p := d.pending()
		_ = d.Close()
		time.Sleep(time.Minute)
		d.start()
		got := d.later(t.Context(), ask(`{"a":1}`))
		synctest.Wait()
		if all := d.Pending(10); len(all) != 1 {
			t.Errorf("%d questions wait", len(all))
		}
		d.decide(p.ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)

		_ = d.later(t.Context(), ask(`{"a":2}`))
		p = d.pending()
		_ = d.Close()
		d.start()
		d.decide(p.ID, yes)
		time.Sleep(approval.DefaultTimeout)
		got = d.later(t.Context(), ask(`{"a":2}`))
		d.decide(d.pending().ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
	})
}

func TestScopes(t *testing.T) {
	const asked = `{"path":"/tmp/a","deep":false,"n":7}`
	for _, c := range []struct {
		name, pattern string
		scope         tool.ApprovalScope
		pass, refuse  []string
	}{
		{"once", "", tool.ScopeOnce, nil, []string{asked}},
		{"session", "", tool.ScopeSession, []string{asked, `{}`}, nil},
		{
			"pattern", `{"path":"/tmp/*"}`, tool.ScopePattern,
			[]string{asked, `{"path": "/tmp/b", "deep": false, "n": 7}`, `{"n":7,"path":"/tmp/.x","deep":false}`},
			[]string{
				`{"n":7,"path":"/tmp/x/y","deep":false}`, `{"n":7,"path":"/tmp/x\\y","deep":false}`, `{"n":7,"path":"/tmp/..","deep":false}`,
				`{"n":7,"path":"/tmp/a\u0000b","deep":false}`, `{"n":7,"path":"/tmp/x\n; rm -rf .","deep":false}`, `{"n":7,"path":"/tmp/\u202ex","deep":false}`,
				`{"n":7,"path":"/tmp/%2e%2e","deep":false}`, `{"n":7,"path":"/tmp/%252e.","deep":false}`, `{"n":7,"path":"/tmp/x%2fy","deep":false}`,
				`{"path":"/etc/a","deep":false,"n":7}`, `{"path":"/tmp/b","deep":true,"n":7}`, `{"path":"/tmp/b","n":7}`,
				`{"path":"/tmp/b","deep":false,"n":7,"more":1}`, `{"path":["/tmp/b"],"deep":false,"n":7}`, `{}`,
				`{"path":"/tmp/b","path":"/etc/a","deep":false,"n":7}`, `{"path":"/etc/a","path":"/tmp/b","deep":false,"n":7}`, `{"path":"/tmp/b","deep":false,"n":7.0}`,
			},
		},
		{
			"pattern of folders", `{"path":"/tmp/**"}`, tool.ScopePattern,
			[]string{asked, `{"n":7,"path":"/tmp/x/y","deep":false}`},
			[]string{
				`{"n":7,"path":"/tmp/../etc/shadow","deep":false}`, `{"n":7,"path":"/tmp/%2e%2e/x","deep":false}`, `{"n":7,"path":"/tmp/x/..\\y","deep":false}`,
				`{"n":7,"path":"/tmp/x\n; rm -rf /","deep":false}`, `{"n":7,"path":"/tmp/a\u0000b","deep":false}`, `{"n":7,"path":"/tmp/a\u200b","deep":false}`,
			},
		},
		{"number", `{"n":"?"}`, tool.ScopePattern, []string{`{"path":"/tmp/a","deep":false,"n":8}`}, []string{`{"path":"/tmp/a","deep":false,"n":80}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := open(t, new(approval.Memory))
				got := d.later(t.Context(), ask(asked))
				p := d.pending()
				d.decide(p.ID, tool.Verdict{Approved: true, Scope: c.scope, Pattern: json.RawMessage(c.pattern)})
				want(t, <-got, tool.ApprovalApproved)
				granted := func(q approval.Question) bool { _, ok := d.Granted(&q); return ok }
				for _, args := range c.pass {
					if !granted(ask(args)) {
						t.Errorf("%s is refused", args)
					}
					for name, change := range map[string]func(*approval.Question){
						"caller":  func(q *approval.Question) { q.Caller.Name = "eve" },
						"key":     func(q *approval.Question) { q.Caller.Grant = &tool.Grant{Key: "k"} },
						"session": func(q *approval.Question) { q.Session = "t" },
						"rule":    func(q *approval.Question) { q.Rule = "taint" },
						"tool":    func(q *approval.Question) { q.Tool = &tool.Tool{ID: tool.ID{Server: "files", Name: "other"}} },
					} {
						q := ask(args)
						if change(&q); granted(q) {
							t.Errorf("%s of another %s passes", args, name)
						}
					}
				}
				for _, args := range c.refuse {
					if granted(ask(args)) {
						t.Errorf("%s passes", args)
					}
				}
				if c.pass == nil {
					return
				}
				d.EndSession(tool.Caller{Name: "anna"}, "other")
				if !granted(ask(c.pass[0])) {
					t.Error("the end of another session ended it")
				}
				d.clock.set(9 * time.Hour)
				if granted(ask(c.pass[0])) {
					t.Error("it has no end")
				}
				d.clock.set(0)
				d.EndSession(tool.Caller{Name: "anna"}, "s")
				if granted(ask(c.pass[0])) {
					t.Error("it outlives its session")
				}
			})
		})
	}
}

func TestWrongVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		got := d.later(t.Context(), ask(`{"path":"/tmp/a","list":[1],"unseen":"a\u0000"}`))
		p := d.pending()
		for _, v := range []tool.Verdict{
			{Scope: "for ever"},
			{Scope: tool.ScopeOnce, Pattern: json.RawMessage(`{"path":"*"}`)},
			{Scope: tool.ScopePattern},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{}`)},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"path":1}`)},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"path":"/etc/*"}`)},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"path":"["}`)},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"path":"/*"}`)},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"unseen":"*"}`)},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"path":"` + strings.Repeat("*", 9000) + `"}`)},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"other":"*"}`)},
			{Scope: tool.ScopePattern, Pattern: json.RawMessage(`{"list":"*"}`)},
		} {
			v.Approved = true
			if _, err := d.Decide(t.Context(), p.ID, v); tool.KindOf(err) != tool.Invalid || errors.Is(err, approval.ErrDecided) {
				t.Errorf("%s %s: %v", v.Scope, v.Pattern, err)
			}
		}
		d.decide(p.ID, yes)
		want(t, <-got, tool.ApprovalApproved)
		alone := ask(`{}`)
		alone.Session = ""
		got = d.later(t.Context(), alone)
		p = d.pending()
		if _, err := d.Decide(t.Context(), p.ID, tool.Verdict{Approved: true, Scope: tool.ScopeSession}); tool.KindOf(err) != tool.Invalid {
			t.Errorf("no session is allowed for: %v", err)
		}
		d.decide(p.ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
	})
}

// What is allowed for a session lets go what waits for the same.
func TestSessionLetsOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		first := d.later(t.Context(), ask(`{"n":1}`))
		p := d.pending()
		second := d.later(t.Context(), ask(`{"n":2}`))
		d.pending()
		foreign := ask(`{"n":1}`)
		foreign.Caller.Name = "eve"
		ctx, cancel := context.WithCancel(t.Context())
		third := d.later(ctx, foreign)
		d.pending()
		d.decide(p.ID, tool.Verdict{Approved: true, Scope: tool.ScopeSession})
		want(t, <-first, tool.ApprovalApproved)
		want(t, <-second, tool.ApprovalApproved)
		if all := d.Pending(10); len(all) != 1 || all[0].Caller.Name != "eve" {
			t.Errorf("pending: %+v", all)
		}
		cancel()
		<-third
	})
}

// Questions that are put ahead are found by the calls they belong to, also late.
func TestReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		var release []func()
		for n := range 3 {
			q := ask(fmt.Sprintf(`{"n":%d}`, n))
			q.CallID = ""
			release = append(release, d.Reserve(t.Context(), q))
		}
		all := d.Pending(10)
		if len(all) != 3 {
			t.Fatalf("%d questions wait", len(all))
		}
		for _, a := range all {
			if string(a.Arguments) != `{"n":2}` {
				d.decide(a.ID, tool.Verdict{Approved: string(a.Arguments) == `{"n":0}`})
			}
		}
		time.Sleep(2 * approval.DefaultTimeout) // the calls before took their time
		want(t, <-d.later(t.Context(), ask(`{"n":0}`)), tool.ApprovalApproved)
		want(t, <-d.later(t.Context(), ask(`{"n":1}`)), tool.ApprovalDenied)
		for _, f := range release {
			f()
		}
		again := d.later(t.Context(), ask(`{"n":0}`))
		d.pending()
		_ = d.Close()
		<-again
		if a, err := d.Get(t.Context(), all[0].ID); err != nil || a.Status != tool.ApprovalTimeout {
			t.Errorf("%s, %v", a.Status, err)
		}
	})
}

func TestReleaseCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		release := d.Reserve(t.Context(), ask(`{}`))
		p := d.pending()
		release()
		if a, err := d.Get(t.Context(), p.ID); err != nil || a.Status != tool.ApprovalCanceled {
			t.Errorf("%s, %v", a.Status, err)
		}
	})
}

// person answers as it is told to.
type person func(ctx context.Context, a tool.Approval) (tool.Verdict, error)

func (p person) Ask(ctx context.Context, a tool.Approval) (tool.Verdict, error) { return p(ctx, a) }

func TestTheCallersOwnPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		q := ask(`{}`)
		q.Person = person(func(context.Context, tool.Approval) (tool.Verdict, error) { return yes, nil })
		want(t, <-d.later(t.Context(), q), tool.ApprovalApproved)
		d.pending()

		q = ask(`{}`) // somebody else is first
		asked, ended := make(chan struct{}), make(chan struct{})
		q.Person = person(func(ctx context.Context, _ tool.Approval) (tool.Verdict, error) {
			close(asked)
			<-ctx.Done()
			close(ended)
			return tool.Verdict{}, ctx.Err()
		})
		got := d.later(t.Context(), q)
		<-asked
		d.decide(d.pending().ID, tool.Verdict{})
		want(t, <-got, tool.ApprovalDenied)
		<-ended

		q = ask(`{}`) // their program cannot be asked
		q.Person = person(func(context.Context, tool.Approval) (tool.Verdict, error) { return tool.Verdict{}, errors.New("no") })
		got = d.later(t.Context(), q)
		d.decide(d.pending().ID, yes)
		want(t, <-got, tool.ApprovalApproved)
	})
}

// TestThePersonOfAnEqualCall: where the one who is asked for an equal call gives no
// answer, the person of the other call is asked.
func TestThePersonOfAnEqualCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		leave := make(chan struct{})
		first, second := ask(`{}`), ask(`{}`)
		first.Person = person(func(_ context.Context, a tool.Approval) (tool.Verdict, error) {
			<-leave
			return tool.Verdict{}, &tool.Deferred{Approval: a}
		})
		second.Person = person(func(context.Context, tool.Approval) (tool.Verdict, error) { return yes, nil })
		one := d.later(t.Context(), first)
		synctest.Wait()
		two := d.later(t.Context(), second)
		synctest.Wait()
		close(leave)
		<-one
		want(t, <-two, tool.ApprovalApproved)
	})
}

// A caller that is to come again with the answer finds the question, or what somebody
// else has said meanwhile.
func TestDeferred(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		put := func() tool.Approval {
			q := ask(`{}`)
			q.Person = person(func(_ context.Context, a tool.Approval) (tool.Verdict, error) {
				return tool.Verdict{}, &tool.Deferred{Approval: a}
			})
			a := <-d.later(t.Context(), q)
			deferred, ok := errors.AsType[*tool.Deferred](a.err)
			if !ok {
				t.Fatalf("%v", a.err)
			}
			if all := d.Pending(10); len(all) != 1 || all[0].ID != deferred.Approval.ID {
				t.Fatalf("pending: %+v", all)
			}
			return deferred.Approval
		}
		p := put()
		q := ask(`{}`)
		q.Person = person(func(_ context.Context, a tool.Approval) (tool.Verdict, error) {
			if a.ID != p.ID {
				t.Errorf("asked about %s, not %s", a.ID, p.ID)
			}
			return yes, nil
		})
		want(t, <-d.later(t.Context(), q), tool.ApprovalApproved)
		for _, v := range []tool.Verdict{{}, yes} {
			d.decide(put().ID, v)
			status := tool.ApprovalDenied
			if v.Approved {
				status = tool.ApprovalApproved
			}
			want(t, <-d.later(t.Context(), ask(`{}`)), status)
		}
		put() // each was told once
	})
}

// broken is a store that fails when it is told to.
type broken struct {
	approval.Memory
	insert, settle, use atomic.Bool
}

var errDisk = errors.New("disk full")

func (s *broken) InsertApproval(ctx context.Context, a tool.Approval) error {
	if s.insert.Load() {
		return errDisk
	}
	return s.Memory.InsertApproval(ctx, a)
}

func (s *broken) SettleApproval(ctx context.Context, a tool.Approval) (bool, error) {
	if s.settle.Load() {
		return false, errDisk
	}
	return s.Memory.SettleApproval(ctx, a)
}

func (s *broken) UseApproval(ctx context.Context, id, call string) (bool, error) {
	if s.use.Load() {
		return false, errDisk
	}
	return s.Memory.UseApproval(ctx, id, call)
}

// Nothing is allowed that is not recorded.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(broken)
		d := open(t, s)
		s.insert.Store(true)
		if a := <-d.later(t.Context(), ask(`{}`)); tool.KindOf(a.err) != tool.Denied || !errors.Is(a.err, errDisk) {
			t.Errorf("%s, %v", a.Status, a.err)
		}
		s.insert.Store(false)
		got := d.later(t.Context(), ask(`{}`))
		p := d.pending()
		s.settle.Store(true)
		if _, err := d.Decide(t.Context(), p.ID, yes); !errors.Is(err, errDisk) {
			t.Errorf("decided: %v", err)
		}
		s.settle.Store(false)
		s.use.Store(true)
		d.decide(p.ID, yes)
		if a := <-got; tool.KindOf(a.err) != tool.Denied || !errors.Is(a.err, errDisk) {
			t.Errorf("%s, %v", a.Status, a.err)
		}
		s.use.Store(false)
		s.settle.Store(true) // it expires all the same
		want(t, <-d.later(t.Context(), ask(`{"a":1}`)), tool.ApprovalTimeout)
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		if a := <-d.later(t.Context(), ask(`{"a":"`+strings.Repeat("x", 300<<10)+`"}`)); tool.KindOf(a.err) != tool.Denied {
			t.Errorf("%v", a.err)
		}
		for _, bad := range []string{`[1]`, `{`, `1`} {
			if a := <-d.later(t.Context(), ask(bad)); tool.KindOf(a.err) != tool.Invalid {
				t.Errorf("%s: %v", bad, a.err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		full := func(q approval.Question, why string) {
			t.Helper()
			synctest.Wait()
			if a := <-d.later(t.Context(), q); tool.KindOf(a.err) != tool.Denied || !strings.Contains(a.err.Error(), why) {
				t.Errorf("%v", a.err)
			}
		}
		n := 0
		fill := func(most int, name, key string) approval.Question {
			q := ask("")
			for range most + 1 { // the last one is to find no place
				n++
				q = ask(fmt.Sprintf(`{"n":%d}`, n))
				if q.Caller.Name = name; key != "" {
					q.Caller.Grant = &tool.Grant{Key: key}
				}
				if most--; most >= 0 {
					_ = d.later(ctx, q)
				}
			}
			return q
		}
		full(fill(5, "anna", ""), "5 calls of this caller wait")
		fill(5, "made up", "")
		fill(5, "made up too", "") // whoever has no credential can have any name
		full(fill(0, "made up as well", ""), "15 calls of callers without a credential wait")
		full(fill(5, "anna", "k1"), "5 calls of this caller wait")
		synctest.Wait()
		if all := d.Pending(100); len(all) != 20 {
			t.Errorf("%d questions wait", len(all))
		}
		full(fill(0, "cleo", "k3"), "20 calls wait")
		cancel()
		synctest.Wait()
		if all := d.Pending(100); len(all) != 0 {
			t.Errorf("%d questions wait", len(all))
		}
	})
}

// Where nobody but the caller's own person can decide, a call does not wait for others.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, new(approval.Memory))
		q := ask(`{}`)
		q.Alone, q.Person = true, person(func(context.Context, tool.Approval) (tool.Verdict, error) { return tool.Verdict{}, errDisk })
		began := time.Now()
		if _, err := d.Ask(t.Context(), q); tool.KindOf(err) != tool.Denied || !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "nobody else") {
			t.Errorf("%v", err)
		}
		if time.Since(began) > 0 || len(d.Pending(9)) > 0 {
			t.Errorf("it waited %s", time.Since(began))
		}
		q.Person = person(func(context.Context, tool.Approval) (tool.Verdict, error) { return yes, nil })
		if a, err := d.Ask(t.Context(), q); err != nil || a.Status != tool.ApprovalApproved {
			t.Errorf("%s, %v", a.Status, err)
		}
	})
}
