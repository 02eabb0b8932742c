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
