package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// remote is a legacy server over HTTP, with sessions, that can be made to fail.
type remote struct {
	*httptest.Server
	session  atomic.Int64 // the one that counts
	hello    atomic.Int64 // sessions that were begun
	carried  atomic.Int64 // calls that were carried out
	received atomic.Int64 // requests
	fault    atomic.Value // "", "reset", "503", "hang"
}

func newRemote(t *testing.T) *remote {
	t.Helper()
	r := &remote{}
	r.fault.Store("")
	l, err := testenv.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewUnstartedServer(r)
	_ = r.Listener.Close()
	r.Listener = l
	r.Start()
	t.Cleanup(func() { r.fault.Store(""); r.CloseClientConnections(); r.Close() })
	return r
}

func (r *remote) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if req.Method != http.MethodPost || json.NewDecoder(req.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	r.received.Add(1)
	fault, _ := r.fault.Load().(string)
	switch call := m.Method == "tools/call"; {
	case call && fault == "reset":
		panic(http.ErrAbortHandler)
	case call && fault == "503":
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case fault == "hang" && (call || m.Method == "ping" || m.Method == "tools/list"):
		<-req.Context().Done()
		return
	}
	session := fmt.Sprint("s", r.session.Load())
	if m.Method != "initialize" && m.Method != "server/discover" && req.Header.Get("Mcp-Session-Id") != session {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	var result string
	switch m.Method {
	case "initialize":
		r.hello.Add(1)
		w.Header().Set("Mcp-Session-Id", session)
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"remote","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		r.carried.Add(1)
		text, _ := json.Marshal(string(m.Params.Arguments))
		result = `{"content":[{"type":"text","text":` + string(text) + `}]}`
	case "ping":
		result = "{}"
	default:
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// TestHTTPServerRestarts: a server that was away and is back is reached again by
// the next call.
func TestHTTPServerRestarts(t *testing.T) {
	r := newRemote(t)
	p := open(t, upstream.Options{URL: r.URL, RetryDelay: time.Millisecond})
	p.text(t, call("echo", "{}"))
	addr := r.Listener.Addr().String()
	r.CloseClientConnections()
	r.Close()
	_, err := p.Call(t.Context(), call("echo", "{}"))
	if _, ok := errors.AsType[*upstream.LostError](err); ok { // it was written to a connection that was just closed
		_, err = p.Call(t.Context(), call("echo", "{}"))
	}
	if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "refused") {
		t.Fatalf("got %v", err)
	}
	// It fails at once, without a connection, and says when that changes.
	best := time.Hour
	for range 5 {
		if time.Until(*p.Status().NextTry) < 100*time.Millisecond { // this machine is busy: it would be tried
			<-time.After(time.Until(*p.Status().NextTry))
			if _, err := p.Call(t.Context(), call("echo", "{}")); err == nil || strings.Contains(err.Error(), "tried again in") {
				t.Fatalf("it was not tried: %v", err)
			}
		}
		began, next := time.Now(), *p.Status().NextTry
		_, err = p.Call(t.Context(), call("echo", "{}"))
		if time.Now().After(next) { // it is: it was tried
			continue
		}
		best = min(best, time.Since(began))
		if tool.KindOf(err) != tool.Unavailable || !strings.Contains(err.Error(), "tried again in ") {
			t.Fatal(err)
		}
	}
	if best > 100*time.Millisecond {
		t.Fatalf("it failed after %s", best)
	}
	again := httptest.NewUnstartedServer(r)
	_ = again.Listener.Close()
	again.Listener = listen(t, addr)
	again.Start()
	defer again.Close()
	<-time.After(time.Until(*p.Status().NextTry))
	began := time.Now()
	p.text(t, call("echo", "{}"))
	t.Logf("answered within %s", time.Since(began))
	again.CloseClientConnections()
}

// TestHTTPSessionLost: a server that has forgotten the session gets a new one and
// the same call, which it has not carried out.
func TestHTTPSessionLost(t *testing.T) {
	for _, isolation := range []upstream.Isolation{upstream.Shared, upstream.PerSession} {
		t.Run(string(isolation), func(t *testing.T) {
			r := newRemote(t)
			p := open(t, upstream.Options{URL: r.URL, Isolation: isolation})
			p.in(t, "a", "echo", "{}")
			before := r.hello.Load()
			r.session.Add(1)
			began := time.Now()
			_, told := p.in(t, "a", "echo", "{}")
			t.Logf("answered within %s", time.Since(began))
			if r.hello.Load() != before+1 || r.carried.Load() != 2 {
				t.Errorf("%d sessions begun, want one more than %d; %d calls carried out, want 2", r.hello.Load(), before, r.carried.Load())
			}
			want := 0
			if isolation == upstream.PerSession {
				want = 1
			}
			if len(told) != want || want == 1 && !strings.Contains(told[0], "has lost the session") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// TestBreaker: after three calls that failed on the way no more are sent until
// one probe has shown that the server is back.
func TestBreaker(t *testing.T) {
	for _, fault := range []string{"reset", "503"} {
		t.Run(fault, func(t *testing.T) {
			r := newRemote(t)
			p := open(t, upstream.Options{URL: r.URL})
			p.text(t, call("echo", "{}"))
			r.fault.Store(fault)
			lost, refused := 0, false
			for range 20 {
				if refused && time.Until(*p.Status().NextTry) < 100*time.Millisecond {
					break // this machine is busy: it would be tried
				}
				_, err := p.Call(t.Context(), call("echo", "{}"))
				switch {
				case err == nil:
					t.Fatal("it was answered")
				case tool.KindOf(err) == tool.Unavailable:
					refused = true
					if !strings.Contains(err.Error(), "3 calls failed one after the other") || !strings.Contains(err.Error(), "tried again in 1 s") {
						t.Fatal(err)
					}
				default:
					lost++
				}
			}
			if lost != 3 {
				t.Errorf("%d calls were sent, want 3", lost)
			}
			st := p.Status()
			if st.State != tool.StateFailed || st.NextTry == nil {
				t.Fatalf("status %+v", st)
			}
			r.fault.Store("")
			hello := r.hello.Load()
			<-time.After(time.Until(*st.NextTry))
			var calls sync.WaitGroup
			for range 10 {
				calls.Go(func() {
					if _, err := p.Call(t.Context(), call("echo", "{}")); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			if n := r.hello.Load() - hello; n != 1 {
				t.Errorf("%d probes, want 1", n)
			}
		})
	}
}

// TestHangingServerIsReplaced: one that answers no health check is replaced, one
// that answers is left alone.
func TestHangingServerIsReplaced(t *testing.T) {
	r := newRemote(t)
	p := open(t, upstream.Options{URL: r.URL, HealthCheck: 200 * time.Millisecond, Keep: true})
	p.text(t, call("echo", "{}"))
	seen := r.received.Load()
	for r.received.Load() < seen+5 {
		<-time.After(10 * time.Millisecond)
	}
	if st := p.Status(); st.State != tool.StateReady || st.Restarts != 0 {
		t.Fatalf("a good server was replaced: %+v", st)
	}
	r.fault.Store("hang")
	p.until(t, "replaced", func() bool { return p.Status().Restarts > 0 })
	r.fault.Store("")
	p.text(t, call("echo", "{}"))
}

// TestHangingChildIsReplaced: new calls get a new child, and the call that runs on
// the old one is left alone.
func TestHangingChildIsReplaced(t *testing.T) {
	for _, isolation := range []upstream.Isolation{upstream.Shared, upstream.PerSession} {
		t.Run(string(isolation), func(t *testing.T) {
			count := filepath.Join(t.TempDir(), "count")
			p := start(t, upstreamtest.Script{CountFile: count}, upstream.Options{
				Isolation: isolation, HealthCheck: 200 * time.Millisecond, Tools: nothing,
			})
			old := p.pid(t, "a")
			waiting := p.wait(t, "a")
			p.in(t, "a", "mute", "{}")
			var told notes
			limit := time.After(time.Minute)
			for {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				c := call("echo", "{}")
				c.Key.Session, c.Notes = "a", &told
				_, err := p.Call(ctx, c)
				cancel()
				if err == nil {
					if isolation == upstream.PerSession && (len(told) != 1 || !strings.Contains(told[0], "stopped answering")) {
						t.Errorf("told %q", told)
					}
					break
				}
				select {
				case <-limit:
					t.Fatalf("still no answer: %v; status %+v", err, p.Status())
				default:
				}
			}
			if n := upstreamtest.Starts(t, count); n != 2 {
				t.Errorf("started %d times", n)
			}
			select {
			case err := <-waiting:
				t.Errorf("the call in flight failed: %v", err)
			default:
			}
			if err := old.Kill(); err != nil {
				t.Errorf("the old child is not there any more: %v", err)
			}
			if err := <-waiting; err == nil {
				t.Error("a dead child answered")
			}
		})
	}
}

func listen(t *testing.T, addr string) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
