package lane_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
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
	Detach(hold func(gone <-chan struct{})) bool
}

// TestDetach has a handler that leaves its answer to a function: what that writes
// comes, its connection goes on, and it ends with the client and with the server.
func TestDetach(t *testing.T) {
	said, ended := make(chan string), make(chan string, 1)
	h := func(w http.ResponseWriter, r *http.Request) {
		d, ok := w.(detacher)
		if !ok {
			fmt.Fprint(w, "not in the lane")
			return
		}
		ctx := r.Context()
		if !d.Detach(func(gone <-chan struct{}) {
			for {
				select {
				case text := <-said:
					if fmt.Fprint(w, text); text == "end" {
						ended <- fmt.Sprint("by itself, ", ctx.Err())
						return
					}
					_ = http.NewResponseController(w).Flush()
				case <-gone:
					ended <- "gone"
					return
				}
			}
		}) {
			fmt.Fprint(w, "not this one")
		}
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := lane.New(&http.Server{Handler: http.HandlerFunc(h), BaseContext: base(t.Context())})
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(ln) })
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c, bufio.NewReader(c)
	}
	answer := func(r *bufio.Reader) string {
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
	const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	c, r := dial()
	for range 2 { // on one connection
		fmt.Fprint(c, get)
		for text := range strings.FieldsSeq("a b end") {
			said <- text
		}
		if got := answer(r); got != "abend" {
			t.Errorf("got %q", got)
		}
		if got := <-ended; got != "by itself, context canceled" {
			t.Errorf("ended: %s", got)
		}
	}
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx")
	if got := answer(r); got != "not this one" {
		t.Errorf("a request with a body: %q", got)
	}
	fmt.Fprint(c, get)
	said <- "a"
	_ = c.Close()
	if got := <-ended; got != "gone" {
		t.Errorf("after the client has gone: %s", got)
	}
	c, r = dial()
	fmt.Fprint(c, get)
	said <- "a"
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if got := <-ended; got != "gone" {
		t.Errorf("after the server has stopped: %s", got)
	}
	if got := answer(r); got != "a" {
		t.Errorf("got %q", got)
	}
	serving.Wait()
}
