package load_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/bench/client"
	"github.com/tenon-mcp/tenon/bench/load"
	"github.com/tenon-mcp/tenon/bench/upstream"
	"github.com/tenon-mcp/tenon/bench/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		values []time.Duration
		p      float64
		want   time.Duration
	}{
		{nil, 0.5, 0},
		{hundred[:1], 0.5, 1},
		{hundred[:1], 0.99, 1},
		{hundred[:2], 0.5, 1},
		{hundred[:3], 0.5, 2},
		{hundred[:4], 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
		{hundred, 0, 1},
		{hundred[:50], 0.99, 50},
	} {
		if got := load.Percentile(c.values, c.p); got != c.want {
			t.Errorf("percentile %v of %d values = %d, want %d", c.p, len(c.values), got, c.want)
		}
	}
}

// callers returns callers of the server's echo, on sessions that end with the test.
func callers(t *testing.T, h http.Handler, n int) []load.Caller {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	all := make([]load.Caller, n)
	for i := range all {
		s, err := client.DialHTTP(t.Context(), server.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		echo := s.Prepare("tools/call", `{"name":"echo","arguments":{"text":"0123456789"}}`)
		all[i] = load.Caller{Session: s, Requests: []*client.Request{echo}, Want: 10}
	}
	return all
}

// counting counts the calls of a tool that a server sees, and hands each to next.
func counting(next http.Handler, calls *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "tools/call") {
			calls.Add(1)
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		next.ServeHTTP(w, r)
	})
}

func TestRunCounted(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	o := load.Options{Callers: callers(t, counting(upstream.New(upstream.Options{}), &seen), 3), Count: 7}
	r, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls != 21 || seen.Load() != 21 || r.Errors != 0 || r.P50 <= 0 || r.P99 < r.P50 || r.Elapsed < r.P99 || r.Rate() <= 0 {
		t.Errorf("%+v after %d calls, want 21", r, seen.Load())
	}
}

func TestRunTimed(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	self := usage.Of(os.Getpid())
	o := load.Options{
		Callers:  callers(t, counting(upstream.New(upstream.Options{}), &seen), 2),
		Duration: 100 * time.Millisecond, Warm: 20 * time.Millisecond, Watch: []usage.Process{self},
	}
	r, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Calls == 0 || int64(r.Calls) >= seen.Load() || r.Errors != 0 || r.Elapsed < o.Duration {
		t.Errorf("%+v after %d calls: want those of the warm-up left out", r, seen.Load())
	}
	_, err = self.CPU()
	if used, ok := r.CPUPerCall(0); ok != (err == nil) || ok && used <= 0 {
		t.Errorf("CPU of this process for one call = %v, %v", used, ok)
	}
	if _, ok := r.CPUPerCall(1); ok {
		t.Error("CPU of a process that was not watched")
	}
}

func TestRunCountsErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(http.ResponseWriter, *http.Request, http.Handler)
		want  string
	}{
		{"refused", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "busy", http.StatusServiceUnavailable)
		}, "503"},
		{"cut off", func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }, "broken"},
		{"short", func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Body = io.NopCloser(strings.NewReader(`{"id":100000003,"method":"tools/call","params":{"name":"echo","arguments":{"text":""}}}`))
			r.ContentLength = -1
			next.ServeHTTP(w, r)
		}, "an answer of 81 bytes, want 91 or more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plain := upstream.New(upstream.Options{})
			var calls atomic.Int64
			o := load.Options{Count: 3, Callers: callers(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				if strings.Contains(string(body), "tools/call") && calls.Add(1) == 2 {
					c.spoil(w, r, plain)
					return
				}
				plain.ServeHTTP(w, r)
			}), 1)}
			o.Callers[0].Want = int64(len(`{"jsonrpc":"2.0","id":100000002,"result":{"content":[{"type":"text","text":"0123456789"}]}}`))
			r, err := load.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Errors != 1 || r.Err == nil || !strings.Contains(r.Err.Error(), c.want) {
				t.Errorf("%+v, want one error with %q", r, c.want)
			}
			if lives := c.name != "cut off"; lives != (r.Calls == 2) {
				t.Errorf("%d calls answered", r.Calls)
			}
		})
	}
}

func TestRunEndsWithContext(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	for name, o := range map[string]load.Options{
		"counted": {Count: 1000},
		"timed":   {Duration: time.Hour},
		"warming": {Duration: time.Hour, Warm: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			plain := upstream.New(upstream.Options{})
			o.Callers = callers(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "tools/call") {
					cancel(stopped)
					<-r.Context().Done() // the call is never answered
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				plain.ServeHTTP(w, r)
			}), 2)
			if r, err := load.Run(ctx, o); !errors.Is(err, stopped) {
				t.Errorf("Run = %+v, %v; want the context's cause", r, err)
			}
		})
	}
}
