package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/bench/client"
	"github.com/tenon-mcp/tenon/bench/upstream"
)

// TestMain runs the benchmark's upstream instead of the tests where a test
// starts this binary as a server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "upstream" {
		if err := upstream.Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serve returns the endpoint of a handler.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// dial begins a session that ends with the test.
func dial(t *testing.T, url string) *client.Session {
	t.Helper()
	s, err := client.DialHTTP(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// asEvents answers as next does, but with a stream that has other messages
// before the answer, and with a session that later requests must name.
func asEvents(t *testing.T, next http.Handler, ended *atomic.Int32) http.Handler {
	t.Helper()
	const session = "s-1"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			if r.Header.Get("Mcp-Session-Id") == session {
				ended.Add(1)
			}
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		first := strings.Contains(string(body), `"initialize"`)
		if !first && (r.Header.Get("Mcp-Session-Id") != session || r.Header.Get("Mcp-Protocol-Version") == "") {
			http.Error(w, "which session?", http.StatusBadRequest)
			return
		}
		answer := httptest.NewRecorder()
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(answer, r)
		if answer.Code != http.StatusOK {
			w.WriteHeader(answer.Code)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("Mcp-Session-Id", session)
		fmt.Fprint(w, "id: 0\ndata:\n\n: a comment\n\nevent: message\ndata: {\"method\":\"notifications/progress\"}\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "event: message\r\nid: 2\r\ndata: %s\r\n\r\n", answer.Body)
		fmt.Fprint(w, "data: {\"method\":\"notifications/late\"}\n\n")
	})
}

func TestSession(t *testing.T) {
	t.Parallel()
	plain := upstream.New(upstream.Options{Tools: 3})
	var ended atomic.Int32
	start := map[string]func(t *testing.T) *client.Session{
		"JSON":   func(t *testing.T) *client.Session { t.Helper(); return dial(t, serve(t, plain)) },
		"events": func(t *testing.T) *client.Session { t.Helper(); return dial(t, serve(t, asEvents(t, plain, &ended))) },
		"stdio": func(t *testing.T) *client.Session {
			t.Helper()
			// The test's own context ends before its clean-up, and would kill the server.
			s, err := client.StartStdio(context.WithoutCancel(t.Context()), []string{os.Args[0], "upstream", "-tools", "3"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			return s
		},
	}
	for name, start := range start {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			list, err := s.List()
			if err != nil || len(list.Names) != 5 {
				t.Fatalf("List = %v, %v; want 5 tools", list, err)
			}
			var a client.Answer
			echo := s.Prepare("tools/call", `{"name":"echo","arguments":{"text":"hello"}}`)
			for range 3 {
				if err := s.Do(echo, &a); err != nil || !a.Whole() || !a.Holds([]byte(`"text":"hello"`)) {
					t.Fatalf("echo: %q, %v", a.Head, err)
				}
			}
			const size = 1 << 20
			payload := fmt.Sprintf(`{"name":"payload","arguments":{"size":%d}}`, size)
			if err := s.Do(s.Prepare("tools/call", payload), &a); err != nil || a.Whole() || a.Size < size || len(a.Head) != client.KeepHead {
				t.Errorf("payload: %d bytes, %d kept, %v", a.Size, len(a.Head), err)
			}
			raw, err := s.Ask("tools/call", payload)
			if want := fmt.Sprintf(`{"content":[{"type":"text","text":"%s"}]}`, upstream.Text(size)); err != nil || string(raw) != want {
				t.Errorf("payload is not whole: %.200s, %v", raw, err)
			}
			if err := s.Do(s.Prepare("resources/list", `{}`), &a); err == nil {
				t.Errorf("an error was taken for an answer: %s", a.Head)
			}
			if err := s.Do(echo, &a); err != nil {
				t.Errorf("the session did not live on: %v", err)
			}
		})
	}
	t.Run("sessions are ended", func(t *testing.T) {
		if ended.Load() != 1 {
			t.Errorf("%d sessions ended by DELETE, want 1", ended.Load())
		}
	})
}

func TestListFollowsPages(t *testing.T) {
	t.Parallel()
	plain := upstream.New(upstream.Options{})
	s := dial(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m, _ := upstream.Scan(body)
		switch {
		case string(m.Method) != "tools/list":
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			plain.ServeHTTP(w, r)
		case strings.Contains(string(m.Params), `"a\"b"`):
			fmt.Fprintf(w, `{"id":%s,"result":{"tools":[{"name":"two"}]}}`, m.ID)
		default:
			fmt.Fprintf(w, `{"id":%s,"result":{"tools":[{"name":"one"}],"nextCursor":"a\"b"}}`, m.ID)
		}
	})))
	l, err := s.List()
	if err != nil || fmt.Sprint(l.Names, len(l.Pages)) != "[one two] 2" {
		t.Errorf("List = %+v, %v", l, err)
	}
}

func TestAnswerToAnotherRequest(t *testing.T) {
	t.Parallel()
	plain := upstream.New(upstream.Options{})
	s := dial(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(strings.Replace(string(body), `"id":100000002`, `"id":100000001`, 1)))
		plain.ServeHTTP(w, r)
	})))
	var a client.Answer
	if err := s.Do(s.Prepare("ping", `{}`), &a); !errors.Is(err, client.ErrNoAnswer) {
		t.Errorf("Do = %v, want ErrNoAnswer; answer %s", err, a.Head)
	}
}

func TestClosedConnectionIsBroken(t *testing.T) {
	t.Parallel()
	plain := upstream.New(upstream.Options{})
	s := dial(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "ping") {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		plain.ServeHTTP(w, r)
	})))
	var a client.Answer
	if err := s.Do(s.Prepare("tools/call", `{"name":"none"}`), &a); err == nil || errors.Is(err, client.ErrBroken) {
		t.Errorf("refused call: %v, want an error, but not of the connection", err)
	}
	if err := s.Do(s.Prepare("ping", `{}`), &a); !errors.Is(err, client.ErrBroken) {
		t.Errorf("cut off: %v, want ErrBroken", err)
	}
	s = dial(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "tools/list") {
			w.Header().Set("Connection", "close")
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		plain.ServeHTTP(w, r)
	})))
	if err := s.Do(s.Prepare("tools/list", `{}`), &a); err != nil {
		t.Errorf("last answer: %v", err)
	}
	if err := s.Do(s.Prepare("ping", `{}`), &a); !errors.Is(err, client.ErrBroken) {
		t.Errorf("closed: %v, want ErrBroken", err)
	}
}

func TestHTTPError(t *testing.T) {
	t.Parallel()
	_, err := client.DialHTTP(t.Context(), serve(t, http.NotFoundHandler()))
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("DialHTTP = %v, want the status", err)
	}
}

func TestDialEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	url := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel(over)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // never answers
	}))
	if _, err := client.DialHTTP(ctx, url); !errors.Is(err, over) {
		t.Errorf("DialHTTP = %v, want the context's cause", err)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	if got, err := client.Status(t.Context(), url); err != nil || got != http.StatusTeapot {
		t.Errorf("Status = %d, %v", got, err)
	}
}
