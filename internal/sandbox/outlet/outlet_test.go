package outlet_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox/outlet"
)

// A log is written to concurrently.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// proxied serves a line on loopback, as a back end does, and returns a client that uses it.
func proxied(t *testing.T, o outlet.Options) (*http.Client, string) {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	out, err := outlet.New(o)
	if err != nil {
		t.Fatal(err)
	}
	var listen net.ListenConfig
	l, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	line := out.For("sbx_test")
	var serving sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { line.Serve(ctx, conn) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		serving.Wait()
	})
	at := &url.URL{Scheme: "http", Host: l.Addr().String()}
	trust := &tls.Config{InsecureSkipVerify: true} // of a test's own server
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(at), TLSClientConfig: trust, DisableKeepAlives: true}}, at.Host
}

func get(t *testing.T, c *http.Client, at string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// site answers, and counts who has come.
func site(t *testing.T, start func(http.Handler) *httptest.Server) (at *httptest.Server, port string, came *atomic.Int32) {
	t.Helper()
	came = new(atomic.Int32)
	at = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		case "/echo":
			_, _ = io.Copy(w, r.Body)
		default:
			_, _ = fmt.Fprintf(w, "here %s %s", r.Host, r.Header.Get("Proxy-Authorization"))
		}
	}))
	t.Cleanup(at.Close)
	u, err := url.Parse(at.URL)
	if err != nil {
		t.Fatal(err)
	}
	return at, u.Port(), came
}

// names resolves for tests; each answer is given once, the last one for ever.
func names(answers map[string][]string) func(context.Context, string) ([]netip.Addr, error) {
	var mu sync.Mutex
	return func(_ context.Context, name string) ([]netip.Addr, error) {
		mu.Lock()
		defer mu.Unlock()
		all := answers[name]
		if len(all) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		if len(all) > 1 {
			answers[name] = all[1:]
		}
		return []netip.Addr{netip.MustParseAddr(all[0])}, nil
	}
}

func TestReached(t *testing.T) {
	plain, port, _ := site(t, httptest.NewServer)
	secure, sport, _ := site(t, httptest.NewTLSServer)
	said := &log{}
	c, _ := proxied(t, outlet.Options{
		Server: "python", Network: []string{"127.0.0.1:" + port, "127.0.0.1:" + sport, "site.test:" + port, "*.site.test:" + sport},
		Logger: slog.New(slog.NewTextHandler(said, nil)), Lookup: names(map[string][]string{"site.test": {"127.0.0.1"}, "a.site.test": {"127.0.0.1"}}),
	})
	for at, want := range map[string]string{
		plain.URL: "here 127.0.0.1:" + port + " ", secure.URL: "here 127.0.0.1:" + sport + " ",
		"http://site.test:" + port + "/x": "here site.test:" + port + " ", "https://a.site.test:" + sport: "here a.site.test:" + sport + " ",
	} {
		if status, body := get(t, c, at); status != 200 || body != want {
			t.Errorf("%s: %d %s", at, status, body)
		}
	}
	for _, at := range []string{plain.URL, secure.URL} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/echo", strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil || len(b) != 1<<20 {
			t.Errorf("%v, %d bytes", err, len(b))
		}
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); strings.Count(said.String(), "connection of a sandbox") < 6 && time.Now().Before(end); {
		<-tick.C
	}
	for _, want := range []string{"sandbox=sbx_test", "host=site.test:" + port, "host=a.site.test:" + sport, "received="} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s is not in the log: %s", want, said.String())
		}
	}
}

// TestRefused asks for what must not be reached, by plain requests and tunnels.
func TestRefused(t *testing.T) {
	inside, port, came := site(t, httptest.NewServer)
	everything := func() func(context.Context, string) ([]netip.Addr, error) {
		return names(map[string][]string{
			"private.test": {"10.1.2.3"}, "self.test": {"127.0.0.1"}, "meta.test": {"169.254.169.254"}, "six.test": {"::1"}, "mapped.test": {"::ffff:127.0.0.1"},
			"listed.test": {"127.0.0.1"}, "a.listed.test": {"10.0.0.1"},
		})
	}
	public, _ := proxied(t, outlet.Options{Server: "python", Network: []string{outlet.Public}, Lookup: everything()})
	few, _ := proxied(t, outlet.Options{Server: "python", Network: []string{"listed.test:" + port, "*.listed.test", "10.0.0.0/8:81"}, Lookup: everything()})
	for _, host := range []string{
		"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port, "169.254.169.254", "10.1.2.3", "0.0.0.0:" + port, "[::ffff:127.0.0.1]:" + port, "[fd00:ec2::254]",
		"2130706433:" + port, "127.1:" + port, "0x7f.0.0.1:" + port, "private.test", "self.test:" + port, "self.test", "meta.test", "six.test", "mapped.test", "listed.test:" + port, "listed.test", "a.listed.test",
		"nothing.test", "metadata.localhost:" + port, "93.184.215.14:22", "example.com:25", "localhost.:" + port,
	} {
		for name, c := range map[string]*http.Client{"public": public, "few": few} {
			for _, scheme := range []string{"http", "https"} {
				status, body := get(t, c, scheme+"://"+host+"/")
				if scheme == "http" && status != http.StatusForbidden && (host != "nothing.test" || status != http.StatusBadGateway) || scheme == "https" && status != 0 {
					t.Errorf("%s: %s://%s: %d %s", name, scheme, host, status, body)
				}
			}
		}
	}
	for name, c := range map[string]*http.Client{"public": public, "few": few} {
		if status, body := get(t, c, "https://169.254.169.254/"); !strings.Contains(body, "refused") {
			t.Errorf("%s: the reason is not told: %d %s", name, status, body)
		}
	}
	c, _ := proxied(t, outlet.Options{Server: "python", Network: []string{strings.TrimPrefix(inside.URL, "http://")}})
	if n := came.Load(); n != 0 {
		t.Errorf("a server inside was reached %d times", n)
	}
	if status, body := get(t, c, inside.URL+"/away"); status != http.StatusForbidden || !strings.Contains(body, "169.254.169.254") {
		t.Errorf("a redirect: %d %s", status, body)
	}
}

// TestRebinding answers a name with a public address first and with a private one then:
// it is asked once for each connection, and that answer is dialled.
func TestRebinding(t *testing.T) {
	_, port, came := site(t, httptest.NewServer)
	var asked atomic.Int32
	c, _ := proxied(t, outlet.Options{Server: "python", Network: []string{"moves.test:" + port}, Lookup: func(context.Context, string) ([]netip.Addr, error) {
		if asked.Add(1)%2 == 1 {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}})
	for range 4 {
		if status, body := get(t, c, "http://moves.test:"+port+"/"); status != http.StatusForbidden {
			t.Errorf("got %d %s", status, body)
		}
	}
	if came.Load() != 0 || asked.Load() != 4 {
		t.Errorf("reached %d times, asked %d times", came.Load(), asked.Load())
	}
}

func TestHostile(t *testing.T) {
	_, port, came := site(t, httptest.NewServer)
	o := outlet.Options{Server: "python", Network: []string{"127.0.0.1:" + port}, MaxBytes: 200_000}
	_, patient := proxied(t, o)
	o.Idle = 300 * time.Millisecond
	_, at := proxied(t, o)
	ask := func(at, request string) string {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(conn, request)
		var said strings.Builder
		resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &said)), nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%.60q: neither answered nor cut off", request)
		}
		return said.String()
	}
	if got := ask(at, "\x16\x03\x01"); got != "" && !strings.HasPrefix(got, "HTTP/1.1 4") { // it waits for more, and is cut off
		t.Errorf("no request: got %.300q", got)
	}
	for request, want := range map[string]string{
		"GET / HTTP/1.1\r\n\r\n":     "400",
		"nonsense\r\n\r\n":           "400",
		"CONNECT / HTTP/1.1\r\n\r\n": "40", "CONNECT 127.0.0.1 HTTP/1.1\r\nHost: x\r\n\r\n": "403", "CONNECT 127.0.0.1:0 HTTP/1.1\r\nHost: x\r\n\r\n": "403",
		"GET http://127.0.0.1:" + port + "/ HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: secret\r\nConnection: x-own\r\nX-Own: 1\r\n\r\n": "here 127.0.0.1:" + port + " ",
		"GET ftp://127.0.0.1:" + port + "/ HTTP/1.1\r\nHost: x\r\n\r\n":                                                                           "400",
		"GET http://10.0.0.1\r\nX: y/ HTTP/1.1\r\n\r\n":                                                                                           "400",
		"GET http://a/" + strings.Repeat("x", 70_000):                                                                                             "", // who is still sending may not read the answer
	} {
		if got := ask(patient, request); !strings.Contains(got, want) || strings.Contains(got, "secret") || want == "" && got != "" && !strings.HasPrefix(got, "HTTP/1.1 4") {
			t.Errorf("%.60q: got %.300q", request, got)
		}
	}
	if came.Load() != 1 {
		t.Errorf("reached %d times", came.Load())
	}
	ask(patient, "POST http://127.0.0.1:"+port+"/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n"+strings.Repeat("x", 300_000))
	if got := ask(patient, "GET http://127.0.0.1:"+port+"/ HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.Contains(got, "503") {
		t.Errorf("bytes are not bounded: %.300q", got)
	}
}

func TestOptions(t *testing.T) {
	for _, bad := range []string{"", "*", "http://x", "a b", "example.com:0", "example.com:99999", "-x", "127.1"} {
		if _, err := outlet.New(outlet.Options{Network: []string{bad}}); err == nil || !strings.Contains(err.Error(), "option network") || strings.Contains(err.Error(), "option allow") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"public", "example.com", "*.example.com:8443", "10.0.0.0/8", "10.0.0.0/8:443", "fd00::1", "[fd00::1]:443", "fd00::/8", "93.184.215.14"} {
		if _, err := outlet.New(outlet.Options{Network: []string{good}}); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}
