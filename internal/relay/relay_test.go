package relay_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a server, whose answers a function makes.
type fake struct {
	spoken era.Era
	answer func(ctx context.Context, s *relay.Sending, h relay.Handler) (tool.Bytes, error)

	mu    sync.Mutex
	sent  []*relay.Sending
	links []*link
	alone bool // no links
}

type link struct {
	h      relay.Handler
	closed atomic.Bool
}

func (l *link) Ended() bool                                { return l.closed.Load() }
func (l *link) Close()                                     { l.closed.Store(true) }
func (*link) Notify(context.Context, string, []byte) error { return nil }

func (*fake) Name() string                           { return "fake" }
func (f *fake) Era(context.Context) (era.Era, error) { return f.spoken, nil }
func (f *fake) Open(_ context.Context, g relay.Greeting) (relay.Link, error) {
	if f.spoken == era.Modern {
		return nil, relay.ErrModernOnly
	}
	if f.alone {
		return nil, nil
	}
	l := &link{h: g.Handler}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.links = append(f.links, l)
	return l, nil
}

func (f *fake) Send(ctx context.Context, s *relay.Sending) (tool.Bytes, error) {
	f.mu.Lock()
	f.sent = append(f.sent, s)
	f.mu.Unlock()
	var h relay.Handler
	if l, ok := s.Link.(*link); ok {
		h = l.h
	}
	return f.answer(ctx, s, h)
}

// asking asks once and answers with what it was told.
func asking(ctx context.Context, _ *relay.Sending, h relay.Handler) (tool.Bytes, error) {
	said, e := h.Asked(ctx, "elicitation/create", tool.OneOf([]byte(`{"message":"?"}`)))
	if e != nil {
		return nil, e
	}
	return tool.OneOf(append(append([]byte(`{"said":`), said.Join()...), '}')), nil
}

func modern(state, responses, digest string) relay.Options {
	return relay.Options{
		Modern: true, Caller: "ann", Capabilities: []byte(`{"elicitation":{}}`), State: state, Responses: []byte(responses), Digest: digest,
	}
}

func stateOf(t *testing.T, result tool.Bytes) string {
	t.Helper()
	_, rest, ok := strings.Cut(string(result.Join()), `"requestState":"`)
	state, _, end := strings.Cut(rest, `"`)
	if !ok || !end {
		t.Fatalf("no state: %s", result.Join())
	}
	return state
}

func TestParkedRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := relay.New(t.Context())
		defer r.Close()
		ended := make(chan error, 1)
		s := &fake{spoken: era.Legacy, answer: func(ctx context.Context, x *relay.Sending, h relay.Handler) (tool.Bytes, error) {
			result, err := asking(ctx, x, h)
			ended <- err
			return result, err
		}}
		result, err := r.Client(modern("", "", "d")).Do(t.Context(), s, relay.Request{Method: "tools/call"})
		if err != nil {
			t.Fatal(err)
		}
		state := stateOf(t, result)
		time.Sleep(5*time.Minute + time.Second)
		if err := <-ended; err == nil {
			t.Error("the server was never told that nobody came again")
		}
		_, err = r.Client(modern(state, `{"input_1":{}}`, "d")).Do(t.Context(), s, relay.Request{Method: "tools/call"})
		if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("got %v", err)
		}
	})
}

func TestParkedRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := relay.New(t.Context())
		s := &fake{spoken: era.Legacy, answer: asking}
		park := func(caller string) error {
			o := modern("", "", "d")
			o.Caller = caller
			_, err := r.Client(o).Do(t.Context(), s, relay.Request{Method: "tools/call"})
			return err
		}
		var refused, waits int
		for range 1003 {
			if err := park("ann"); err != nil {
				refused++
				continue
			}
			waits++
		}
		if waits != 750 || refused != 253 {
			t.Errorf("%d wait and %d are refused", waits, refused)
		}
		for range 100 {
			if err := park("bob"); err != nil {
				t.Fatalf("another caller: %v", err)
			}
		}
		r.Close()
	})
}

func TestWhoeverGivesUpCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := relay.New(t.Context())
		defer r.Close()
		s := &fake{spoken: era.Legacy, answer: func(ctx context.Context, _ *relay.Sending, _ relay.Handler) (tool.Bytes, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Client(modern("", "", "d")).Do(ctx, s, relay.Request{Method: "tools/call"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestLeasedLinksAreForOneRequestAtATime: two requests of one client never share one,
// and one after the other do.
func TestLeasedLinksAreForOneRequestAtATime(t *testing.T) {
	r := relay.New(t.Context())
	defer r.Close()
	s := &fake{spoken: era.Legacy, answer: asking}
	first, err := r.Client(modern("", "", "d")).Do(t.Context(), s, relay.Request{Method: "tools/call"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Client(modern("", "", "d")).Do(t.Context(), s, relay.Request{Method: "tools/call"})
	if err != nil {
		t.Fatal(err)
	}
	for i, state := range []string{stateOf(t, second), stateOf(t, first)} {
		got, err := r.Client(modern(state, fmt.Sprintf(`{"input_1":%d}`, i), "d")).Do(t.Context(), s, relay.Request{Method: "tools/call"})
		if want := fmt.Sprintf(`{"said":%d}`, i); err != nil || string(got.Join()) != want {
			t.Errorf("got %s, %v, want %s", got.Join(), err, want)
		}
	}
	if _, err := r.Client(modern("", "", "d")).Do(t.Context(), s, relay.Request{Method: "tools/call"}); err != nil {
		t.Fatal(err)
	}
	if len(s.links) != 2 {
		t.Errorf("%d links", len(s.links))
	}
	if _, err := r.Client(modern("", "", "d")).Do(t.Context(), s, relay.Request{Method: "tools/call"}); err != nil {
		t.Fatal(err)
	}
	if n := len(s.sent); len(s.links) != 2 || s.sent[n-1].Link == s.sent[n-2].Link {
		t.Errorf("two requests share a link, or there are %d links", len(s.links))
	}
	other := modern("", "", "d")
	other.Caller = "bob"
	if _, err := r.Client(other).Do(t.Context(), s, relay.Request{Method: "tools/call"}); err != nil || len(s.links) != 3 {
		t.Errorf("another caller got a link of this one: %d, %v", len(s.links), err)
	}
}

// A peer answers with what it was asked.
type peer struct{ told []string }

func (p *peer) Ask(_ context.Context, method string, _ []byte) (tool.Bytes, error) {
	return tool.OneOf([]byte(`"` + method + `"`)), nil
}

func (p *peer) Notify(method string, params []byte) error {
	p.told = append(p.told, method+string(params))
	return nil
}

// TestWhatComesOnALinkReachesItsClient: on stdio nothing says to which request it
// belongs.
func TestWhatComesOnALinkReachesItsClient(t *testing.T) {
	r := relay.New(t.Context())
	defer r.Close()
	s := &fake{spoken: era.Legacy, answer: func(ctx context.Context, x *relay.Sending, h relay.Handler) (tool.Bytes, error) {
		h.Heard("notifications/message", tool.OneOf([]byte("{}")))
		return asking(ctx, x, h)
	}}
	c := r.Client(relay.Options{Capabilities: []byte(`{"elicitation":{}}`)})
	p := &peer{}
	got, err := c.Do(t.Context(), s, relay.Request{Method: "tools/call", Peer: p})
	if err != nil || string(got.Join()) != `{"said":"elicitation/create"}` || fmt.Sprint(p.told) != "[notifications/message{}]" {
		t.Errorf("%s, %v, %q", got.Join(), err, p.told)
	}
	c.Close()
	if !s.links[0].Ended() {
		t.Error("the link outlives its client")
	}
	if _, err := c.Do(t.Context(), s, relay.Request{Method: "tools/call", Peer: p}); err == nil {
		t.Error("a client that has ended got a new link")
	}
}

func TestServersThatWantInputWithoutEnd(t *testing.T) {
	r := relay.New(t.Context())
	defer r.Close()
	s := &fake{spoken: era.Modern, answer: func(_ context.Context, x *relay.Sending, _ relay.Handler) (tool.Bytes, error) {
		return tool.OneOf([]byte(`{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{}}},"requestState":"n` + fmt.Sprint(len(x.Params)) + `"}`)), nil
	}}
	asked := 0
	c := r.Client(relay.Options{Capabilities: []byte(`{"elicitation":{}}`), Ask: func(context.Context, string, []byte) (tool.Bytes, error) {
		asked++
		return tool.OneOf([]byte(`{"action":"decline"}`)), nil
	}})
	defer c.Close()
	_, err := c.Do(t.Context(), s, relay.Request{Method: "prompts/get", Params: []byte(`{"name":"x"}`)})
	if err == nil || asked != 10 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	last := string(s.sent[len(s.sent)-1].Params)
	if !strings.Contains(last, `"inputResponses":{"q":{"action":"decline"}}`) || strings.Count(last, "requestState") != 1 {
		t.Errorf("sent %s", last)
	}
}

// TestNobodyIsAskedWhatTheyCannot: the capability counts, whatever the server does.
func TestNobodyIsAskedWhatTheyCannot(t *testing.T) {
	r := relay.New(t.Context())
	defer r.Close()
	want := `{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":{}}},"requestState":"s"}`
	s := &fake{spoken: era.Modern, answer: func(context.Context, *relay.Sending, relay.Handler) (tool.Bytes, error) {
		return tool.OneOf([]byte(want)), nil
	}}
	_, err := r.Client(modern("", "", "d")).Do(t.Context(), s, relay.Request{Method: "tools/call"})
	if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != jsonrpc.CodeMissingCapability || string(e.Data) != `{"requiredCapabilities":{"sampling":{}}}` {
		t.Errorf("modern: got %v", err)
	}
	c := r.Client(relay.Options{Capabilities: []byte(`{"elicitation":{}}`), Ask: func(context.Context, string, []byte) (tool.Bytes, error) {
		t.Error("asked")
		return nil, nil
	}})
	defer c.Close()
	if _, err := c.Do(t.Context(), s, relay.Request{Method: "tools/call"}); err == nil {
		t.Error("legacy: no error")
	}
}

func TestErrorsFollowTheEra(t *testing.T) {
	r := relay.New(t.Context())
	defer r.Close()
	for _, c := range []struct {
		spoken    era.Era
		modern    bool
		has, want int
	}{
		{era.Legacy, true, jsonrpc.CodeResourceNotFound, jsonrpc.CodeInvalidParams},
		{era.Legacy, false, jsonrpc.CodeResourceNotFound, jsonrpc.CodeResourceNotFound},
		{era.Modern, false, jsonrpc.CodeInvalidParams, jsonrpc.CodeResourceNotFound},
		{era.Modern, true, jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidParams},
	} {
		s := &fake{spoken: c.spoken, answer: func(context.Context, *relay.Sending, relay.Handler) (tool.Bytes, error) {
			return nil, &jsonrpc.Error{Code: c.has, Message: "no", Data: []byte(`{"uri":"x"}`)}
		}}
		client := r.Client(relay.Options{Modern: c.modern})
		_, err := client.Do(t.Context(), s, relay.Request{Method: "resources/read"})
		e, ok := errors.AsType[*jsonrpc.Error](err)
		if !ok || e.Code != c.want || string(e.Data) != `{"uri":"x"}` {
			t.Errorf("%s, modern client %v: got %v, want %d", c.spoken, c.modern, err, c.want)
		}
		client.Close()
	}
}
