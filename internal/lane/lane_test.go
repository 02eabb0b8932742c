package lane_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/lane"
)

// base is a BaseContext of connections that outlive the test's own context.
func base(ctx context.Context) func(net.Listener) context.Context {
	return func(net.Listener) context.Context { return context.WithoutCancel(ctx) }
}

// serve runs a lane on a socket until the test ends, and returns its address.
func serve(tb testing.TB, h http.HandlerFunc) string {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := lane.New(&http.Server{Handler: h, BaseContext: base(tb.Context()), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, ErrorLog: silent})
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			tb.Error(err)
		}
	})
	tb.Cleanup(func() {
		if err := s.Shutdown(context.WithoutCancel(tb.Context())); err != nil {
			tb.Error(err)
		}
		serving.Wait()
	})
	return ln.Addr().String()
}

// TestOwnAnswers: under load, with requests of all sizes and kinds, clients that
// give up and waits that the patrol notices, each gets the answer to its own.
func TestOwnAnswers(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has given up
		}
		if n := r.Header.Get("X-Wait"); n != "" {
			ms, _ := strconv.Atoi(n)
			select {
			case <-r.Context().Done():
			case <-time.After(time.Duration(ms) * time.Millisecond):
			}
		}
		if r.Header.Get("X-Chunks") != "" {
			for part := range slices.Chunk(body, 1000) {
				_, _ = w.Write(part)
				_ = http.NewResponseController(w).Flush()
			}
			return
		}
		_, _ = w.Write(body)
	})
	var callers sync.WaitGroup
	for i := range 16 {
		callers.Go(func() {
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			rnd := rand.New(rand.NewPCG(uint64(i), 1))
			for n := range 60 {
				if err := echo(t.Context(), tr, addr, rnd, fmt.Sprintf("%d-%d;", i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
}

// echo makes one request of a random kind.
func echo(ctx context.Context, tr *http.Transport, addr string, rnd *rand.Rand, mark string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	size := []int{10, 100, 3000, 5000, 40_000, 70_000, 200_000}[rnd.IntN(7)]
	text := strings.Repeat(mark, size/len(mark)+1)
	var body io.Reader = strings.NewReader(text)
	if rnd.IntN(8) == 0 {
		body = io.MultiReader(body) // of unknown size
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/", body)
	if err != nil {
		return err
	}
	if rnd.IntN(4) == 0 {
		req.Header.Set("X-Wait", strconv.Itoa(rnd.IntN(15)))
	}
	if rnd.IntN(4) == 0 {
		req.Header.Set("X-Chunks", "1")
	}
	gaveUp := rnd.IntN(6) == 0
	if gaveUp {
		defer time.AfterFunc(time.Duration(rnd.IntN(10))*time.Millisecond, cancel).Stop()
	}
	res, err := tr.RoundTrip(req)
	if err != nil {
		if gaveUp {
			return nil
		}
		return err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if (err != nil || string(got) != text) && !gaveUp {
		return fmt.Errorf("%s (%d bytes): got %d bytes, %.40q, %w", mark, len(text), len(got), got, err)
	}
	return nil
}

// TestGoneClient: a handler is told soon when its client goes, though nothing is
// read for requests that are short.
func TestGoneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		began := time.Now()
		s := lane.New(&http.Server{BaseContext: base(t.Context()), Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			told.Store(int64(time.Since(began)))
		})})
		ln := newListener()
		var serving sync.WaitGroup
		serving.Go(func() { _ = s.Serve(ln) })
		c := ln.dial()
		_, _ = io.WriteString(c, request("POST", "/", "body"))
		synctest.Wait()
		_ = c.Close()
		time.Sleep(time.Second)
		if d := time.Duration(told.Load()); d == 0 || d > 15*time.Millisecond {
			t.Errorf("told after %s", d)
		}
		_ = s.Shutdown(t.Context())
		serving.Wait()
	})
}

// TestClientThatReadsNothing: it ends the request when it goes, and a stop does not
// wait for it.
func TestClientThatReadsNothing(t *testing.T) {
	for _, how := range []string{"gone", "closed"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended atomic.Bool
				s := lane.New(&http.Server{BaseContext: base(t.Context()), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					for {
						if _, err := w.Write(make([]byte, 100_000)); err != nil {
							ended.Store(r.Context().Err() != nil)
							return
						}
					}
				})})
				ln := newListener()
				var serving sync.WaitGroup
				serving.Go(func() { _ = s.Serve(ln) })
				c := ln.dial()
				_, _ = io.WriteString(c, request("GET", "/", ""))
				time.Sleep(time.Second)
				switch how {
				case "gone":
					_ = c.Close()
				case "closed":
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Shutdown = %v", err)
					}
					_ = s.Close()
				}
				synctest.Wait()
				if !ended.Load() {
					t.Error("the handler goes on, or its context does")
				}
				_ = s.Shutdown(t.Context())
				serving.Wait()
			})
		})
	}
}

// TestNoBounds: a server without time-outs waits for ever.
func TestNoBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lane.New(&http.Server{BaseContext: base(t.Context()), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "answer")
		})})
		ln := newListener()
		var serving sync.WaitGroup
		serving.Go(func() { _ = s.Serve(ln) })
		c := ln.dial()
		r := bufio.NewReader(c)
		get := request("GET", "/", "")
		for _, script := range [][]string{{get}, {get}, {get[:10], get[10:]}, {get}} {
			for _, part := range script {
				time.Sleep(time.Hour)
				_, _ = io.WriteString(c, part)
			}
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(res.Body); err != nil || string(body) != "answer" {
				t.Errorf("%q: %q, %v", script, body, err)
			}
			_ = res.Body.Close()
		}
		_ = c.Close()
		_ = s.Shutdown(t.Context())
		serving.Wait()
	})
}

// TestLateUse: what a handler has kept when it returned must not get into another
// request, nor see it.
func TestLateUse(t *testing.T) {
	var kept http.ResponseWriter
	var body io.Reader
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keep" {
			kept, body = w, r.Body
			_ = http.NewResponseController(w).Flush() // so that its length is open
			return
		}
		_, err := kept.Write([]byte("late"))
		_, err2 := body.Read(make([]byte, 1))
		fmt.Fprint(w, err != nil, err2 != nil)
	})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	for _, c := range []struct{ path, want string }{{"/keep", ""}, {"/", "true true"}} {
		_, _ = io.WriteString(conn, request("POST", c.path, "body"))
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || string(body) != c.want {
			t.Errorf("%s: %q, %v", c.path, body, err)
		}
	}
}

// BenchmarkRequest is a small call over a socket: what the lane spends on it, with
// the client's part.
func BenchmarkRequest(b *testing.B) {
	h := func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		_, _ = io.ReadFull(r.Body, body)
		h := w.Header()
		h["Content-Type"] = []string{"application/json"}
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
		_, _ = w.Write(body)
	}
	for name, serve := range map[string]func(testing.TB, http.HandlerFunc) string{"lane": serve, "net-http": serveHTTP} {
		b.Run(name, func(b *testing.B) {
			conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", serve(b, h))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			send := []byte(request("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Accept: application/json, text/event-stream", "Content-Type: application/json", "Mcp-Session-Id: ABCDEFGHIJKLMNOP", "Mcp-Protocol-Version: 2025-06-18"))
			got := make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(send); err != nil {
					b.Fatal(err)
				}
				for n := 0; !bytes.HasSuffix(got[:n], []byte(`"ping"}`)); {
					more, err := conn.Read(got[n:])
					if err != nil {
						b.Fatal(err)
					}
					n += more
				}
			}
		})
	}
}

func serveHTTP(tb testing.TB, h http.HandlerFunc) string {
	tb.Helper()
	ln, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(ln) })
	tb.Cleanup(func() { _ = s.Close(); serving.Wait() })
	return ln.Addr().String()
}
