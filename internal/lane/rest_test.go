package lane_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/lane"
)

// TestRest: a connection that nobody uses gives its memory back, answers as before
// whatever comes next and in whichever pieces, and ends in time or with the server.
func TestRest(t *testing.T) {
	post := request("POST", "/", "body")
	for name, c := range map[string]struct {
		parts []string // a second apart
		ends  time.Duration
		stop  bool
	}{
		"whole":                   {parts: []string{post}},
		"byte by byte":            {parts: []string{post[:1], post[1:2], post[2:3], post[3:4], post[4:9], post[9:]}},
		"ends of lines before it": {parts: []string{"\r\n", post}},
		"two at once":             {parts: []string{post + post}},
		"nothing":                 {ends: time.Minute},
		"two bytes and no more":   {parts: []string{"PO"}, ends: time.Minute + time.Second},
		"the server stops":        {stop: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := lane.New(&http.Server{BaseContext: base(t.Context()), IdleTimeout: time.Minute, ReadHeaderTimeout: time.Minute, ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(w, r.Body)
				})})
				ln := newListener()
				var serving sync.WaitGroup
				serving.Go(func() { _ = s.Serve(ln) })
				conn := ln.dial()
				r := bufio.NewReader(conn)
				answer := func() {
					t.Helper()
					res, err := http.ReadResponse(r, nil)
					if err != nil {
						t.Fatal(err)
					}
					if body, err := io.ReadAll(res.Body); err != nil || string(body) != "body" {
						t.Errorf("%q, %v", body, err)
					}
					_ = res.Body.Close()
				}
				_, _ = io.WriteString(conn, post)
				answer()
				began := time.Now()
				for _, part := range c.parts {
					time.Sleep(time.Second)
					_, _ = io.WriteString(conn, part)
				}
				switch {
				case c.stop:
					time.Sleep(time.Second)
					if err := s.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
					if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
						t.Error(err)
					}
				case c.ends > 0:
					if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
						t.Error(err)
					}
					if d := time.Since(began) - c.ends; d < -time.Second || d > time.Second {
						t.Errorf("it ended after %v, not %v", time.Since(began), c.ends)
					}
				default:
					answer()
					if name == "two at once" {
						answer()
					}
				}
				_ = conn.Close()
				_ = s.Shutdown(t.Context())
				serving.Wait()
			})
		})
	}
}

// TestSlowReader: a client that takes nothing of an answer is cut off in time, and one
// that takes some of it is not.
func TestSlowReader(t *testing.T) {
	for name, reads := range map[string]bool{"nothing": false, "a little": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failed atomic.Bool
				const size = 3 << 20
				s := lane.New(&http.Server{BaseContext: base(t.Context()), ErrorLog: silent, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Length", "3145728")
					if _, err := w.Write(make([]byte, size)); err != nil {
						failed.Store(true)
					}
				})})
				ln := newListener()
				var serving sync.WaitGroup
				serving.Go(func() { _ = s.Serve(ln) })
				conn := ln.dial()
				_, _ = io.WriteString(conn, request("GET", "/", ""))
				got, b := 0, make([]byte, 128<<10)
				for range 40 {
					time.Sleep(10 * time.Second)
					if reads {
						n, _ := io.ReadAtLeast(conn, b, min(len(b), size-got))
						got += n
					}
				}
				synctest.Wait()
				if failed.Load() == reads {
					t.Errorf("cut off: %v, after %d bytes", failed.Load(), got)
				}
				_ = conn.Close()
				_ = s.Shutdown(context.WithoutCancel(t.Context()))
				serving.Wait()
			})
		})
	}
}
