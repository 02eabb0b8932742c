package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// A holder is what goes on with a stream.
type holder = interface {
	Begin()
	Gone()
}

// A held is what a response of the fast lane is: one that can go on without its handler.
type held struct {
	*left
	h        holder
	start    func(f func())
	begun    int           // goroutines
	released chan struct{} // closed then
}

// A left is a response that stays with its handler.
type left struct {
	header http.Header
	mu     sync.Mutex
	body   bytes.Buffer
	moved  func(flush bool) // called with each write and flush
	until  time.Time        // the deadline for writing
}

func (w *left) Header() http.Header { return w.header }
func (w *left) WriteHeader(int)     {}
func (w *left) Flush()              { w.moved(true) }
func (w *left) SetWriteDeadline(t time.Time) error {
	w.until = t
	return nil
}

func (w *left) Write(p []byte) (int, error) {
	w.moved(false)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.Write(p)
}

func (w *left) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.String()
}

func (w *held) Go(f func()) { w.begun++; w.start(f) }
func (w *held) Release()    { close(w.released) }
func (w *held) Detach(h holder) bool {
	w.h = h
	return true
}

func newLeft() *left { return &left{header: http.Header{}, moved: func(bool) {}} }

// openSession starts a server, one session and its stream, which serve answers.
func openSession(t *testing.T, o wire.ServerOptions, serve func(srv *wire.Server, r *http.Request)) (*wire.Server, *wire.Session) {
	t.Helper()
	o.Stateless, o.Open = &echo{}, func(*wire.Session) wire.Handler { return &echo{} }
	o.Modern = func(http.Header, *jsonrpc.Message) bool { return false }
	srv := wire.NewServer(o)
	t.Cleanup(func() { _ = srv.Close() })
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
	r.Header.Set("Content-Type", "application/json")
	srv.ServeHTTP(w, r)
	r = httptest.NewRequestWithContext(t.Context(), "GET", "/", nil)
	r.Header.Set(wire.HeaderSession, w.Header().Get(wire.HeaderSession))
	serve(srv, r)
	var session *wire.Session
	srv.Sessions(func(s *wire.Session) { session = s })
	return srv, session
}

// TestHeldStream drives the writer of a stream that was left by hand: while nothing
// waits there is none, there is never more than one, and what comes at any moment of
// its writing is written.
func TestHeldStream(t *testing.T) {
	var todo []func()
	w := &held{left: newLeft(), released: make(chan struct{}), start: func(f func()) { todo = append(todo, f) }}
	_, session := openSession(t, wire.ServerOptions{}, func(srv *wire.Server, r *http.Request) { srv.ServeHTTP(w, r) })
	said := 0
	say := func() {
		t.Helper()
		said++
		if err := session.Notify(fmt.Sprintf("n/%d", said), nil); err != nil {
			t.Fatal(err)
		}
	}
	say()
	if len(todo) != 0 {
		t.Fatal("written before its handler has returned")
	}
	w.h.Begin()
	for round := 1; round <= 3; round++ {
		if w.begun != round || len(todo) != 1 {
			t.Fatalf("%d goroutines of which %d run, want one more than the %d that have ended", w.begun, len(todo), round-1)
		}
		calls := 0
		w.moved = func(bool) { // each event is written and flushed in some calls
			if calls++; calls <= 30 {
				say()
			}
		}
		todo[0]()
		todo = todo[1:]
		if len(todo) != 0 {
			t.Fatal("one more goroutine for what the first has written")
		}
		say()
	}
	w.h.Gone()
	w.h.Gone()
	if w.moved = func(bool) {}; len(todo) != 1 {
		t.Fatalf("%d goroutines end the stream", len(todo))
	}
	todo[0]()
	select {
	case <-w.released:
	default:
		t.Error("not released")
	}
	if err := session.Notify("late", nil); err == nil {
		t.Error("a stream that has ended takes more")
	}
	at := 0
	for i := range said {
		n := strings.Index(w.text()[at:], fmt.Sprintf(`"n/%d"`, i+1))
		if n < 0 {
			t.Fatalf("notification %d of %d is not in its place", i+1, said)
		}
		at += n
	}
}

// TestHeldStreamRaces has notifications that come while the writer ends: none waits
// for what comes after it, or for the next comment.
func TestHeldStreamRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writers sync.WaitGroup
		w := &held{left: newLeft(), released: make(chan struct{}), start: func(f func()) { writers.Go(f) }}
		_, session := openSession(t, wire.ServerOptions{}, func(srv *wire.Server, r *http.Request) { srv.ServeHTTP(w, r) })
		flushed := make(chan struct{}, 1)
		var flushes atomic.Int64
		w.moved = func(flush bool) {
			if flush {
				flushes.Add(1)
				flushed <- struct{}{}
			}
		}
		w.h.Begin()
		began := time.Now()
		for i := range 2000 {
			if err := session.Notify("a", nil); err != nil {
				t.Fatal(i, err)
			}
			for range 1000 { // to come at once
				if flushes.Load() > int64(i) {
					break
				}
				runtime.Gosched()
			}
			if <-flushed; time.Since(began) > 0 {
				t.Fatalf("notification %d waited", i)
			}
		}
		w.moved = func(bool) {}
		w.h.Gone()
		writers.Wait()
	})
}

// TestHeldStreamGone has a client that goes before the handler has returned.
func TestHeldStreamGone(t *testing.T) {
	var writers sync.WaitGroup
	w := &held{left: newLeft(), released: make(chan struct{}), start: func(f func()) { writers.Go(f) }}
	_, _ = openSession(t, wire.ServerOptions{}, func(srv *wire.Server, r *http.Request) { srv.ServeHTTP(w, r) })
	w.h.Gone()
	w.h.Begin()
	writers.Wait()
	<-w.released
}

// TestUnknownCredential: once a credential is not known any more nothing that waits on
// its stream is written, be it that nothing was written when that was noticed, or that a
// client takes its time over what was.
func TestUnknownCredential(t *testing.T) {
	for name, slow := range map[string]bool{"before anything is written": false, "while much is written": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { unknownCredential(t, slow) })
		})
	}
}

// unknownCredential runs in a bubble.
func unknownCredential(t *testing.T, slow bool) {
	const all = 100
	var known atomic.Bool
	known.Store(true)
	var todo []func()
	w := &held{left: newLeft(), released: make(chan struct{}), start: func(f func()) { todo = append(todo, f) }}
	looks := 0
	o := wire.ServerOptions{
		Admit: func(http.ResponseWriter, *http.Request) (tool.Caller, bool) {
			return tool.Caller{Name: "a", Grant: &tool.Grant{Key: "k"}}, true
		},
		Known: func(*http.Request) bool { looks++; return known.Load() },
	}
	_, session := openSession(t, o, func(srv *wire.Server, r *http.Request) { srv.ServeHTTP(w, r) })
	w.h.Begin()
	for range all {
		if err := session.Notify("n", nil); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	most := 0
	if slow { // a message takes about a third of a second, and the credential goes with the tenth
		w.moved = func(bool) {
			if time.Sleep(100 * time.Millisecond); strings.Count(w.text(), "event: ") == 10 {
				known.Store(false)
			}
		}
		most = 10 + 5 // those of a second, and the one that was begun
	} else {
		known.Store(false)
		time.Sleep(1500 * time.Millisecond)
	}
	synctest.Wait()
	if len(todo) != 1 {
		t.Fatalf("%d goroutines write", len(todo))
	}
	todo[0]()
	<-w.released
	if n := strings.Count(w.text(), "event: "); n > most {
		t.Errorf("%d of %d messages were written in %v, want %d at most", n, all, time.Since(began), most)
	}
	if most := 2 + int(time.Since(began)/time.Second); looks > most {
		t.Errorf("%d looks at the credential in %v, want %d at most", looks, time.Since(began), most)
	}
	if !w.until.IsZero() {
		t.Error("a deadline stays for what comes next on the connection")
	}
	if err := session.Notify("late", nil); err == nil {
		t.Error("a stream that has ended takes more")
	}
}

// TestNewestStream: what a session is told goes to the newest of its streams that has not
// ended, though the end of another has not come to its client.
func TestNewestStream(t *testing.T) {
	var todo []func()
	streams := make([]*held, 2)
	_, session := openSession(t, wire.ServerOptions{}, func(srv *wire.Server, r *http.Request) {
		for i := range streams {
			streams[i] = &held{left: newLeft(), released: make(chan struct{}), start: func(f func()) { todo = append(todo, f) }}
			srv.ServeHTTP(streams[i], r)
			streams[i].h.Begin()
		}
	})
	say := func(method string) {
		t.Helper()
		if err := session.Notify(method, nil); err != nil {
			t.Error(err)
		}
	}
	say("n/1")
	streams[1].h.Gone()
	say("n/2")
	streams[0].h.Gone()
	if err := session.Notify("n/3", nil); err == nil {
		t.Error("streams that have ended take more")
	}
	for _, write := range todo {
		write()
	}
	for i, want := range []string{"n/2", "n/1"} {
		if text := streams[i].text(); strings.Count(text, "event: ") != 1 || !strings.Contains(text, want) {
			t.Errorf("stream %d has %q, want %s alone", i+1, text, want)
		}
	}
}

// TestStreamTime: a stream on which nothing is said has a comment now and then, and
// ends with the client, the credential, the session and the server, whether its handler
// stays or has left.
func TestStreamTime(t *testing.T) {
	for _, detached := range []bool{false, true} {
		for name, end := range map[string]func(srv *wire.Server, known *atomic.Bool, id string){
			"client":     nil,
			"credential": func(_ *wire.Server, known *atomic.Bool, _ string) { known.Store(false) },
			"server":     func(srv *wire.Server, _ *atomic.Bool, _ string) { _ = srv.Close() },
			"session": func(srv *wire.Server, _ *atomic.Bool, id string) {
				r := httptest.NewRequest("DELETE", "/", nil)
				r.Header.Set(wire.HeaderSession, id)
				srv.ServeHTTP(httptest.NewRecorder(), r)
			},
		} {
			t.Run(fmt.Sprintf("%s, detached %v", name, detached), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { streamTime(t, detached, end) })
			})
		}
	}
}

func streamTime(t *testing.T, detached bool, end func(srv *wire.Server, known *atomic.Bool, id string)) {
	var known atomic.Bool
	known.Store(true)
	var running sync.WaitGroup
	w := &held{left: newLeft(), released: make(chan struct{}), start: func(f func()) { running.Go(f) }}
	o := wire.ServerOptions{
		Admit: func(http.ResponseWriter, *http.Request) (tool.Caller, bool) {
			return tool.Caller{Name: "a", Grant: &tool.Grant{Key: "k"}}, true
		},
		Known: func(r *http.Request) bool { return known.Load() && r.Context().Err() == nil },
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	srv, session := openSession(t, o, func(srv *wire.Server, r *http.Request) {
		r = r.WithContext(ctx)
		if detached {
			srv.ServeHTTP(w, r)
			leave() // as with the return of a handler
			w.h.Begin()
			return
		}
		running.Go(func() { srv.ServeHTTP(w.left, r) })
		synctest.Wait()
	})
	<-time.After(46 * time.Second)
	synctest.Wait()
	if got := w.text(); got != strings.Repeat(": keep-alive\n\n", 3) {
		t.Errorf("in 46 s: %q", got)
	}
	began := time.Now()
	switch {
	case end != nil:
		end(srv, &known, session.ID)
	case detached:
		w.h.Gone()
	default:
		leave()
	}
	if detached {
		<-w.released
	}
	running.Wait()
	if d := time.Since(began); d > time.Second {
		t.Errorf("ended after %v", d)
	}
	if err := session.Notify("late", nil); err == nil {
		t.Error("a stream that has ended takes more")
	}
}

// A listener answers as one that tells a client of what changes, until that has enough,
// with much that nobody hears, and to "fill" with all that a stream takes.
type listener struct{ ended chan struct{} }

var much = tool.OneOf([]byte(`"` + strings.Repeat("a", 1<<20) + `"`))

func (listener) Notification(*wire.Exchange, *jsonrpc.Message) {}
func (l listener) Request(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	if m.Method == "fill" {
		for x.Notify("n", fmt.Appendf(nil, "%q", make([]byte, 8<<10))) == nil { // 32 KiB as it is written
		}
		close(l.ended)
		return tool.OneOf([]byte("1")), nil
	}
	defer close(l.ended)
	for {
		_ = x.Notify("n", nil)
		select {
		case <-ctx.Done():
			return much, nil
		case <-time.After(10 * time.Second):
		}
	}
}

// TestListeningWithoutCredential: what a client of the modern era listens on ends with
// its credential, though that is a request; another request goes on.
func TestListeningWithoutCredential(t *testing.T) {
	for method, goesOn := range map[string]bool{"subscriptions/listen": false, "tools/call": true} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var known atomic.Bool
				known.Store(true)
				h := listener{ended: make(chan struct{})}
				srv := wire.NewServer(wire.ServerOptions{
					Stateless: h,
					Modern:    func(http.Header, *jsonrpc.Message) bool { return true },
					Admit: func(http.ResponseWriter, *http.Request) (tool.Caller, bool) {
						return tool.Caller{Name: "a", Grant: &tool.Grant{Key: "k"}}, true
					},
					Known: func(*http.Request) bool { return known.Load() },
				})
				ctx, leave := context.WithCancel(t.Context())
				r := httptest.NewRequestWithContext(ctx, "POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{}}`))
				r.Header.Set("Content-Type", "application/json")
				w := newLeft()
				var serving sync.WaitGroup
				serving.Go(func() { srv.ServeHTTP(w, r) })
				time.Sleep(25 * time.Second)
				synctest.Wait()
				if n := strings.Count(w.text(), `"n"`); n != 3 {
					t.Errorf("%d messages in 25 s", n)
				}
				before := w.text()
				known.Store(false)
				time.Sleep(1500 * time.Millisecond)
				synctest.Wait()
				select {
				case <-h.ended:
					if goesOn || w.text() != before {
						t.Errorf("ended with %q", w.text())
					}
				default:
					if !goesOn {
						t.Error("it goes on")
					}
				}
				leave()
				serving.Wait()
				_ = srv.Close()
			})
		})
	}
}

// TestListeningLeavesNothing: what is said on a stream that has ended with its credential
// does not count as waiting, which would leave less and less for the streams of others.
func TestListeningLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known atomic.Bool
		var h listener
		srv := wire.NewServer(wire.ServerOptions{
			Stateless: &h,
			Modern:    func(http.Header, *jsonrpc.Message) bool { return true },
			Admit: func(http.ResponseWriter, *http.Request) (tool.Caller, bool) {
				return tool.Caller{Name: "a", Grant: &tool.Grant{Key: "k"}}, true
			},
			Known: func(*http.Request) bool { return known.Load() },
		})
		ask := func(method string, moved func(bool)) string {
			h.ended = make(chan struct{})
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{}}`))
			r.Header.Set("Content-Type", "application/json")
			w := newLeft()
			w.moved = moved
			srv.ServeHTTP(w, r)
			return w.text()
		}
		for range 70 { // 64 MiB are what may wait on all streams
			ask("subscriptions/listen", func(bool) {})
		}
		known.Store(true)
		if n := strings.Count(ask("fill", func(bool) { <-h.ended }), `"n"`); n < 100 {
			t.Errorf("a stream takes only %d messages", n)
		}
		_ = srv.Close()
	})
}
