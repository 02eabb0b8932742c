package lane_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/lane"
)

// A detacher is what the lane's responses are.
type detacher interface {
	Detach(h lane.Held) bool
	Go(f func())
	Release()
}

// A holder writes what is said on an answer that its handler has left.
type holder struct {
	http.ResponseWriter
	detacher
	said, ended chan string
	gone        chan struct{}
	once        sync.Once
}

func (h *holder) Begin() { h.Go(h.run) }
func (h *holder) Gone()  { h.once.Do(func() { close(h.gone) }) }

func (h *holder) run() {
	defer h.Release()
	for {
		select {
		case text := <-h.said:
			if text == "panic" {
				panic("too much")
			}
			if fmt.Fprint(h, text); text == "end" {
				h.ended <- "by itself"
				return
			}
			_ = http.NewResponseController(h.ResponseWriter).Flush()
		case <-h.gone:
			h.ended <- "gone"
			return
		}
	}
}

const bareGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// A leaver is a server whose handler leaves each answer to a holder.
type leaver struct {
	*lane.Server
	addr        string
	said, ended chan string
	serving     sync.WaitGroup
	log         bytes.Buffer
}

// leave starts a leaver in whose context all requests are.
func leave(t *testing.T, ctx context.Context) *leaver {
	t.Helper()
	l := &leaver{said: make(chan string), ended: make(chan string, 1)}
	h := func(w http.ResponseWriter, _ *http.Request) {
		d, ok := w.(detacher)
		if !ok {
			fmt.Fprint(w, "not in the lane")
			return
		}
		if !d.Detach(&holder{ResponseWriter: w, detacher: d, said: l.said, ended: l.ended, gone: make(chan struct{})}) {
			fmt.Fprint(w, "not this one")
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.addr = ln.Addr().String()
	l.Server = lane.New(&http.Server{
		Handler: http.HandlerFunc(h), BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(&l.log, "", 0),
	})
	l.serving.Go(func() { _ = l.Serve(ln) })
	return l
}

func (l *leaver) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c, bufio.NewReader(c)
}

// stop stops the server, and waits for it.
func (l *leaver) stop(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := l.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	l.serving.Wait()
}

func wholeAnswer(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDetach: what is written on an answer that its handler has left comes, its
// connection goes on, and it ends with the client and with the server.
func TestDetach(t *testing.T) {
	l := leave(t, context.WithoutCancel(t.Context()))
	c, r := l.dial(t)
	for range 2 { // on one connection
		fmt.Fprint(c, bareGet)
		for text := range strings.FieldsSeq("a b end") {
			l.said <- text
		}
		if got := wholeAnswer(t, r); got != "abend" {
			t.Errorf("got %q", got)
		}
		if got := <-l.ended; got != "by itself" {
			t.Errorf("ended: %s", got)
		}
	}
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
	if got := wholeAnswer(t, r); got != "not this one" {
		t.Errorf("a request with a body: %q", got)
	}
	fmt.Fprint(c, bareGet)
	l.said <- "a"
	_ = c.Close()
	if got := <-l.ended; got != "gone" {
		t.Errorf("after the client has gone: %s", got)
	}
	c, r = l.dial(t)
	fmt.Fprint(c, bareGet)
	l.said <- "panic"
	if got := wholeAnswer(t, r); got != "" {
		t.Errorf("after a panic: %q", got)
	}
	fmt.Fprint(c, bareGet)
	l.said <- "a"
	l.stop(t)
	if got := <-l.ended; got != "gone" {
		t.Errorf("after the server has stopped: %s", got)
	}
	if got := wholeAnswer(t, r); got != "a" {
		t.Errorf("got %q", got)
	}
	if log := l.log.String(); !strings.Contains(log, "panic serving") || !strings.Contains(log, "too much") {
		t.Errorf("logged: %q", log)
	}
}

// TestDetachContext: answers that were left end with the context of all requests.
func TestDetachContext(t *testing.T) {
	ctx, cut := context.WithCancel(t.Context())
	l := leave(t, ctx)
	c, _ := l.dial(t)
	fmt.Fprint(c, bareGet)
	l.said <- "a"
	cut()
	if got := <-l.ended; got != "gone" {
		t.Errorf("one from before: %s", got)
	}
	c, r := l.dial(t)
	fmt.Fprint(c, bareGet)
	if got := <-l.ended; got != "gone" {
		t.Errorf("one from afterwards: %s", got)
	}
	if got := wholeAnswer(t, r); got != "" {
		t.Errorf("got %q", got)
	}
	l.stop(t)
}

// TestDetachSilence: a client that sends more behind a request whose answer was left,
// or was to be left, ends that answer, and what it sends is served after it. So nothing
// hides that it has gone.
func TestDetachSilence(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		early   bool // what is sent more comes before the answer is left
		stays   bool // the answer stays with the handler
	}{
		"left":                     {request: bareGet},
		"left, and more before":    {request: bareGet, early: true},
		"not left":                 {request: bareGet + bareGet[:1], stays: true},
		"not left, more before it": {request: bareGet + bareGet[:1], early: true, stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { silence(t, c.request, c.early, c.stays) })
		})
	}
}

// silence runs in a bubble.
func silence(t *testing.T, first string, early, stays bool) {
	ended := make(chan string, 2)
	begins := make(chan struct{})
	requests := 0
	s := lane.New(&http.Server{BaseContext: base(t.Context()), ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests > 1 {
			time.Sleep(time.Second)
			fmt.Fprint(w, "served ", r.Context().Err())
			return
		}
		<-begins
		d, ok := w.(detacher)
		if !ok {
			t.Error("not in the lane")
			return
		}
		h := &holder{ResponseWriter: w, detacher: d, ended: ended, gone: make(chan struct{})}
		switch left := d.Detach(h); {
		case left == stays:
			t.Error("left:", left)
		case stays:
			<-r.Context().Done()
			ended <- "gone"
		}
	})})
	ln := newListener()
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(ln) })
	conn := ln.dial()
	rest := (bareGet + bareGet)[len(first):]
	_, _ = io.WriteString(conn, first)
	if !early {
		close(begins)
	}
	time.Sleep(time.Second) // the patrol has passed
	if len(ended) > 0 {
		t.Error("the answer ended by itself")
	}
	_, _ = io.WriteString(conn, rest[:1])
	time.Sleep(time.Second)
	if early {
		close(begins)
	}
	synctest.Wait()
	select {
	case <-ended:
	default:
		t.Error("the answer goes on")
		_ = conn.Close()
	}
	r := bufio.NewReader(conn)
	_, _ = io.WriteString(conn, rest[1:])
	time.Sleep(time.Second / 2)
	_, _ = io.WriteString(conn, bareGet) // which ends nothing: that answer comes to its end
	for _, want := range []string{"", "served <nil>", "served <nil>"} {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Error(err)
			break
		}
		if text, err := io.ReadAll(res.Body); err != nil || string(text) != want {
			t.Errorf("got %q, %v, want %q", text, err, want)
		}
		_ = res.Body.Close()
	}
	_ = conn.Close()
	_ = s.Shutdown(context.WithoutCancel(t.Context()))
	serving.Wait()
}

// TestDetachWhileItIsLeft: a client that sends more, or goes, between the return of the
// handler and the leaving of its answer ends that answer: the head is being written then.
func TestDetachWhileItIsLeft(t *testing.T) {
	for name, act := range map[string]func(*end){
		"more": func(c *end) { _, _ = io.WriteString(c, "G") },
		"half": func(c *end) { _ = c.CloseWrite() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan string, 1)
				s := lane.New(&http.Server{BaseContext: base(t.Context()), ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					d, ok := w.(detacher)
					if !ok || !d.Detach(&holder{ResponseWriter: w, detacher: d, ended: ended, gone: make(chan struct{})}) {
						t.Error("not left")
						return
					}
					w.Header().Set("X-A", strings.Repeat("a", streamSize)) // more than the client's side takes
					w.WriteHeader(http.StatusOK)
				})})
				ln := newListener()
				var serving sync.WaitGroup
				serving.Go(func() { _ = s.Serve(ln) })
				c := ln.dial()
				_, _ = io.WriteString(c, bareGet)
				time.Sleep(time.Second) // the patrol has passed
				act(c)
				synctest.Wait()
				serving.Go(func() { _, _ = io.Copy(io.Discard, c) })
				synctest.Wait()
				if len(ended) == 0 {
					t.Error("the answer goes on")
				}
				_ = c.Close()
				_ = s.Shutdown(context.WithoutCancel(t.Context()))
				serving.Wait()
			})
		})
	}
}
