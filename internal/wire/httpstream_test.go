package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// network is a server without a network, for tests in which time is not real.
// What it writes reaches the client at once.
type network func(w http.ResponseWriter, r *http.Request)

func (f network) client() *http.Client { return &http.Client{Transport: f} }

// RoundTrip implements http.RoundTripper.
func (f network) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // the client's stays as it is
	if r.Body == nil {
		r.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &pipeWriter{body: pw, header: http.Header{}, started: make(chan struct{})}
	untie := context.AfterFunc(r.Context(), func() { _ = pw.CloseWithError(context.Cause(r.Context())) })
	var wg sync.WaitGroup
	// The response ends with it: the client waits for that.
	wg.Go(func() {
		defer untie()
		defer func() {
			_ = pw.CloseWithError(map[bool]error{true: io.ErrUnexpectedEOF, false: nil}[recover() != nil])
		}()
		f(w, r)
		w.WriteHeader(http.StatusOK)
	})
	select {
	case <-w.started:
		return &http.Response{StatusCode: w.status, Header: w.sent, Body: pr, ContentLength: -1, Request: r}, nil
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
}

type pipeWriter struct {
	body         *io.PipeWriter
	header, sent http.Header
	status       int
	once         sync.Once
	started      chan struct{}
}

func (w *pipeWriter) Header() http.Header { return w.header }
func (w *pipeWriter) Flush()              { w.WriteHeader(http.StatusOK) }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// notes keeps the methods of what the server says, and answers its requests.
type notes struct {
	mu   sync.Mutex
	seen []string
	came chan string
}

func (n *notes) Request(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	if m.Method == "wait" {
		<-ctx.Done()
		return nil, jsonrpc.Errorf(1, "gone")
	}
	_ = x.Notify("notifications/progress", []byte(`{"progressToken":"theirs"}`))
	return tool.OneOf([]byte(`{"roots":[]}`)), nil
}

func (n *notes) Notification(_ *wire.Exchange, m *jsonrpc.Message) {
	n.mu.Lock()
	n.seen = append(n.seen, m.Method)
	n.mu.Unlock()
	if n.came != nil {
		n.came <- m.Method
	}
}

// TestHTTPConversation has a server that asks and notifies in the middle of an
// answer.
func TestHTTPConversation(t *testing.T) {
	posted := make(chan string, 8)
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		m := parseBody(t, r)
		if m.Method != "ask" {
			posted <- m.Method + string(m.ID) + string(m.Result.Join()) + string(m.Error.Join())
			w.WriteHeader(http.StatusAccepted)
			return
		}
		var token [1]jsonrpc.Span
		var meta [1]jsonrpc.Span
		_ = jsonrpc.Members(m.Params, []string{"_meta"}, meta[:])
		_ = jsonrpc.Members(meta[0].In(m.Params), []string{"progressToken"}, token[:])
		mine := string(token[0].In(meta[0].In(m.Params)).Join())
		eventChunks(
			`data: {"jsonrpc":"2.0","method":"one"}`+"\n\n",
			`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+mine+`,"progress":1}}`+"\n\n",
			`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":7}}`+"\n\n",
			`data: {"jsonrpc":"2.0","id":"p","method":"ping"}`+"\n\n",
		)(w, nil)
		if got := <-posted; got != `"p"{}` {
			t.Errorf("answer to ping: %s", got)
		}
		eventChunks(`data: {"jsonrpc":"2.0","id":7,"method":"roots/list"}`+"\n\n")(w, nil)
		if got := <-posted; got != `notifications/progress` {
			t.Errorf("progress of roots/list: %s", got)
		}
		if got := <-posted; got != `7{"roots":[]}` {
			t.Errorf("answer to roots/list: %s", got)
		}
		eventChunks(
			`data: {"jsonrpc":"2.0","id":8,"method":"wait"}`+"\n\n",
			`data: {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`+"\n\n",
			`data: {"jsonrpc":"2.0","method":"two"}`+"\n\n",
			`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`+mine+`,"progress":2}}`+"\n\n",
			"data: "+okAnswer+"\n\n",
		)(w, m.ID)
	})
	h := &notes{}
	c := dialHTTP(t, wire.HTTPOptions{URL: s.URL, Handler: h})
	var progress []string
	_, err := c.Call(t.Context(), &wire.Request{Method: "ask", Progress: func(p tool.Bytes) {
		progress = append(progress, string(p.Join()))
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.seen, " "); got != "one notifications/progress two" {
		t.Errorf("notifications %s", got)
	}
	if len(progress) != 2 || !strings.Contains(progress[1], `"progress":2`) {
		t.Errorf("progress %s", progress)
	}
	if len(posted) != 0 {
		t.Errorf("answered a canceled request: %s", <-posted)
	}
}

// TestHTTPNoHandler refuses what nobody takes, and answers ping.
func TestHTTPNoHandler(t *testing.T) {
	posted := make(chan string, 1)
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		m := parseBody(t, r)
		if m.Method == "" {
			posted <- string(m.ID) + string(m.Error.Join())
			return
		}
		eventChunks(`data: {"jsonrpc":"2.0","id":7,"method":"roots/list"}`+"\n\n")(w, nil)
		got := <-posted
		if !strings.HasPrefix(got, `7{"code":-32601,`) {
			t.Errorf("got %s", got)
		}
		eventChunks("data: "+okAnswer+"\n\n")(w, m.ID)
	})
	if _, err := dialHTTP(t, wire.HTTPOptions{URL: s.URL}).Call(t.Context(), &wire.Request{Method: "ask"}); err != nil {
		t.Fatal(err)
	}
}

// TestHTTPCancel gives up before the headers and in the middle of a stream. The
// server hears of it: by a notification before 2026-07-28, since then by the end
// of the response.
func TestHTTPCancel(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, streaming := range []bool{false, true} {
			t.Run(fmt.Sprint(version, streaming), func(t *testing.T) {
				reached, gone, canceled := make(chan string, 1), make(chan struct{}, 1), make(chan string, 1)
				s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
					m := parseBody(t, r)
					if m.Method == "notifications/cancelled" {
						canceled <- string(m.Params.Join())
						w.WriteHeader(http.StatusAccepted)
						return
					}
					if streaming {
						eventChunks(": wait\n\n")(w, nil)
					}
					reached <- string(m.ID)
					<-r.Context().Done()
					gone <- struct{}{}
				})
				c := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
				c.SetVersion(version)
				ctx, cancel := context.WithCancelCause(t.Context())
				errs := make(chan error, 1)
				var wg sync.WaitGroup
				defer wg.Wait()
				wg.Go(func() {
					_, err := c.Call(ctx, &wire.Request{Method: "wait"})
					errs <- err
				})
				id := <-reached
				cancel(io.ErrNoProgress)
				err := <-errs
				if !errors.Is(err, io.ErrNoProgress) || errors.As(err, new(*wire.SendError)) {
					t.Errorf("got %#v", err)
				}
				<-gone
				if err := c.Close(); err != nil { // waits for the notification
					t.Error(err)
				}
				select {
				case got := <-canceled:
					if want := `{"requestId":` + id + `,"reason":"` + io.ErrNoProgress.Error() + `"}`; got != want || era.Of(version) == era.Modern {
						t.Errorf("got %s, want %s", got, want)
					}
				default:
					if era.Of(version) != era.Modern {
						t.Error("no notification")
					}
				}
			})
		}
	}
}

// TestHTTPCancelInitialize says nothing to the server: initialize must not be
// canceled.
func TestHTTPCancelInitialize(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) {
		if m := parseBody(t, r); m.Method != "initialize" {
			t.Errorf("the server was told %s", m.Method)
		}
		cancel()
		<-r.Context().Done()
	})
	c := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
	if _, err := c.Call(ctx, &wire.Request{Method: "initialize"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestHTTPSession keeps the session of initialize, ends it, and notices that it
// is lost.
func TestHTTPSession(t *testing.T) {
	for _, c := range []struct {
		name string
		lost func(http.ResponseWriter, []byte)
	}{
		{"404", replyWith(404, "", "")},
		{"404 with an error", replyWith(404, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)},
		{"400", replyWith(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				m := parseBody(t, r)
				session := r.Header.Get("Mcp-Session-Id")
				switch {
				case m.Method == "initialize":
					w.Header().Set("Mcp-Session-Id", "s-1")
				case session != "s-1":
					t.Errorf("%s in session %q", m.Method, session)
				case m.Method == "lose":
					c.lost(w, m.ID)
					return
				case r.Method == http.MethodDelete:
					t.Error("a lost session was deleted")
				}
				replyWith(200, "application/json", okAnswer)(w, m.ID)
			})
			client := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
			for _, method := range []string{"initialize", "echo"} {
				if _, err := client.Call(t.Context(), &wire.Request{Method: method}); err != nil {
					t.Fatal(err)
				}
				client.SetVersion("2025-11-25")
			}
			if _, err := client.Call(t.Context(), &wire.Request{Method: "lose"}); !errors.Is(err, wire.ErrSessionLost) {
				t.Fatalf("got %v", err)
			}
			<-client.Done()
			if !errors.Is(client.Err(), wire.ErrSessionLost) {
				t.Errorf("ended by %v", client.Err())
			}
			_, err := client.Call(t.Context(), &wire.Request{Method: "echo"})
			if !errors.Is(err, wire.ErrSessionLost) || !errors.As(err, new(*wire.SendError)) {
				t.Errorf("later call: %v", err)
			}
		})
	}
}

// TestHTTPCloseBounded ends a session of a server that does not answer DELETE.
func TestHTTPCloseBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deleted := make(chan string, 1)
		n := network(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				deleted <- r.Header.Get("Mcp-Session-Id") + r.Header.Get("Mcp-Protocol-Version")
				<-r.Context().Done()
				return
			}
			w.Header().Set("Mcp-Session-Id", "s-1")
			replyWith(200, "application/json", okAnswer)(w, parseBody(t, r).ID)
		})
		c := wire.NewHTTP(wire.HTTPOptions{URL: "http://server", Client: n.client()})
		if _, err := c.Call(t.Context(), &wire.Request{Method: "initialize"}); err != nil {
			t.Fatal(err)
		}
		c.SetVersion("2025-06-18")
		began := time.Now()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d > 3*time.Second {
			t.Errorf("Close took %v", d)
		}
		if got := <-deleted; got != "s-12025-06-18" {
			t.Errorf("deleted %q", got)
		}
	})
}
