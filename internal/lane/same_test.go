package lane_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/lane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server is what the lane and net/http have in common.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

func plain(s *http.Server) server { return s }
func fast(s *http.Server) server  { return lane.New(s) }

// A client's script is what it sends, with these words between: pause (a second),
// tick (a round of the patrol), half (it has sent all), gone (it is closed).
const (
	pause  = "\x00pause"
	tick   = "\x00tick"
	half   = "\x00half"
	gone   = "\x00gone"
	minute = "\x00minute"
	late   = "\x00late" // longer than any bound
	stop   = "\x00stop" // the server stops
)

// play runs a script against a server, and returns all that the client and the
// handlers saw.
func play(t *testing.T, kind func(*http.Server) server, script []string) (transcript string) {
	synctest.Test(t, func(t *testing.T) {
		var seen events
		srv := kind(&http.Server{
			Handler: seen.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
			MaxHeaderBytes: 64 << 10, ErrorLog: silent, BaseContext: base(t.Context()),
		})
		ln := newListener()
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
		synctest.Wait()
		c := ln.dial()
		var got bytes.Buffer
		var fate error
		var reading sync.WaitGroup
		reading.Go(func() {
			_, fate = io.Copy(&got, c)
			if fate == nil {
				seen.add("the server has closed")
			}
		})
		ended := make(chan error, 1)
		end := sync.OnceFunc(func() {
			serving.Go(func() { ended <- srv.Shutdown(t.Context()) })
		})
		for _, s := range script {
			switch s {
			case stop:
				end()
			case pause:
				time.Sleep(time.Second)
			case tick:
				time.Sleep(4 * time.Millisecond)
			case minute:
				time.Sleep(time.Minute)
			case late:
				time.Sleep(10 * time.Minute)
			case half:
				_ = c.CloseWrite()
			case gone:
				_ = c.Close()
			default:
				_, _ = io.WriteString(c, s) // a server that has hung up is seen below
			}
			synctest.Wait()
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		_ = c.Close()
		reading.Wait()
		time.Sleep(time.Second)
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		serving.Wait()
		transcript = seen.String() + answers(script, got.Bytes())
	})
	return transcript
}

var silent = log.New(io.Discard, "", 0)

// answers renders what a client got, without what may differ: dates, the order of
// the header, the sizes of chunks.
func answers(script []string, got []byte) string {
	var b strings.Builder
	r := bufio.NewReader(bytes.NewReader(got))
	req := &http.Request{Method: http.MethodGet}
	if len(script) > 0 && strings.HasPrefix(script[0], "HEAD") {
		req.Method = http.MethodHead
	}
	for {
		if _, err := r.Peek(1); err != nil {
			return b.String()
		}
		res, err := http.ReadResponse(r, req)
		if err != nil {
			rest, _ := io.ReadAll(r)
			fmt.Fprintf(&b, "no answer: %v %q\n", err, rest)
			return b.String()
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		res.Header.Del("Date")
		fmt.Fprintf(&b, "%s length %d coding %v close %v\n", res.Status, res.ContentLength, res.TransferEncoding, res.Close)
		for _, k := range slices.Sorted(maps.Keys(res.Header)) {
			fmt.Fprintf(&b, "  %s: %q\n", k, res.Header[k])
		}
		fmt.Fprintf(&b, "  %q %v trailers %v\n", body, err, res.Trailer)
	}
}

// events are what happened, in order.
type events struct {
	mu    sync.Mutex
	lines []string
}

func (l *events) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *events) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(append(slices.Clone(l.lines), ""), "\n")
}
