package wire_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers every request with its params, and counts notifications.
type echo struct {
	mu   sync.Mutex
	seen []string
	wait chan struct{} // "wait" requests hang until it closes or they are canceled
}

func (e *echo) Request(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	switch m.Method {
	case "wait":
		select {
		case <-ctx.Done():
			e.note("canceled")
		case <-e.wait:
		}
	case "progress":
		var p struct {
			Meta struct {
				Token json.RawMessage `json:"progressToken"`
			} `json:"_meta"`
		}
		if err := json.Unmarshal(m.Params.Join(), &p); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%v", err)
		}
		for i := range 3 {
			_ = x.Notify("notifications/progress", fmt.Appendf(nil, `{"progressToken":%s,"progress":%d}`, p.Meta.Token, i))
		}
	case "fail":
		return nil, jsonrpc.Errorf(-32099, "no luck")
	}
	if m.Params == nil {
		return tool.OneOf([]byte("{}")), nil
	}
	return m.Params, nil
}

func (e *echo) Notification(_ *wire.Exchange, m *jsonrpc.Message) { e.note(m.Method) }

func (e *echo) note(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, s)
}

// pair returns two ends of one connection.
func pair(t testing.TB, left, right wire.StreamOptions) (*wire.Stream, *wire.Stream) {
	t.Helper()
	lr, rw := io.Pipe()
	rr, lw := io.Pipe()
	left.R, left.W, right.R, right.W = lr, lw, rr, rw
	a, b := wire.NewStream(left), wire.NewStream(right)
	t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
	return a, b
}

func TestStreamCall(t *testing.T) {
	c, _ := pair(t, wire.StreamOptions{}, wire.StreamOptions{Handler: &echo{}})
	big := strings.Repeat("x", 3<<20)
	for _, params := range []string{
		`{}`,
		`{"n":9007199254740993,"z":1,"a":{"unknown":[1,2.50,1e400]}}`,
		`{"text":"` + big + `"}`,
		`{"quote":"\"\\","u":"\u00e9é"}`,
	} {
		got, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: []byte(params)})
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Join()) != params {
			t.Errorf("got %.80s, want %.80s", got.Join(), params)
		}
	}
}

func TestStreamErrorAnswer(t *testing.T) {
	c, _ := pair(t, wire.StreamOptions{}, wire.StreamOptions{Handler: &echo{}})
	_, err := c.Call(t.Context(), &wire.Request{Method: "fail"})
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code != -32099 || e.Message != "no luck" {
		t.Fatalf("got %#v", err)
	}
}

func TestStreamProgressToken(t *testing.T) {
	c, _ := pair(t, wire.StreamOptions{}, wire.StreamOptions{Handler: &echo{}})
	var got []string
	_, err := c.Call(t.Context(), &wire.Request{
		Method: "progress", Params: []byte(`{"a":1,"_meta":{"k":2}}`),
		Progress: func(p tool.Bytes) { got = append(got, string(p.Join())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || !strings.Contains(got[2], `"progress":2`) {
		t.Fatalf("progress %q", got)
	}
}

func TestStreamCancel(t *testing.T) {
	h := &echo{wait: make(chan struct{})}
	c, srv := pair(t, wire.StreamOptions{}, wire.StreamOptions{Handler: h})
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, err := c.Call(ctx, &wire.Request{Method: "wait"})
		errs <- err
	})
	// A second call proves that the first has arrived.
	if _, err := c.Call(t.Context(), &wire.Request{Method: "echo"}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := c.Call(t.Context(), &wire.Request{Method: "echo"}); err != nil {
		t.Fatal(err)
	}
	if err := srv.Close(); err != nil { // waits for the handler
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.seen) != 1 || h.seen[0] != "canceled" {
		t.Fatalf("the server saw %q", h.seen)
	}
}

func TestStreamPeerGone(t *testing.T) {
	h := &echo{wait: make(chan struct{})}
	c, srv := pair(t, wire.StreamOptions{}, wire.StreamOptions{Handler: h})
	errs := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, err := c.Call(context.Background(), &wire.Request{Method: "wait"})
		errs <- err
	})
	if _, err := c.Call(t.Context(), &wire.Request{Method: "echo"}); err != nil {
		t.Fatal(err)
	}
	_ = srv.Close()
	if err := <-errs; !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("call in flight: %v", err)
	}
	_, err := c.Call(t.Context(), &wire.Request{Method: "echo"})
	if _, ok := errors.AsType[*wire.SendError](err); !ok {
		t.Fatalf("later call: %#v, want a SendError", err)
	}
}

// TestStreamGarbage reads what real servers print to their standard output.
func TestStreamGarbage(t *testing.T) {
	lines := []string{
		"Starting Time MCP server...",
		`{"level":30,"msg":"a JSON log line without jsonrpc"}`,
		`{"jsonrpc":"1.0","id":1,"result":{}}`,
		`[1,2,3]`, `"text"`, `{`, `{"jsonrpc":"2.0"`, ``, `   `,
		`{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`,
		"\x1b[32mcolour\x1b[0m",
		`{"jsonrpc":"2.0","method":"log","params":{"foreign":true}}`,
		`{"jsonrpc":"2.0","id":"no such id","result":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`,
		strings.Repeat("very long ", 50_000),
	}
	r, w := io.Pipe()
	sr, sw := io.Pipe()
	var heads []string
	h := &echo{}
	c := wire.NewStream(wire.StreamOptions{
		R: r, W: sw, Handler: h,
		Garbage: func(head []byte, err error) { heads = append(heads, fmt.Sprintf("%.40q: %v", head, err)) },
	})
	defer c.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for _, l := range lines {
			_, _ = io.WriteString(w, l+"\n")
		}
		buf := make([]byte, 4096)
		n, _ := sr.Read(buf)
		m, err := jsonrpc.Parse(tool.OneOf([]byte(strings.TrimSpace(string(buf[:n])))))
		if err != nil {
			t.Errorf("request: %v", err)
			return
		}
		// The answer in CR LF, keys in the order of the TypeScript SDK, no line end.
		_, _ = fmt.Fprintf(w, "{\"result\":{\"ok\":true},\"jsonrpc\":\"2.0\",\"id\":%s}\r\n", m.ID)
	})
	got, err := c.Call(t.Context(), &wire.Request{Method: "echo"})
	if err != nil || string(got.Join()) != `{"ok":true}` {
		t.Fatalf("got %s, %v", got.Join(), err)
	}
	if len(heads) != 10 {
		t.Errorf("%d lines reported as garbage, want 10:\n%s", len(heads), strings.Join(heads, "\n"))
	}
	if len(h.seen) != 1 || h.seen[0] != "log" {
		t.Errorf("notifications %q", h.seen)
	}
}

func TestStreamTooLarge(t *testing.T) {
	c, _ := pair(t, wire.StreamOptions{MaxMessage: 1 << 20}, wire.StreamOptions{Handler: &echo{}})
	for _, size := range []int{1<<20 + 1, 10 << 20} {
		_, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: []byte(`{"t":"` + strings.Repeat("x", size) + `"}`)})
		if _, ok := errors.AsType[*jsonrpc.TooLargeError](err); !ok {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
	if _, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: []byte(`{"fits":true}`)}); err != nil {
		t.Fatalf("a call after it: %v", err)
	}
}

func TestStreamManyAtOnce(t *testing.T) {
	c, _ := pair(t, wire.StreamOptions{}, wire.StreamOptions{Handler: &echo{}})
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 50 {
				want := fmt.Sprintf(`{"i":%d,"j":%d,"pad":%q}`, i, j, strings.Repeat("p", (i*j)%40_000))
				got, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: []byte(want)})
				if err != nil || string(got.Join()) != want {
					t.Errorf("call %d/%d: %v", i, j, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// served returns what a serving stream answers to lines that end at once. What
// waits goes on once there are so many answers.
func served(waiting int, lines ...string) []string {
	h := &echo{wait: make(chan struct{})}
	r, w := io.Pipe()
	in := strings.NewReader(strings.Join(lines, "\n") + "\n")
	s := wire.NewStream(wire.StreamOptions{R: in, W: w, Handler: h, Serving: true, Close: func() error { return nil }})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _ = s.Wait(); _ = w.Close() })
	var got []string
	for answers := bufio.NewScanner(r); answers.Scan(); {
		if got = append(got, answers.Text()); len(got) == waiting {
			close(h.wait)
		}
	}
	return got
}

// TestServingAnswersWhatWasAsked: input that ends right after its requests, as
// from a pipe, still gets its answers; and what is no message gets an error.
func TestServingAnswersWhatWasAsked(t *testing.T) {
	all := strings.Join(served(4, `{"jsonrpc":"2.0","id":1,"method":"wait","params":{"n":1}}`, `{{{`, `[]`, `{}`,
		`{"jsonrpc":"2.0","id":2,"method":"echo","params":{"n":2}}`), "\n")
	for _, want := range []string{`"id":1,"result":{"n":1}`, `"id":2,"result":{"n":2}`, `"id":null,"error":{"code":-32700`, `-32600,"message":"batches`, `-32600,"message":"not a JSON-RPC`} {
		if !strings.Contains(all, want) {
			t.Errorf("lacks %s:\n%s", want, all)
		}
	}
}

// TestServingUnreadableStrings: a request that no strict reader understands is refused,
// and nothing of it goes on.
func TestServingUnreadableStrings(t *testing.T) {
	all := strings.Join(served(9, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"\x22"}}`,
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":{\"a\":\"caf\xe9\"}}", `{"jsonrpc":"2.0","id":3,"method":"echo","params":{"a":"é"}}`), "\n")
	for _, want := range []string{`"id":1,"error":{"code":-32700`, `"id":2,"error":{"code":-32700`, `"id":3,"result":{"a":"é"}`} {
		if !strings.Contains(all, want) {
			t.Errorf("lacks %s:\n%s", want, all)
		}
	}
}

// TestTwoRequestsWithOneID: the second is refused, and the first is answered.
func TestTwoRequestsWithOneID(t *testing.T) {
	got := served(1, `{"jsonrpc":"2.0","id":7,"method":"wait","params":{"n":1}}`, `{"jsonrpc":"2.0","id":7,"method":"echo","params":{"n":2}}`)
	if len(got) != 2 || !strings.Contains(got[0], "the id 7 is running") || !strings.Contains(got[1], `"result":{"n":1}`) {
		t.Errorf("got %q", got)
	}
}
