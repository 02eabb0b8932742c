package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/frontend/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server until the test ends, or until the returned stop is called;
// stop gives what Run returned.
func serve(t *testing.T, o web.Options) (s *web.Server, stop func() error) {
	t.Helper()
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	s, err := web.Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	var ran error
	wg.Go(func() { ran = s.Run(ctx) })
	stop = func() error { cancel(); wg.Wait(); return ran }
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return s, stop
}

// client returns a client that keeps no connection beyond the test.
func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func answer(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "answer") }

func TestListenRefusesWhatIsNotLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "[2001:db8::1]:0", "[::ffff:192.0.2.1]:0"} {
		_, err := web.Listen(t.Context(), web.Options{Addr: addr, Handler: http.HandlerFunc(answer)})
		if !errors.Is(err, web.ErrNotLoopback) || !strings.Contains(err.Error(), "key") {
			t.Errorf("%s: got %v, want ErrNotLoopback and what is missing", addr, err)
		}
	}
	for _, addr := range []string{"8400", "127.0.0.1", "", "127.0.0.1:99999", "no.such.host.invalid:0"} {
		s, err := web.Listen(t.Context(), web.Options{Addr: addr, Handler: http.HandlerFunc(answer)})
		if err == nil {
			t.Errorf("%q: listens on %s, want an error", addr, s.Addr())
		}
	}
}

func TestListenOnLoopback(t *testing.T) {
	addrs := []string{"127.0.0.1:0", "localhost:0"}
	if runtime.GOOS == "linux" {
		addrs = append(addrs, "127.0.0.2:0")
	}
	if ln, err := net.Listen("tcp", "[::1]:0"); err == nil {
		ln.Close()
		addrs = append(addrs, "[::1]:0")
	}
	for _, addr := range addrs {
		s, _ := serve(t, web.Options{Addr: addr, Handler: http.HandlerFunc(answer)})
		res, err := client(t).Get(s.URL() + "/x")
		if err != nil {
			t.Fatalf("%s: %v", addr, err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || string(body) != "answer" {
			t.Errorf("%s: got %d %s", addr, res.StatusCode, body)
		}
	}
}

func TestListenOnBusyPort(t *testing.T) {
	s, _ := serve(t, web.Options{Handler: http.HandlerFunc(answer)})
	_, err := web.Listen(t.Context(), web.Options{Addr: s.Addr(), Handler: http.HandlerFunc(answer)})
	if !errors.Is(err, web.ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
}

func TestHostAndOrigin(t *testing.T) {
	s, _ := serve(t, web.Options{Handler: http.HandlerFunc(answer), AllowedHosts: []string{"tools.example", "one.example:8443"}})
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, host, header string // header: "Key: value", and more after " | "
		want               int
	}{
		{"own address", "127.0.0.1:" + port, "", 200},
		{"localhost", "localhost:" + port, "", 200},
		{"capitals and dot", "LocalHost.:" + port, "", 200},
		{"ipv6", "[::1]:" + port, "", 200},
		{"wrong port", "127.0.0.1:1", "", 403},
		{"no port", "127.0.0.1", "", 403},
		{"foreign name", "evil.example", "", 403},
		{"foreign name, right port", "evil.example:" + port, "", 403},
		{"name below localhost", "evil.localhost:" + port, "", 403},
		{"looks like loopback", "127.0.0.1.evil.example:" + port, "", 403},
		{"empty", "", "", 403},
		{"listed", "tools.example", "", 200},
		{"listed, any port", "Tools.Example:99", "", 200},
		{"below a listed one", "x.tools.example", "", 403},
		{"listed with port", "one.example:8443", "", 200},
		{"listed with another port", "one.example:1", "", 403},
		{"loopback origin", "127.0.0.1:" + port, "Origin: http://localhost:3000", 200},
		{"ipv6 origin", "127.0.0.1:" + port, "Origin: http://[::1]:3000", 200},
		{"foreign origin", "127.0.0.1:" + port, "Origin: https://evil.example", 403},
		{"foreign origin on a listed host", "tools.example", "Origin: https://evil.example", 403},
		{"second origin foreign", "127.0.0.1:" + port, "Origin: http://localhost | Origin: https://evil.example", 403},
		{"null origin", "127.0.0.1:" + port, "Origin: null", 403},
		{"file origin", "127.0.0.1:" + port, "Origin: file://localhost", 403},
		{"empty origin", "127.0.0.1:" + port, "Origin: ", 403},
		{"listed origin", "127.0.0.1:" + port, "Origin: https://tools.example", 200},
		{"origin with a user part", "127.0.0.1:" + port, "Origin: http://localhost@evil.example", 403},
		{"foreign page without origin", "127.0.0.1:" + port, "Sec-Fetch-Site: cross-site | Sec-Fetch-Mode: no-cors", 403},
		{"link on a foreign page", "127.0.0.1:" + port, "Sec-Fetch-Site: cross-site | Sec-Fetch-Mode: navigate", 200},
		{"page that sends text", "127.0.0.1:" + port, "Origin: http://localhost:3000 | Content-Type: text/plain | Content-Length: 2", 403},
		{"page that sends a form", "127.0.0.1:" + port, "Origin: http://localhost:3000 | Content-Type: application/x-www-form-urlencoded | Content-Length: 2", 403},
		{"page that does not say what", "127.0.0.1:" + port, "Origin: http://localhost:3000 | Transfer-Encoding: chunked", 403},
		{"page that sends JSON", "127.0.0.1:" + port, "Origin: http://localhost:3000 | Content-Type: application/json; charset=utf-8 | Content-Length: 2", 200},
		{"no page", "127.0.0.1:" + port, "Content-Type: text/plain | Content-Length: 2", 200},
		{"own page", "127.0.0.1:" + port, "Sec-Fetch-Site: same-origin", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, path := range []string{"/mcp", "/healthz", "/readyz"} {
				status, body := raw(t, s.Addr(), path, c.host, c.header)
				if status != c.want {
					t.Errorf("%s: got %d %s, want %d", path, status, body, c.want)
				}
				var why struct {
					Error string `json:"error"`
					Kind  string `json:"error_kind"`
				}
				if status == 403 && (json.Unmarshal(body, &why) != nil || why.Error == "" || why.Kind != "denied") {
					t.Errorf("%s: refused with %s, want JSON that says why", path, body)
				}
			}
		})
	}
}

// raw sends one GET with just these headers, as no client library would.
func raw(t *testing.T, addr, path, host, header string) (int, []byte) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n"
	for h := range strings.SplitSeq(header, " | ") {
		if h != "" {
			lines += h + "\r\n"
		}
	}
	if strings.Contains(header, "Content-Length: 2") {
		lines += "\r\n{}"
	} else if strings.Contains(header, "chunked") {
		lines += "\r\n2\r\n{}\r\n0\r\n"
	}
	if _, err := io.WriteString(conn, lines+"\r\n"); err != nil {
		t.Fatal(err)
	}
	reply, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	var status int
	head, body, _ := strings.Cut(string(reply), "\r\n\r\n")
	if _, err := fmt.Sscanf(head, "HTTP/1.1 %d", &status); err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	return status, []byte(body)
}

func TestHealth(t *testing.T) {
	s, _ := serve(t, web.Options{Handler: http.HandlerFunc(answer)})
	for path, want := range map[string]string{"/healthz": `{"status":"ok"}`, "/readyz": `{"status":"ready"}`} {
		res, err := client(t).Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || string(body) != want {
			t.Errorf("%s: got %d %s, want %s", path, res.StatusCode, body, want)
		}
	}
}

func TestBodyIsBounded(t *testing.T) {
	got := make(chan error, 1)
	s, _ := serve(t, web.Options{MaxBodyBytes: 1000, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		got <- err
	})})
	for _, c := range []struct {
		size int
		fits bool
	}{{1000, true}, {1001, false}} {
		// A reader of unknown length is sent in chunks, so no length can be believed.
		body := io.MultiReader(strings.NewReader(strings.Repeat("x", c.size)))
		res, err := client(t).Post(s.URL()+"/x", "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		_, over := errors.AsType[*http.MaxBytesError](<-got)
		if over == c.fits {
			t.Errorf("%d bytes: over is %v", c.size, over)
		}
	}
}

// A request that was begun is answered in whole, however the stop falls.
func TestStopLosesNoAnswer(t *testing.T) {
	var begun, whole atomic.Int64
	const text = "a whole answer"
	s, stop := serve(t, web.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun.Add(1)
		for i := range text {
			runtime.Gosched()
			_, _ = io.WriteString(w, text[i:i+1])
		}
	})})
	c := client(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				res, err := c.Post(s.URL()+"/x", "text/plain", strings.NewReader("body"))
				if err != nil {
					return // it never began
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err == nil && string(body) == text {
					whole.Add(1)
				}
			}
		})
	}
	for whole.Load() < 50 {
		runtime.Gosched()
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if begun.Load() != whole.Load() {
		t.Errorf("%d requests begun, %d answered in whole", begun.Load(), whole.Load())
	}
}
