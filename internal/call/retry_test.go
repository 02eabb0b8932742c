package call_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// httpError is an answer over HTTP that is no result.
type httpError struct {
	status int
	wait   time.Duration
}

func (e httpError) Error() string             { return fmt.Sprint("server answered ", e.status) }
func (e httpError) HTTPStatus() int           { return e.status }
func (e httpError) RetryAfter() time.Duration { return e.wait }

func unavailable() error {
	return &tool.Error{Kind: tool.Unavailable, Text: "server s is unavailable: gone"}
}

// script is a server that answers with errs one after the other, then with "ok".
type script struct {
	errs []error
	at   []time.Duration // of each call
}

func (s *script) options(meta tool.Meta, change func(*call.Options)) call.Options {
	began := time.Now()
	o := call.Options{
		Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}, Meta: meta}}},
		Send: func(ctx context.Context, _ *call.Request, _ []byte) (tool.Bytes, error) {
			s.at = append(s.at, time.Since(began))
			if n := len(s.at); n <= len(s.errs) && s.errs[n-1] != nil {
				return nil, s.errs[n-1]
			}
			return text("ok"), nil
		},
		Record: func(*call.Request, *tool.Result) {},
		NewID:  func() string { return "id" },
	}
	if change != nil {
		change(&o)
	}
	return o
}

// deathError is the error of a call in which its server ended.
type deathError struct{ error }

func (deathError) Died() bool { return true }

// TestCallThatEndsItsServer: who asks for what ends one process after the other is told
// not to ask for it again.
func TestCallThatEndsItsServer(t *testing.T) {
	dead := deathError{errors.New("the answer of server s was lost: process ended (exit status 2)")}
	for name, c := range map[string]struct {
		errs []error
		told bool
	}{
		"always":            {[]error{dead, dead, dead}, true},
		"once, and refused": {[]error{dead, unavailable(), unavailable()}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{errs: c.errs}
				res := call.New(s.options(tool.Meta{ReadOnly: true}, nil))(t.Context(), tool.Call{Server: "s", Tool: "t"})
				if res.Kind != tool.Unavailable || res.Attempts != 3 || strings.Contains(res.Text(), "do not repeat it") != c.told {
					t.Errorf("%d attempts, %s: %s", res.Attempts, res.Kind, res.Text())
				}
			})
		})
	}
}

// TestRetryRepeatsOnlyWhatIsSafe: each kind of failure with each kind of tool.
func TestRetryRepeatsOnlyWhatIsSafe(t *testing.T) {
	const write, read, idempotent = "write", "read", "idempotent"
	metas := map[string]tool.Meta{write: {}, read: {ReadOnly: true}, idempotent: {Idempotent: true}}
	for _, c := range []struct {
		name string
		err  error
		kind tool.Kind         // of a failure that lasts, with a tool that writes
		safe map[string]bool   // with which tools it is repeated
		text map[string]string // of a failure that lasts
	}{
		{name: "never left", err: unavailable(), kind: tool.Unavailable, safe: map[string]bool{write: true, read: true, idempotent: true}},
		{name: "lost", err: errors.New("the connection was lost"), kind: tool.OutcomeUnknown, safe: map[string]bool{read: true, idempotent: true}},
		{name: "too many requests", err: httpError{status: 429}, kind: tool.Unavailable, safe: map[string]bool{write: true, read: true, idempotent: true}},
		{name: "unauthorized", err: httpError{status: 401}, kind: tool.Unavailable},
		{name: "bad gateway", err: httpError{status: 502}, kind: tool.OutcomeUnknown, safe: map[string]bool{read: true, idempotent: true}},
		{name: "the server's error", err: &jsonrpc.Error{Code: -32603, Message: "oops"}, kind: tool.Failed},
		{name: "invalid", err: &jsonrpc.Error{Code: -32602, Message: "bad"}, kind: tool.Invalid},
		{name: "denied", err: &tool.Error{Kind: tool.Denied, Text: "no"}, kind: tool.Denied},
		{name: "canceled", err: context.Canceled, kind: tool.Canceled},
		{name: "timeout", err: context.DeadlineExceeded, kind: tool.Timeout},
		{name: "too large", err: &jsonrpc.TooLargeError{Limit: 1 << 20}, kind: tool.Failed},
	} {
		for name, meta := range metas {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					once := &script{errs: []error{c.err}}
					res := call.New(once.options(meta, nil))(t.Context(), tool.Call{Server: "s", Tool: "t"})
					if safe := c.safe[name]; safe != (res.Kind == "") || safe != (len(once.at) == 2) || res.Attempts != len(once.at) {
						t.Errorf("safe %v: %q after %d calls, %d attempts: %s", safe, res.Kind, len(once.at), res.Attempts, res.Text())
					}
					if c.safe[name] && (len(res.Notes) != 1 || res.Notes[0].Stage != "retry" || !strings.Contains(res.Notes[0].Text, "tried 2 times")) {
						t.Errorf("notes %v", res.Notes)
					}
					for2 := &script{errs: []error{c.err, c.err, c.err, c.err}}
					res = call.New(for2.options(meta, nil))(t.Context(), tool.Call{Server: "s", Tool: "t"})
					want := 1
					if c.safe[name] {
						want = 3
					}
					if len(for2.at) != want || res.Attempts != want {
						t.Errorf("%d calls, %d attempts, want %d", len(for2.at), res.Attempts, want)
					}
					if kind := c.kind; kind != res.Kind && (name == write || res.Kind != tool.Unavailable) {
						t.Errorf("kind %q, want %q", res.Kind, kind)
					}
				})
			})
		}
	}
}

// TestRetryWaits: the waits are random, grow, are bounded, and are what the server
// asks for.
func TestRetryWaits(t *testing.T) {
	gone := []error{unavailable(), unavailable(), unavailable(), unavailable(), unavailable(), unavailable()}
	down := func(in time.Duration) func(o *call.Options) {
		return func(o *call.Options) {
			next := time.Now().Add(in)
			o.Health = func(string) call.Health {
				return call.Health{Down: time.Now().Before(next), NextTry: next}
			}
		}
	}
	for _, c := range []struct {
		name     string
		errs     []error
		change   func(*call.Options)
		timeout  time.Duration
		calls    int
		least    time.Duration // between the first and the second call
		most     time.Duration
		allUntil time.Duration // of the last call
	}{
		{name: "default", errs: gone, calls: 3, most: 200 * time.Millisecond, allUntil: 600 * time.Millisecond},
		{name: "off", errs: gone, change: func(o *call.Options) { o.Retry.Attempts = 1 }, calls: 1},
		{name: "six", errs: gone, change: func(o *call.Options) {
			o.Retry = call.Retry{Attempts: 6, Delay: time.Second, MaxDelay: 2 * time.Second}
		}, calls: 6, most: time.Second, allUntil: 9 * time.Second},
		{name: "the server asks", errs: []error{httpError{429, 3 * time.Second}}, calls: 2, least: 3 * time.Second, most: 3200 * time.Millisecond, allUntil: 4 * time.Second},
		{name: "the server asks too much", errs: []error{httpError{429, time.Minute}}, calls: 1},
		{name: "no time left for what the server asks", errs: []error{httpError{429, 3 * time.Second}}, timeout: 2 * time.Second, calls: 1},
		{name: "down and up again soon", errs: gone[:1], change: down(4 * time.Second), calls: 2, least: 4 * time.Second, most: 4200 * time.Millisecond, allUntil: 5 * time.Second},
		{name: "down for long", errs: gone[:1], change: down(time.Minute), calls: 1},
		{name: "down for good", errs: gone[:1], change: func(o *call.Options) {
			o.Health = func(string) call.Health { return call.Health{Down: true} }
		}, calls: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{errs: c.errs}
				began := time.Now()
				res := call.New(s.options(tool.Meta{}, c.change))(t.Context(), tool.Call{Server: "s", Tool: "t", Timeout: c.timeout})
				if len(s.at) != c.calls {
					t.Fatalf("%d calls, want %d, at %v: %s", len(s.at), c.calls, s.at, res.Text())
				}
				if c.calls == 1 {
					if took := time.Since(began); took != 0 || len(res.Notes) != 0 {
						t.Errorf("the error came after %s, with notes %v", took, res.Notes)
					}
					return
				}
				if first := s.at[1] - s.at[0]; first < c.least || first > c.most {
					t.Errorf("waited %s, want %s to %s", first, c.least, c.most)
				}
				if last := s.at[len(s.at)-1]; last > c.allUntil {
					t.Errorf("the last call at %s, want it until %s", last, c.allUntil)
				}
			})
		})
	}
}

// TestRetryJitters: no two callers wait the same.
func TestRetryJitters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			s := &script{errs: []error{unavailable()}}
			call.New(s.options(tool.Meta{}, nil))(t.Context(), tool.Call{Server: "s", Tool: "t"})
			seen[s.at[1]] = true
		}
		if len(seen) < 15 {
			t.Errorf("%d different waits in 20", len(seen))
		}
	})
}

// TestRetryEndsWithItsCaller: who gives up during a wait gets an answer at once.
func TestRetryEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(time.Second, cancel)
		s := &script{errs: []error{httpError{429, 4 * time.Second}}}
		began := time.Now()
		res := call.New(s.options(tool.Meta{}, nil))(ctx, tool.Call{Server: "s", Tool: "t"})
		if took := time.Since(began); res.Kind != tool.Canceled || took != time.Second || len(s.at) != 1 {
			t.Errorf("%q after %s and %d calls", res.Kind, took, len(s.at))
		}
		ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		s = &script{errs: []error{httpError{429, 4 * time.Second}}}
		began = time.Now()
		res = call.New(s.options(tool.Meta{}, nil))(ctx, tool.Call{Server: "s", Tool: "t"})
		if took := time.Since(began); res.Kind != tool.Unavailable || took != 0 {
			t.Errorf("a wait beyond the caller's own deadline: %q after %s", res.Kind, took)
		}
	})
}

// TestSlowStartIsNotRepeated: a model does not wait for a server that hangs again
// and again.
func TestSlowStartIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		o := s.options(tool.Meta{ReadOnly: true}, func(o *call.Options) {
			o.Send = func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
				s.at = append(s.at, 0)
				time.Sleep(30 * time.Second)
				return nil, unavailable()
			}
			o.Health = func(string) call.Health {
				return call.Health{Down: true, NextTry: time.Now().Add(time.Second)}
			}
		})
		call.New(o)(t.Context(), tool.Call{Server: "s", Tool: "t"})
		// The first start may have been long under way, so one more is given a chance.
		if len(s.at) > 2 {
			t.Errorf("%d starts of 30 s", len(s.at))
		}
	})
}

// TestHowToCheck names a tool that can tell what became of a write.
func TestHowToCheck(t *testing.T) {
	for reader, want := range map[string]string{"get_thing": "get_thing of server s may tell.", "": "with a tool that only reads."} {
		s := &script{errs: []error{errors.New("lost")}}
		o := s.options(tool.Meta{}, func(o *call.Options) { o.Reader = func(*tool.Tool) string { return reader } })
		if res := call.New(o)(t.Context(), tool.Call{Server: "s", Tool: "t"}); res.Kind != tool.OutcomeUnknown || !strings.HasSuffix(res.Text(), want) {
			t.Errorf("%q: %s", res.Kind, res.Text())
		}
	}
}

// heldError is a call that was not let through.
type heldError struct{ until time.Time }

func (e heldError) Error() string        { return "held back" }
func (e heldError) HeldUntil() time.Time { return e.until }

// TestHeldBackIsNoAttempt: a call that its server's pause held back is made when the
// pause is over, and does not count among those that were.
func TestHeldBackIsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := func(after time.Duration) error {
			return &tool.Error{Kind: tool.Unavailable, Text: "server s is unavailable", Err: heldError{time.Now().Add(after)}}
		}
		s := &script{errs: []error{errors.New("lost"), held(time.Second), errors.New("lost"), nil}}
		res := call.New(s.options(tool.Meta{ReadOnly: true}, nil))(t.Context(), tool.Call{Server: "s", Tool: "t"})
		if res.Kind != "" || res.Attempts != 3 || len(s.at) != 4 || s.at[2] < time.Second {
			t.Errorf("%q after %d attempts, calls at %v: %s", res.Kind, res.Attempts, s.at, res.Text())
		}
		// One that is held back for good is not waited for without end.
		s = &script{}
		for range 100 {
			s.errs = append(s.errs, held(0))
		}
		res = call.New(s.options(tool.Meta{ReadOnly: true}, nil))(t.Context(), tool.Call{Server: "s", Tool: "t"})
		if res.Kind != tool.Unavailable || len(s.at) > 6 {
			t.Errorf("%q after %d calls", res.Kind, len(s.at))
		}
	})
}
