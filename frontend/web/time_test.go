package web_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/frontend/web"
)

// pipes is a listener whose connections are pipes, so that a server on it lives
// in a bubble with its own clock.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// bubble is a server on pipes inside a synctest bubble, and a client of it.
type bubble struct {
	*pipes
	*http.Client
	stop func()        // begins the stop
	done chan struct{} // closed when Run has returned
}

// inBubble runs test with a server of h in a bubble of its own.
func inBubble(t *testing.T, h http.HandlerFunc, test func(*testing.T, bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		tr := &http.Transport{DialContext: p.dial}
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		b := bubble{p, &http.Client{Transport: tr}, cancel, make(chan struct{})}
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(b.done)
			if err := web.On(p, web.Options{Handler: h}).Run(ctx); err != nil {
				t.Error(err)
			}
		})
		test(t, b)
		tr.CloseIdleConnections()
		cancel()
		wg.Wait()
	})
}

func TestSlowHeadersAreCutOff(t *testing.T) {
	inBubble(t, answer, func(t *testing.T, b bubble) {
		conn, err := b.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		begun := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { // a byte a second, for ever
			for {
				if _, err := io.WriteString(conn, "G"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		_, _ = io.Copy(io.Discard, conn) // until the server hangs up
		if d := time.Since(begun); d > 11*time.Second {
			t.Errorf("held the connection for %s", d)
		}
		wg.Wait()
	})
}

func TestSlowBodyIsCutOff(t *testing.T) {
	var waited atomic.Int64
	inBubble(t, func(_ http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		_, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			t.Error("body read to its end")
		}
		waited.Store(int64(time.Since(begun)))
	}, func(t *testing.T, b bubble) {
		conn, err := b.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				if _, err := io.WriteString(conn, "x"); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		})
		_, _ = io.Copy(io.Discard, conn) // until the server hangs up
		wg.Wait()
	})
	if d := time.Duration(waited.Load()); d == 0 || d > 61*time.Second {
		t.Errorf("the handler waited %s for the body", d)
	}
}

// The bounds on requests must not end an answer that takes long, nor its context.
func TestLongAnswerIsNotCutOff(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		select {
		case <-time.After(30 * time.Minute):
			_, _ = io.WriteString(w, "at last")
		case <-r.Context().Done():
		}
	}, func(t *testing.T, b bubble) {
		res, err := b.Post("http://localhost/", "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != "at last" {
			t.Errorf("got %q, %v", body, err)
		}
	})
}

func TestStopEndsStreamsAndWaitsForCalls(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		http.NewResponseController(w).Flush()
		if r.Method == http.MethodGet {
			<-r.Context().Done()
			return
		}
		select {
		case <-time.After(5 * time.Second):
			_, _ = io.WriteString(w, "called")
		case <-r.Context().Done():
			_, _ = io.WriteString(w, "cut off")
		}
	}, func(t *testing.T, b bubble) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "application/json, text/event-stream")
		stream, err := b.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Body.Close()
		call, err := b.Post("http://localhost/", "text/plain", strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		defer call.Body.Close()
		begun := time.Now()
		b.stop()
		if _, err := io.Copy(io.Discard, stream.Body); err != nil || time.Since(begun) > 0 {
			t.Errorf("the stream ended after %s with %v, want its end at once", time.Since(begun), err)
		}
		if body, err := io.ReadAll(call.Body); err != nil || string(body) != "called" {
			t.Errorf("the call gave %q, %v", body, err)
		}
		<-b.done
		if d := time.Since(begun); d > 6*time.Second {
			t.Errorf("stopped after %s", d)
		}
	})
}

// post begins a request on a connection of its own.
func post(t *testing.T, b bubble) net.Conn {
	t.Helper()
	conn, err := b.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return conn
}

// A call that needs longer than the grace time is told so by its context, and
// can still say what became of it.
func TestStopCutsOffLongCalls(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		_, _ = io.WriteString(w, "cut off")
	}, func(t *testing.T, b bubble) {
		conn := post(t, b)
		defer conn.Close()
		begun := time.Now()
		b.stop()
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		if d := time.Since(begun); string(body) != "cut off" || d != web.DefaultGrace {
			t.Errorf("got %q after %s", body, d)
		}
		<-b.done
	})
}

func TestStopDropsClientsThatDoNotRead(t *testing.T) {
	inBubble(t, func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}, func(t *testing.T, b bubble) {
		conn := post(t, b)
		defer conn.Close()
		begun := time.Now()
		b.stop()
		<-b.done
		if d := time.Since(begun); d > web.DefaultGrace+3*time.Second {
			t.Errorf("stopped after %s", d)
		}
		if _, err := io.CopyN(io.Discard, conn, 1<<20); !errors.Is(err, io.EOF) {
			t.Errorf("the connection is still open: %v", err)
		}
	})
}

// A client that goes away ends its call, on the lane for plain requests and beside
// it, and each connection is closed when it is idle for too long.
func TestGoneClientAndIdleConnection(t *testing.T) {
	var ended atomic.Int64
	inBubble(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/" {
			<-r.Context().Done()
			ended.Add(1)
		}
	}, func(t *testing.T, b bubble) {
		post(t, b).Close()
		odd, err := b.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(odd, "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
		synctest.Wait()
		odd.Close()
		time.Sleep(20 * time.Millisecond)
		if n := ended.Load(); n != 2 {
			t.Errorf("%d of 2 calls were ended", n)
		}
		for _, head := range []string{"GET /a HTTP/1.1\r\n", "GET /%61 HTTP/1.1\r\n"} {
			conn, err := b.dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_, _ = io.WriteString(conn, head+"Host: localhost\r\n\r\n")
			_, _ = io.Copy(io.Discard, conn) // until the server hangs up
			if d := time.Since(begun); d < 2*time.Minute-time.Second || d > 2*time.Minute+time.Second {
				t.Errorf("%q: held for %s", head, d)
			}
			conn.Close()
		}
	})
}
