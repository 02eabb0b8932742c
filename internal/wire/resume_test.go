package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// A script is a server: what it does with the requests it gets, in order.
type script struct {
	t     *testing.T
	steps []func(w http.ResponseWriter, id []byte)
	began time.Time

	mu  sync.Mutex
	log []string // method and Last-Event-ID of each request, and when it came
	id  []byte   // of the last POST
}

func (s *script) client(o wire.HTTPOptions) *wire.HTTP {
	s.began = time.Now()
	o.URL = "http://server/mcp"
	o.Client = network(func(w http.ResponseWriter, r *http.Request) {
		step, id := s.next(r)
		step(w, id)
	}).client()
	return wire.NewHTTP(o)
}

func (s *script) next(r *http.Request) (step func(http.ResponseWriter, []byte), id []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPost {
		s.id = parseBody(s.t, r).ID
	}
	n := len(s.log)
	s.log = append(s.log, fmt.Sprintf("%s%s@%v", r.Method, r.Header.Get("Last-Event-Id"), time.Since(s.began)))
	if n >= len(s.steps) {
		return func(http.ResponseWriter, []byte) { <-r.Context().Done() }, nil
	}
	return s.steps[n], s.id
}

// requests returns what was asked.
func (s *script) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, " ")
}

func abort(http.ResponseWriter, []byte) { panic(http.ErrAbortHandler) }

// inOrder makes one step of several.
func inOrder(steps ...func(http.ResponseWriter, []byte)) func(http.ResponseWriter, []byte) {
	return func(w http.ResponseWriter, id []byte) {
		for _, f := range steps {
			f(w, id)
		}
	}
}

// TestHTTPResume goes on with a stream that ended before its answer.
func TestHTTPResume(t *testing.T) {
	primed := eventChunks("id: e1\nretry: 500\ndata: \n\n")
	done := eventChunks("id: e9\ndata: " + okAnswer + "\n\n")
	for _, c := range []struct {
		name  string
		steps []func(http.ResponseWriter, []byte)
		log   string
		want  string // of the error
	}{
		{"once", []func(http.ResponseWriter, []byte){primed, done}, "POST@0s GETe1@500ms", ""},
		{"after a broken stream", []func(http.ResponseWriter, []byte){inOrder(primed, abort), done}, "POST@0s GETe1@500ms", ""},
		{"without retry", []func(http.ResponseWriter, []byte){eventChunks("id: a\ndata:\n\n"), done}, "POST@0s GETa@1s", ""},
		{"after a half event", []func(http.ResponseWriter, []byte){
			inOrder(eventChunks("id: a\ndata:\n\nid: b\ndata: {\"js"), abort), done,
		}, "POST@0s GETa@1s", ""},
		{"polling", []func(http.ResponseWriter, []byte){
			primed, eventChunks("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"), eventChunks("id: e3\nretry: 7\ndata: \n\n"), done,
		}, "POST@0s GETe1@500ms GETe2@1s GETe3@1.007s", ""},
		{"long polling", []func(http.ResponseWriter, []byte){
			primed, primed, primed, primed, primed, primed, primed, primed, done,
		}, "POST@0s GETe1@500ms GETe1@1s GETe1@1.5s GETe1@2s GETe1@2.5s GETe1@3s GETe1@3.5s GETe1@4s", ""},
		{"over failures", []func(http.ResponseWriter, []byte){
			primed, replyWith(503, "", "starting"), replyWith(429, "", ""), done,
		}, "POST@0s GETe1@500ms GETe1@1s GETe1@1.5s", ""},
		{"no id", []func(http.ResponseWriter, []byte){eventChunks("retry: 5\ndata: \n\n")}, "POST@0s", "its answer is lost"},
		{"refused", []func(http.ResponseWriter, []byte){primed, replyWith(405, "", "")}, "POST@0s GETe1@500ms", "its answer is lost: server answered 405"},
		{"no stream", []func(http.ResponseWriter, []byte){primed, replyWith(200, "text/html", "x")}, "POST@0s GETe1@500ms", "no event stream"},
		{
			"for ever",
			[]func(http.ResponseWriter, []byte){primed, eventChunks(), eventChunks(), eventChunks(), eventChunks(), eventChunks()},
			"POST@0s GETe1@500ms GETe1@1s GETe1@1.5s GETe1@2s GETe1@2.5s", "its answer is lost",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{t: t, steps: c.steps}
				client := s.client(wire.HTTPOptions{})
				got, err := client.Call(t.Context(), &wire.Request{Method: "x"})
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				switch {
				case c.want == "" && (err != nil || string(got.Join()) != `{"ok":1}`):
					t.Errorf("got %s, %v", got.Join(), err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("got %v, want %q", err, c.want)
				}
				if got := s.requests(); got != c.log {
					t.Errorf("requests %s, want %s", got, c.log)
				}
			})
		})
	}
}

// TestHTTPResumeHasty slows down a server that wants to be asked without end.
func TestHTTPResumeHasty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t}
		for range 1000 {
			s.steps = append(s.steps, eventChunks("id: e\nretry: 0\ndata:\n\n"))
		}
		c := s.client(wire.HTTPOptions{})
		defer c.Close()
		if _, err := callFor(t, c, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if n := strings.Count(s.requests(), "GET"); n < 60 || n > 150 {
			t.Errorf("asked %d times in a minute", n)
		}
	})
}

// TestHTTPLateProgress has progress come on another stream than the answer. It
// is not told after the call has returned.
func TestHTTPLateProgress(t *testing.T) {
	told, answered := make(chan struct{}), make(chan struct{})
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		m := parseBody(t, r)
		switch {
		case r.Method == http.MethodGet:
			eventChunks(": hi\n\n")(w, nil)
			<-told
			eventChunks("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1}}\n\n")(w, nil)
			<-r.Context().Done()
		case m.IsNotification():
			w.WriteHeader(http.StatusAccepted)
		default:
			told <- struct{}{}
			<-told
			replyWith(200, "application/json", okAnswer)(w, m.ID)
			close(answered)
		}
	})
	c := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
	if err := c.Notify(t.Context(), "notifications/initialized", nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	_, err := c.Call(t.Context(), &wire.Request{Method: "x", Progress: func(tool.Bytes) {
		told <- struct{}{}
		<-answered
		runtime.Gosched()
		n++
	}})
	if err != nil || n != 1 {
		t.Errorf("told %d times, %v", n, err)
	}
}

// TestHTTPResumeSessionLost must not say that the call was not carried out.
func TestHTTPResumeSessionLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, steps: []func(http.ResponseWriter, []byte){
			func(w http.ResponseWriter, id []byte) {
				w.Header().Set("Mcp-Session-Id", "s")
				replyWith(200, "application/json", okAnswer)(w, id)
			},
			eventChunks("id: e1\nretry: 5\ndata:\n\n"),
			replyWith(404, "", ""),
		}}
		c := s.client(wire.HTTPOptions{})
		defer c.Close()
		if _, err := c.Call(t.Context(), &wire.Request{Method: "initialize"}); err != nil {
			t.Fatal(err)
		}
		_, err := c.Call(t.Context(), &wire.Request{Method: "x"})
		if err == nil || errors.Is(err, wire.ErrSessionLost) || !strings.Contains(err.Error(), "its answer is lost") {
			t.Errorf("got %v", err)
		}
		if !errors.Is(c.Err(), wire.ErrSessionLost) {
			t.Errorf("ended by %v", c.Err())
		}
	})
}

// TestHTTPListen hears what the server says by itself, across broken streams.
func TestHTTPListen(t *testing.T) {
	note := func(id, method string) func(http.ResponseWriter, []byte) {
		return eventChunks("id: " + id + "\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"" + method + "\"}\n\n")
	}
	accept := replyWith(202, "", "")
	for _, c := range []struct {
		name  string
		steps []func(http.ResponseWriter, []byte)
		notes string
		log   string
	}{
		{
			"reconnects",
			[]func(http.ResponseWriter, []byte){
				accept, note("1", "a"), eventChunks(), inOrder(eventChunks("retry: 250\n"), note("2", "b"), abort), replyWith(503, "", ""), note("3", "c"),
			},
			"a b c", "POST@0s GET@0s GET1@1s GET1@3s GET2@3.25s GET2@3.5s GET3@3.75s",
		},
		{"not there", []func(http.ResponseWriter, []byte){accept, replyWith(405, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method not allowed."}}`)}, "", "POST@0s GET@0s"},
		{"a page", []func(http.ResponseWriter, []byte){accept, replyWith(200, "text/html", "hello")}, "", "POST@0s GET@0s"},
		{"broken from the start", []func(http.ResponseWriter, []byte){accept, replyWith(500, "", "")}, "", "POST@0s GET@0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{t: t, steps: c.steps}
				h := &notes{}
				client := s.client(wire.HTTPOptions{Handler: h})
				client.SetVersion("2025-11-25")
				if err := client.Notify(t.Context(), "notifications/initialized", nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if err := client.Close(); err != nil {
					t.Error(err)
				}
				if got := strings.Join(h.seen, " "); got != c.notes {
					t.Errorf("heard %q, want %q", got, c.notes)
				}
				if got := s.requests(); got != c.log {
					t.Errorf("requests %s, want %s", got, c.log)
				}
			})
		})
	}
}

// TestHTTPListenSessionLost ends the client when its stream cannot be opened
// again, since the server has forgotten the session.
func TestHTTPListenSessionLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, steps: []func(http.ResponseWriter, []byte){
			func(w http.ResponseWriter, id []byte) {
				w.Header().Set("Mcp-Session-Id", "s")
				replyWith(200, "application/json", okAnswer)(w, id)
			},
			replyWith(202, "", ""), eventChunks(": hello\n\n"), replyWith(404, "", ""),
		}}
		c := s.client(wire.HTTPOptions{})
		defer c.Close()
		if _, err := c.Call(t.Context(), &wire.Request{Method: "initialize"}); err != nil {
			t.Fatal(err)
		}
		if err := c.Notify(t.Context(), "notifications/initialized", nil); err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		if !errors.Is(c.Err(), wire.ErrSessionLost) {
			t.Errorf("ended by %v", c.Err())
		}
	})
}

// TestHTTPStreamStaysOpen has a server that does not end its stream after the
// answer. The caller does not wait for that, and its context may end.
func TestHTTPStreamStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		began := time.Now()
		n := network(func(w http.ResponseWriter, r *http.Request) {
			eventChunks("data: "+okAnswer+"\n\n")(w, parseBody(t, r).ID)
			<-r.Context().Done()
			ended.Store(int64(time.Since(began)))
		})
		c := wire.NewHTTP(wire.HTTPOptions{URL: "http://server", Client: n.client()})
		if _, err := c.Call(t.Context(), &wire.Request{Method: "x"}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("the answer took %v", d)
		}
		synctest.Wait()
		if ended.Load() != 0 {
			t.Error("the stream was broken off at once")
		}
		time.Sleep(10 * time.Second)
		if d := time.Duration(ended.Load()); d == 0 || d > 2*time.Second {
			t.Errorf("the stream was closed after %v", d)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestHTTPConnectionReused calls a server that streams its answers, with a
// context that ends with each call, over few connections.
func TestHTTPConnectionReused(t *testing.T) {
	var mu sync.Mutex
	conns := map[string]bool{}
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		conns[r.RemoteAddr] = true
		mu.Unlock()
		eventChunks("data: "+okAnswer+"\n\n")(w, parseBody(t, r).ID)
	})
	c := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
	for range 50 {
		if _, err := callFor(t, c, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(conns) > 10 {
		t.Errorf("%d connections for 50 calls", len(conns))
	}
}

// callFor calls with a deadline.
func callFor(t *testing.T, c wire.Client, d time.Duration) (tool.Bytes, error) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return c.Call(ctx, &wire.Request{Method: "x"})
}
