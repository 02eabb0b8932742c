package wire_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// asks asks the client of each request, and answers with what it said. It waits until
// it has had enough.
type asks struct {
	result chan error
	enough chan struct{}
}

func (a asks) Request(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	if m.Method == "initialize" {
		_, err := x.Ask(ctx, "early", nil)
		a.result <- err
		return tool.OneOf([]byte("{}")), nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() {
		select {
		case <-a.enough:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	})
	answer, err := x.Ask(ctx, "what", []byte(`{"n":1}`))
	a.result <- err
	if err != nil {
		return tool.OneOf([]byte(`{"failed":true}`)), nil
	}
	return answer, nil
}

func (asks) Notification(*wire.Exchange, *jsonrpc.Message) {}

// TestAskOverHTTP: a question goes out on the stream of the request, and its answer
// comes with a request of the same session.
func TestAskOverHTTP(t *testing.T) {
	h := asks{make(chan error, 10), make(chan struct{}, 10)}
	_, url := startServer(t, h)
	open := func() string {
		t.Helper()
		r := do(t, t.Context(), "POST", url, `{"jsonrpc":"2.0","id":0,"method":"initialize"}`)
		if err := <-h.result; !errors.Is(err, wire.ErrCannotAsk) {
			t.Errorf("asked before there was a session: %v", err)
		}
		return r.header.Get(wire.HeaderSession)
	}
	session, other := open(), open()
	for _, c := range []struct {
		name, session, answer string
		err                   string
		want                  string
	}{
		{"answered", session, `{"jsonrpc":"2.0","id":1,"result":{"said":"yes"}}`, "", `"result":{"said":"yes"}`},
		{"refused", session, `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`, "no", `"failed":true`},
		{"answered by another session", other, `{"jsonrpc":"2.0","id":3,"result":{}}`, "deadline", `"failed":true`},
		{"another question answered", session, `{"jsonrpc":"2.0","id":99,"result":{}}`, "deadline", `"failed":true`},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"x"}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set(wire.HeaderSession, session)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var told []string
			for lines := bufio.NewScanner(res.Body); lines.Scan(); {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				told = append(told, data)
				if strings.Contains(data, `"method":"what"`) {
					if r := do(t, t.Context(), "POST", url, c.answer, wire.HeaderSession, c.session); r.status != http.StatusAccepted {
						t.Errorf("%d %s", r.status, r.body)
					}
					if c.err == "deadline" {
						h.enough <- struct{}{}
					}
				}
			}
			if err := <-h.result; (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v", err)
			}
			if last := told[len(told)-1]; !strings.Contains(last, c.want) || !strings.Contains(last, `"id":7`) {
				t.Errorf("told %q", told)
			}
			if taken := strings.Contains(strings.Join(told, ""), "notifications/cancelled"); taken != (c.err == "deadline") {
				t.Errorf("taken back is %v: %q", taken, told)
			}
		})
	}
	// A client of the modern era is asked nothing.
	r := do(t, t.Context(), "POST", url, `{"jsonrpc":"2.0","id":1,"method":"x"}`, wire.HeaderVersion, "2026-07-28")
	if err := <-h.result; !errors.Is(err, wire.ErrCannotAsk) || !strings.Contains(r.body, "failed") {
		t.Errorf("%v %s", err, r.body)
	}
}
