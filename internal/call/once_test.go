package call_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/admission"
	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

func keyed(key, args string) tool.Call {
	return tool.Call{Server: "s", Tool: "t", IdempotencyKey: key, Arguments: json.RawMessage(args)}
}

// TestLedgerAnswersOnce: what counts is the caller, the session, the tool, the key
// and the arguments.
func TestLedgerAnswersOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		second func(*tool.Call)
		calls  int
		kind   tool.Kind
	}{
		{name: "the same", second: func(*tool.Call) {}, calls: 1},
		{name: "other order", second: func(c *tool.Call) { c.Arguments = json.RawMessage(` {"b": {"y":1,"x":2} , "a":"ü"} `) }, calls: 1},
		{name: "over another front end", second: func(c *tool.Call) { c.Caller.Via = "mcp" }, calls: 1},
		{name: "other arguments", second: func(c *tool.Call) { c.Arguments = json.RawMessage(`{"a":"ü","b":{"x":3,"y":1}}`) }, calls: 1, kind: tool.Invalid},
		{name: "numbers that a float64 cannot tell apart", second: func(c *tool.Call) { c.Arguments = json.RawMessage(`{"a":9007199254740993}`) }, calls: 1, kind: tool.Invalid},
		{name: "other key", second: func(c *tool.Call) { c.IdempotencyKey = "k2" }, calls: 2},
		{name: "no key", second: func(c *tool.Call) { c.IdempotencyKey = "" }, calls: 2},
		{name: "other caller", second: func(c *tool.Call) { c.Caller.Name = "bob" }, calls: 2},
		{name: "other session", second: func(c *tool.Call) { c.Session = "two" }, calls: 2},
		{name: "other task", second: func(c *tool.Call) { c.Task = "two" }, calls: 2},
		{name: "other tool", second: func(c *tool.Call) { c.Tool = "u" }, calls: 2},
		{name: "arguments that are none", second: func(c *tool.Call) { c.Arguments = json.RawMessage(`{"a":`) }, calls: 1, kind: tool.Invalid},
		{name: "key too long", second: func(c *tool.Call) { c.IdempotencyKey = strings.Repeat("k", 256) }, calls: 1, kind: tool.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{}
			run := call.New(s.options(tool.Meta{}, func(o *call.Options) {
				o.Catalog = &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}, {ID: tool.ID{Server: "s", Name: "u"}}}}
			}))
			first := keyed("k", `{"a":"ü","b":{"x":2,"y":1}}`)
			if c.name == "numbers that a float64 cannot tell apart" {
				first.Arguments = json.RawMessage(`{"a":9007199254740992}`)
			}
			if res := run(t.Context(), first); res.Kind != "" || len(res.Notes) != 0 {
				t.Fatalf("first: %s %v", res.Text(), res.Notes)
			}
			second := first
			c.second(&second)
			res := run(t.Context(), second)
			if len(s.at) != c.calls || res.Kind != c.kind {
				t.Fatalf("%d calls, %q: %s", len(s.at), res.Kind, res.Text())
			}
			if stored := c.calls == 1 && c.kind == ""; stored != (len(res.Notes) == 1 && res.Notes[0].Stage == "ledger") {
				t.Errorf("notes %v", res.Notes)
			} else if stored && (res.Text() != "ok" || res.Attempts != 0) {
				t.Errorf("%s, %d attempts", res.Text(), res.Attempts)
			}
		})
	}
}

// TestLedgerKeeps: each way in which a call ends, with each kind of tool: whether
// a call that repeats its key is answered from the ledger, and with what kind.
func TestLedgerKeeps(t *testing.T) {
	hang := errors.New("hang")
	no := tool.Kind("runs again")
	for _, c := range []struct {
		name                    string
		err                     error
		raw                     tool.Bytes
		write, read, idempotent tool.Kind
	}{
		{name: "result", raw: text("ok")},
		{name: "the tool's own error", raw: tool.OneOf([]byte(`{"isError":true,"content":[]}`)), write: tool.Failed, read: no, idempotent: tool.Failed},
		{name: "lost", err: errors.New("lost"), write: tool.OutcomeUnknown, read: no, idempotent: no},
		{name: "timeout", err: hang, write: tool.OutcomeUnknown, read: no, idempotent: no},
		{name: "canceled", err: context.Canceled, write: tool.OutcomeUnknown, read: no, idempotent: no},
		{name: "never left", err: unavailable(), write: no, read: no, idempotent: no},
		{name: "invalid", err: &jsonrpc.Error{Code: -32602, Message: "bad"}, write: no, read: no, idempotent: no},
		{name: "denied", err: &tool.Error{Kind: tool.Denied, Text: "no"}, write: no, read: no, idempotent: no},
	} {
		for name, m := range map[string]struct {
			meta tool.Meta
			want tool.Kind
		}{"write": {tool.Meta{}, c.write}, "read": {tool.Meta{ReadOnly: true}, c.read}, "idempotent": {tool.Meta{Idempotent: true}, c.idempotent}} {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					calls := 0
					s := &script{}
					run := call.New(s.options(m.meta, func(o *call.Options) {
						o.Retry.Attempts = 1
						o.Send = func(ctx context.Context, _ *call.Request, _ []byte) (tool.Bytes, error) {
							calls++
							if errors.Is(c.err, hang) {
								<-ctx.Done()
								return nil, context.Cause(ctx)
							}
							return c.raw, c.err
						}
					}))
					first := run(t.Context(), keyed("k", ""))
					second := run(t.Context(), keyed("k", "{}"))
					if again := calls == 2; again != (m.want == no) {
						t.Fatalf("%d calls: %q, then %q: %s", calls, first.Kind, second.Kind, second.Text())
					}
					if m.want != no && second.Kind != m.want {
						t.Errorf("kind %q, want %q", second.Kind, m.want)
					}
					if second.Kind == tool.OutcomeUnknown && calls == 1 && !strings.Contains(second.Text(), "Before calling it again") {
						t.Errorf("does not say how to check: %s", second.Text())
					}
				})
			})
		}
	}
}

// TestLedgerWaitsForTheFirst: calls that come together run once, and where the
// first did nothing the next one runs.
func TestLedgerWaitsForTheFirst(t *testing.T) {
	for _, first := range []error{nil, unavailable()} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			calls := 0
			run := call.New((&script{}).options(tool.Meta{}, func(o *call.Options) {
				o.Retry.Attempts = 1
				o.Send = func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
					mu.Lock()
					calls++
					n := calls
					mu.Unlock()
					time.Sleep(time.Second)
					if n == 1 && first != nil {
						return nil, first
					}
					return text(fmt.Sprint("from call ", n)), nil
				}
			}))
			began := time.Now()
			var wg sync.WaitGroup
			results := make([]*tool.Result, 5)
			for i := range results {
				wg.Go(func() { results[i] = run(t.Context(), keyed("k", "")) })
			}
			impatient := keyed("k", "")
			impatient.Timeout = time.Millisecond
			synctest.Wait()
			if res := run(t.Context(), impatient); res.Kind != tool.Timeout || time.Since(began) != time.Millisecond {
				t.Errorf("who waits for the first has no deadline: %q after %s", res.Kind, time.Since(began))
			}
			wg.Wait()
			want, texts := 1, map[string]int{}
			if first != nil {
				want = 2
			}
			for _, r := range results {
				texts[string(r.Kind)+r.Text()]++
			}
			if calls != want || texts[fmt.Sprint("from call ", want)] != 6-want {
				t.Errorf("%d calls: %v", calls, texts)
			}
		})
	}
}

func TestLedgerOfPanic(t *testing.T) {
	calls := 0
	run := call.New((&script{}).options(tool.Meta{}, func(o *call.Options) {
		o.Send = func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
			calls++
			panic("boom")
		}
	}))
	run(t.Context(), keyed("k", ""))
	if res := run(t.Context(), keyed("k", "")); res.Kind != tool.OutcomeUnknown || calls != 1 {
		t.Errorf("%q after %d calls: %s", res.Kind, calls, res.Text())
	}
}

// TestLedgerIsBounded in age, in number and in size.
func TestLedgerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		size, calls := 10, 0
		run := call.New((&script{}).options(tool.Meta{}, func(o *call.Options) {
			o.Send = func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
				calls++
				return text(strings.Repeat("x", size)), nil
			}
		}))
		again := func(key string) bool {
			before := calls
			run(t.Context(), keyed(key, ""))
			return calls > before
		}
		again("age")
		time.Sleep(24 * time.Hour)
		if again("age") {
			t.Error("forgotten after 24 h sharp")
		}
		time.Sleep(time.Second)
		if !again("age") {
			t.Error("still known after 24 h and a second")
		}
		for i := range 10_000 {
			again(fmt.Sprint("n", i))
		}
		if !again("age") || again("n9999") {
			t.Error("not the last 10,000 calls are known")
		}
		size = 1 << 20
		if again("large"); again("large") {
			t.Error("a large result ran twice")
		}
		res := run(t.Context(), keyed("large", ""))
		if res.Kind != "" || !strings.Contains(res.Text(), "too large to keep") {
			t.Errorf("%q: %.200s", res.Kind, res.Text())
		}
		size = 1<<20 - 1000
		for i := range 40 {
			again(fmt.Sprint("m", i))
		}
		if again("m0") || again("m39") {
			t.Error("a call ran twice whose result took too much room")
		}
		if res := run(t.Context(), keyed("m0", "")); !strings.Contains(res.Text(), "too large to keep") {
			t.Errorf("more than 32 MiB are kept: %.200s", res.Text())
		}
		if res := run(t.Context(), keyed("m39", "")); len(res.Text()) < size {
			t.Errorf("less than the last 32 MiB are kept: %.200s", res.Text())
		}
	})
}

// TestLedgerKeepsTheWhole: what is kept was not cut for its first caller.
func TestLedgerKeepsTheWhole(t *testing.T) {
	s := &script{}
	run := call.New(s.options(tool.Meta{MaxResultChars: 10}, func(o *call.Options) {
		o.Send = func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
			return text(strings.Repeat("y", 50)), nil
		}
	}))
	first, second := run(t.Context(), keyed("k", "")), run(t.Context(), keyed("k", ""))
	if first.Text() != second.Text() || !strings.Contains(second.Text(), "10 of 50") {
		t.Errorf("%s\n%s", first.Text(), second.Text())
	}
}

// TestLedgerOfWhatWaited: a call that gave up before it was sent frees its key.
func TestLedgerOfWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		release := make(chan struct{})
		run := call.New(s.options(tool.Meta{}, func(o *call.Options) {
			o.Admission = admission.New(admission.Limits{Concurrent: 1, Queue: 10}, func(string) admission.Limits { return admission.Limits{Queue: 10} })
			send := o.Send
			o.Send = func(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error) {
				if r.IdempotencyKey == "" {
					<-release
				}
				return send(ctx, r, params)
			}
		}))
		var wg sync.WaitGroup
		wg.Go(func() { run(t.Context(), tool.Call{Server: "s", Tool: "t"}) })
		synctest.Wait()
		c := keyed("k", "")
		c.Timeout = time.Second
		if res := run(t.Context(), c); res.Kind != tool.Timeout || res.Attempts != 0 {
			t.Errorf("%q after %d attempts: %s", res.Kind, res.Attempts, res.Text())
		}
		close(release)
		wg.Wait()
		if res := run(t.Context(), c); res.Kind != "" || len(res.Notes) != 0 {
			t.Errorf("%q: %s %v", res.Kind, res.Text(), res.Notes)
		}
	})
}
