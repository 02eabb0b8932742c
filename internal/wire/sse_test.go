package wire_test

import (
	"context"
	"errors"
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

// An oldServer speaks the transport of 2024-11-05, to one client.
type oldServer struct {
	*httptest.Server
	endpoint string
	events   chan string   // what goes onto the stream
	end      chan struct{} // ends it
	post     func(s *oldServer, w http.ResponseWriter, m *jsonrpc.Message)
}

func newOldServer(t *testing.T, endpoint string, post func(*oldServer, http.ResponseWriter, *jsonrpc.Message)) *oldServer {
	s := &oldServer{endpoint: endpoint, events: make(chan string, 100), end: make(chan struct{}), post: post}
	s.Server = serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			t.Error("header is missing")
		}
		if r.Method == http.MethodPost {
			if r.URL.Path != "/messages" || r.URL.RawQuery != "sessionId=1" {
				t.Errorf("posted to %s", r.URL)
			}
			s.post(s, w, parseBody(t, r))
			return
		}
		eventChunks(": hi\n\nevent: endpoint\r\ndata: "+strings.ReplaceAll(s.endpoint, "ORIGIN", s.URL)+"\r\n\r\n")(w, nil)
		for {
			select {
			case e := <-s.events:
				eventChunks("event: message\ndata: "+e+"\n\n")(w, nil)
			case <-s.end:
				return
			case <-r.Context().Done():
				return
			}
		}
	})
	return s
}

func (s *oldServer) dial(t *testing.T, o wire.HTTPOptions) *wire.SSE {
	t.Helper()
	o.URL = s.URL + "/sse?key=1"
	o.Header = http.Header{"Authorization": {"Bearer t0ken"}}
	c, err := wire.NewSSE(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// onStream answers each request on the stream.
func onStream(s *oldServer, w http.ResponseWriter, m *jsonrpc.Message) {
	if m.IsRequest() {
		s.events <- answerText(m.ID, string(m.Params.Join()))
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, "Accepted")
}

// directly answers each request in the response, as some servers do.
func directly(_ *oldServer, w http.ResponseWriter, m *jsonrpc.Message) {
	replyWith(200, "application/json", answerText(m.ID, string(m.Params.Join())))(w, m.ID)
}

// hollow answers the post with JSON that is no message.
func hollow(s *oldServer, w http.ResponseWriter, m *jsonrpc.Message) {
	s.events <- answerText(append(append([]byte{'"'}, m.ID...), '"'), string(m.Params.Join()))
	replyWith(200, "application/json", `{"status":"ok"}`)(w, m.ID)
}

func TestSSECall(t *testing.T) {
	for name, post := range map[string]func(*oldServer, http.ResponseWriter, *jsonrpc.Message){
		"on the stream": onStream, "directly": directly, "hollow": hollow,
	} {
		for _, endpoint := range []string{"/messages?sessionId=1", "messages?sessionId=1", "ORIGIN/messages?sessionId=1"} {
			t.Run(name+" "+endpoint, func(t *testing.T) {
				c := newOldServer(t, endpoint, post).dial(t, wire.HTTPOptions{})
				var wg sync.WaitGroup
				for i := range 32 {
					wg.Go(func() {
						want := fmt.Sprintf(`{"i":%d,"pad":%q}`, i, strings.Repeat("p", i*1000))
						got, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: []byte(want)})
						if err != nil || string(got.Join()) != want {
							t.Errorf("got %.80s, %v", got.Join(), err)
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// TestSSEConnect refuses what is no server of this kind, and one that sends
// headers elsewhere.
func TestSSEConnect(t *testing.T) {
	wait := func(w http.ResponseWriter, r *http.Request) {
		eventChunks(": wait\n\n")(w, nil)
		<-r.Context().Done()
	}
	plain := func(f func(http.ResponseWriter, []byte)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { f(w, nil) }
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"foreign endpoint", plain(eventChunks("event: endpoint\ndata: http://other.example/x?s3cret\n\n")), "another origin, http://other.example"},
		{"foreign port", plain(eventChunks("event: endpoint\ndata: http://127.0.0.1:1/x\n\n")), "another origin"},
		{"foreign without scheme", plain(eventChunks("event: endpoint\ndata: //other.example/x\n\n")), "another origin"},
		{"no URL", plain(eventChunks("event: endpoint\ndata: http://[s3cret\n\n")), "no URL"},
		{"long endpoint", plain(eventChunks("event: endpoint\ndata: /" + strings.Repeat("x", 10_000) + "\n\n")), "too long"},
		{"no endpoint", plain(eventChunks(strings.Repeat("data: {}\n\n", 100))), "does not begin with an endpoint"},
		{"ended", plain(eventChunks(": hi\n\n")), "ended before the endpoint event"},
		{"not there", plain(replyWith(405, "", "")), "405 Method Not Allowed"},
		{"a page", plain(replyWith(200, "text/html", "<title>s3cret</title>")), "no event stream"},
		{"silent", wait, "no progress"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reached := make(chan struct{}, 1)
			s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				reached <- struct{}{}
				c.handler(w, r)
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.name == "silent" {
				var wg sync.WaitGroup
				defer wg.Wait()
				wg.Go(func() {
					<-reached
					cancel(io.ErrNoProgress)
				})
			}
			_, err := wire.NewSSE(ctx, wire.HTTPOptions{URL: s.URL + "/sse"})
			if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(strings.ReplaceAll(err.Error(), io.ErrNoProgress.Error(), "no progress"), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if _, err := wire.NewSSE(t.Context(), wire.HTTPOptions{URL: gone.URL}); !errors.As(err, new(*wire.SendError)) {
		t.Errorf("no server: %#v", err)
	}
	if _, err := wire.NewSSE(t.Context(), wire.HTTPOptions{URL: "s3cret"}); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("no URL: %v", err)
	}
}

// TestSSEConversation has a server that asks, notifies and reports progress.
func TestSSEConversation(t *testing.T) {
	posted := make(chan string, 8)
	s := newOldServer(t, "/messages?sessionId=1", func(s *oldServer, w http.ResponseWriter, m *jsonrpc.Message) {
		w.WriteHeader(http.StatusAccepted)
		if m.Method != "ask" {
			posted <- m.Method + string(m.ID) + string(m.Result.Join())
			return
		}
		s.events <- `oh, a line of the log`
		s.events <- `{"jsonrpc":"2.0","method":"one"}`
		s.events <- `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(m.ID) + `}}`
		s.events <- `{"jsonrpc":"2.0","id":999,"result":{}}`
		s.events <- `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`
	})
	h := &notes{}
	garbage := 0
	c := s.dial(t, wire.HTTPOptions{Handler: h, Garbage: func([]byte, error) { garbage++ }})
	progress := 0
	errs := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, err := c.Call(t.Context(), &wire.Request{Method: "ask", Progress: func(tool.Bytes) { progress++ }})
		errs <- err
	})
	if got := <-posted; got != "notifications/progress" {
		t.Errorf("got %s", got)
	}
	if got := <-posted; got != `"r"{"roots":[]}` {
		t.Errorf("got %s", got)
	}
	s.events <- `{"jsonrpc":"2.0","id":1,"error":{"code":-9,"message":"no"}}`
	if err := <-errs; !isCode(-9)(err) {
		t.Errorf("got %v", err)
	}
	if err := c.Notify(t.Context(), "hello", nil); err != nil || <-posted != "hello" {
		t.Errorf("notification: %v", err)
	}
	if progress != 1 || garbage != 1 || strings.Join(h.seen, " ") != "one" {
		t.Errorf("progress %d, garbage %d, notifications %s", progress, garbage, h.seen)
	}
}

func TestSSECancel(t *testing.T) {
	reached, canceled := make(chan struct{}), make(chan string, 1)
	s := newOldServer(t, "/messages?sessionId=1", func(_ *oldServer, w http.ResponseWriter, m *jsonrpc.Message) {
		w.WriteHeader(http.StatusAccepted)
		if m.Method == "notifications/cancelled" {
			canceled <- string(m.Params.Join())
			return
		}
		close(reached)
	})
	c := s.dial(t, wire.HTTPOptions{})
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		<-reached
		cancel(io.ErrNoProgress)
	})
	if _, err := c.Call(ctx, &wire.Request{Method: "wait"}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
	if got := <-canceled; !strings.HasPrefix(got, `{"requestId":1,`) {
		t.Errorf("got %s", got)
	}
}

// TestSSEEnded loses the stream with a call in flight.
func TestSSEEnded(t *testing.T) {
	s := newOldServer(t, "/messages?sessionId=1", func(s *oldServer, w http.ResponseWriter, _ *jsonrpc.Message) {
		w.WriteHeader(http.StatusAccepted)
		close(s.end)
	})
	c := s.dial(t, wire.HTTPOptions{})
	_, err := c.Call(t.Context(), &wire.Request{Method: "x"})
	if err == nil || errors.As(err, new(*wire.SendError)) || !strings.Contains(err.Error(), "its answer is lost") {
		t.Errorf("call in flight: %#v", err)
	}
	<-c.Done()
	if !errors.Is(c.Err(), io.EOF) {
		t.Errorf("ended by %v", c.Err())
	}
	if _, err := c.Call(t.Context(), &wire.Request{Method: "x"}); !errors.As(err, new(*wire.SendError)) {
		t.Errorf("later call: %#v", err)
	}
}

// TestSSEEndedAndClosed has the end noticed, and the client closed for it, while the call
// in flight is told of it: it is told why the stream ended.
func TestSSEEndedAndClosed(t *testing.T) {
	for range 50 {
		s := newOldServer(t, "/messages?sessionId=1", func(s *oldServer, w http.ResponseWriter, _ *jsonrpc.Message) {
			w.WriteHeader(http.StatusAccepted)
			close(s.end)
		})
		c := s.dial(t, wire.HTTPOptions{})
		var watch sync.WaitGroup
		watch.Go(func() {
			<-c.Done()
			_ = c.Close()
		})
		_, err := c.Call(t.Context(), &wire.Request{Method: "x"})
		watch.Wait()
		if errors.Is(err, wire.ErrClosed) || err == nil || !strings.Contains(err.Error(), "its answer is lost") {
			t.Fatalf("call in flight: %v", err)
		}
	}
}

// TestSSEPostRefused fails one call where its post does, and ends the client
// where the server knows nothing of it any more.
func TestSSEPostRefused(t *testing.T) {
	status := http.StatusInternalServerError
	s := newOldServer(t, "/messages?sessionId=1", func(_ *oldServer, w http.ResponseWriter, _ *jsonrpc.Message) { w.WriteHeader(status) })
	c := s.dial(t, wire.HTTPOptions{})
	if _, err := c.Call(t.Context(), &wire.Request{Method: "x"}); !isStatus(500)(err) || c.Err() != nil {
		t.Errorf("got %v, ended by %v", err, c.Err())
	}
	status = http.StatusNotFound
	if _, err := c.Call(t.Context(), &wire.Request{Method: "x"}); !errors.Is(err, wire.ErrSessionLost) {
		t.Errorf("got %v", err)
	}
	<-c.Done()
}

func TestSSETooLarge(t *testing.T) {
	s := newOldServer(t, "/messages?sessionId=1", onStream)
	c := s.dial(t, wire.HTTPOptions{MaxMessage: 100_000})
	_, err := c.Call(t.Context(), &wire.Request{Method: "x", Params: []byte(`{"t":"` + strings.Repeat("x", 200_000) + `"}`)})
	if !errors.As(err, new(*jsonrpc.TooLargeError)) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Call(t.Context(), &wire.Request{Method: "x", Params: []byte(`{}`)}); err != nil {
		t.Errorf("a call after it: %v", err)
	}
}
