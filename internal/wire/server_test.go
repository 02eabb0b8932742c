package wire_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// startServer starts a server whose sessions are answered by h.
func startServer(t *testing.T, h wire.Handler) (*wire.Server, string) {
	t.Helper()
	srv := wire.NewServer(wire.ServerOptions{
		Stateless: h,
		Modern:    func(h http.Header, _ *jsonrpc.Message) bool { return h.Get(wire.HeaderVersion) >= "2026" },
		Open:      func(*wire.Session) wire.Handler { return h },
		MaxBody:   1 << 20,
	})
	ts := httptest.NewServer(srv)
	t.Cleanup(func() { _ = srv.Close(); ts.Close() })
	return srv, ts.URL
}

type reply struct {
	status int
	header http.Header
	body   string
}

func do(t *testing.T, ctx context.Context, method, url, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

func initialize(t *testing.T, url string) (session string) {
	t.Helper()
	r := do(t, t.Context(), "POST", url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"v":1}}`)
	if r.status != 200 || r.body != `{"jsonrpc":"2.0","id":1,"result":{"v":1}}` {
		t.Fatalf("initialize: %+v", r)
	}
	if r.header.Get(wire.HeaderSession) == "" {
		t.Fatal("initialize gave no session")
	}
	return r.header.Get(wire.HeaderSession)
}

func TestServerLegacy(t *testing.T) {
	_, url := startServer(t, &echo{})
	session := initialize(t, url)
	for _, c := range []struct {
		name, method, body string
		header             []string
		status             int
		want               string
	}{
		{"call", "POST", `{"jsonrpc":"2.0","id":"a","method":"echo","params":{"n":9007199254740993}}`, []string{wire.HeaderSession, session}, 200, `{"jsonrpc":"2.0","id":"a","result":{"n":9007199254740993}}`},
		{"error", "POST", `{"jsonrpc":"2.0","id":2,"method":"fail"}`, []string{wire.HeaderSession, session}, 200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32099,"message":"no luck"}}`},
		{"notification", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, []string{wire.HeaderSession, session}, 202, ``},
		{"notification without its session", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ``},
		{"no session", "POST", `{"jsonrpc":"2.0","id":2,"method":"echo"}`, nil, 400, `Mcp-Session-Id is missing`},
		{"unknown session", "POST", `{"jsonrpc":"2.0","id":2,"method":"echo"}`, []string{wire.HeaderSession, "x"}, 404, `session not found`},
		{"no JSON", "POST", `{"jsonrpc":`, []string{wire.HeaderSession, session}, 400, `-32700`},
		{"no message", "POST", `{"id":1,"method":"echo"}`, []string{wire.HeaderSession, session}, 400, `-32600`},
		{"id is null", "POST", `{"jsonrpc":"2.0","id":null,"method":"echo"}`, []string{wire.HeaderSession, session}, 400, `must not be null`},
		{"batch", "POST", `[]`, []string{wire.HeaderSession, session}, 400, `batches were removed`},
		{"line end in a string", "POST", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":{\"a\":\"b\nc\"}}", []string{wire.HeaderSession, session}, 400, `-32700`},
		{"no escape", "POST", `{"jsonrpc":"2.0","id":2,"method":"echo","params":{"a":"\x22"}}`, []string{wire.HeaderSession, session}, 400, `-32700`},
		{"no UTF-8", "POST", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"echo\",\"params\":{\"a\":\"caf\xe9\"}}", []string{wire.HeaderSession, session}, 400, `is no UTF-8`},
		{"too large", "POST", `{"jsonrpc":"2.0","id":2,"method":"echo","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`, []string{wire.HeaderSession, session}, 413, `1 MiB`},
		{"form", "POST", `{}`, []string{"Content-Type", "text/plain"}, 415, `application/json`},
		{"stream without session", "GET", ``, nil, 405, ``},
		{"stream of no session", "GET", ``, []string{wire.HeaderSession, "x"}, 404, ``},
		{"put", "PUT", ``, nil, 405, ``},
		{"stateless", "POST", `{"jsonrpc":"2.0","id":3,"method":"echo","params":{}}`, []string{wire.HeaderVersion, "2026-07-28"}, 200, `{"jsonrpc":"2.0","id":3,"result":{}}`},
		{"end", "DELETE", ``, []string{wire.HeaderSession, session}, 204, ``},
		{"after the end", "POST", `{"jsonrpc":"2.0","id":2,"method":"echo"}`, []string{wire.HeaderSession, session}, 404, `session not found`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := do(t, t.Context(), c.method, url, c.body, c.header...)
			if r.status != c.status || !strings.Contains(r.body, c.want) {
				t.Errorf("got %d %.200s, want %d %s", r.status, r.body, c.status, c.want)
			}
		})
	}
}

func TestServerProgressMakesAStream(t *testing.T) {
	_, url := startServer(t, &echo{})
	r := do(t, t.Context(), "POST", url, `{"jsonrpc":"2.0","id":3,"method":"progress","params":{"_meta":{"progressToken":"p"}}}`, wire.HeaderVersion, "2026-07-28")
	if got := r.header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q", got)
	}
	var got []string
	for l := range strings.Lines(r.body) {
		if data, ok := strings.CutPrefix(l, "data: "); ok {
			got = append(got, strings.TrimSpace(data))
		}
	}
	if len(got) != 4 || !strings.Contains(got[0], `"progressToken":"p","progress":0`) || !strings.HasPrefix(got[3], `{"jsonrpc":"2.0","id":3,"result":`) {
		t.Fatalf("events %q", got)
	}
}

// TestServerCancel: a legacy client cancels with a notification, and a
// connection that breaks is no cancellation; a modern one closes its stream.
func TestServerCancel(t *testing.T) {
	entered, canceled := make(chan struct{}), make(chan struct{})
	h := handlerFunc(func(ctx context.Context, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
		if m.Method == "wait" {
			entered <- struct{}{}
			<-ctx.Done()
			canceled <- struct{}{}
		}
		return m.Params, nil
	})
	_, url := startServer(t, h)
	r := do(t, t.Context(), "POST", url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	session := r.header.Get(wire.HeaderSession)

	var wg sync.WaitGroup
	post := func(ctx context.Context, header ...string) {
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, "POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"wait","params":{}}`))
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set(header[0], header[1])
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	post(ctx, wire.HeaderSession, session)
	<-entered
	cancel() // the connection breaks
	wg.Wait()
	select {
	case <-canceled:
		t.Fatal("a broken connection canceled a legacy call")
	default:
	}
	do(t, t.Context(), "POST", url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, wire.HeaderSession, session)
	<-canceled

	ctx, cancel = context.WithCancel(t.Context())
	post(ctx, wire.HeaderVersion, "2026-07-28")
	<-entered
	cancel()
	<-canceled
	wg.Wait()
}

type handlerFunc func(ctx context.Context, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error)

func (f handlerFunc) Request(ctx context.Context, _ *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	return f(ctx, m)
}
func (f handlerFunc) Notification(*wire.Exchange, *jsonrpc.Message) {}

func TestServerSessionStream(t *testing.T) {
	srv, url := startServer(t, &echo{})
	session := initialize(t, url)
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	req.Header.Set(wire.HeaderSession, session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	told := 0
	for told == 0 { // the response comes before the stream is registered
		srv.Sessions(func(s *wire.Session) {
			if s.Notify("notifications/tools/list_changed", nil) == nil {
				told++
			}
		})
	}
	buf := make([]byte, 200)
	n, err := res.Body.Read(buf)
	if err != nil || !strings.Contains(string(buf[:n]), `"method":"notifications/tools/list_changed"`) {
		t.Fatalf("got %q, %v", buf[:n], err)
	}
	do(t, t.Context(), "DELETE", url, "", wire.HeaderSession, session)
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Fatalf("stream did not end with its session: %v", err)
	}
}

func TestPrepend(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":1}`, `{"k":true,"a":1}`},
		{` { } `, `{"k":true } `},
		{`{}`, `{"k":true}`},
	} {
		for cut := range len(c.in) + 1 {
			got := jsonrpc.Prepend(tool.Bytes{[]byte(c.in[:cut]), []byte(c.in[cut:])}, jsonrpc.Field{Key: "k", Value: []byte("true")})
			if !json.Valid(got.Join()) || strings.TrimSpace(string(got.Join())) != strings.TrimSpace(c.want) {
				t.Errorf("Prepend(%q cut at %d) = %q, want %q", c.in, cut, got.Join(), c.want)
			}
		}
	}
}

func BenchmarkServerCall(b *testing.B) {
	for _, size := range []int{32, 32 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			srv := wire.NewServer(wire.ServerOptions{
				Stateless: &echo{}, Modern: func(http.Header, *jsonrpc.Message) bool { return true },
				Open: func(*wire.Session) wire.Handler { return &echo{} },
			})
			defer srv.Close()
			body := `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"t":"` + strings.Repeat("x", size) + `"}}`
			b.ReportAllocs()
			for b.Loop() {
				req := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				srv.ServeHTTP(httptest.NewRecorder(), req)
			}
		})
	}
}
