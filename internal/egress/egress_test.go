package egress_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, o egress.Options) *egress.Client {
	t.Helper()
	if o.Proxy == "" {
		o.Proxy = "none"
	}
	if o.Polite.Every == 0 {
		o.Polite.Every = time.Nanosecond
	}
	c, err := egress.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve runs a web server on loopback and returns its host:port.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// names resolves the names of a test, each to what is next in its list.
func names(t *testing.T, allow []string, answers map[string][]string) *egress.Guard {
	t.Helper()
	g, err := egress.NewGuard("test", allow)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	g.Lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
		mu.Lock()
		defer mu.Unlock()
		list := answers[name]
		if len(list) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}
		if len(list) > 1 {
			answers[name] = list[1:]
		}
		return []netip.Addr{netip.MustParseAddr(list[0])}, nil
	}
	return g
}

func TestDo(t *testing.T) {
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new?q=1", http.StatusFound)
			return
		}
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s %q", r.Method, r.URL, r.UserAgent(), r.Header.Get("X-Key"), b)
	})
	c := client(t, egress.Options{Allow: []string{web}})
	got, err := c.Do(t.Context(), egress.Request{URL: "http://" + web + "/old#part", Header: http.Header{"X-Key": {"k"}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "GET /new?q=1 " + egress.UserAgent() + ` k ""`; string(got.Body) != want || got.Status != 418 || got.OK() ||
		got.URL != "http://"+web+"/new?q=1" || len(got.Redirects) != 1 || got.Redirects[0] != "http://"+web+"/old" {
		t.Errorf("%+v: %s, want %s", got, got.Body, want)
	}
	got, err = c.Do(t.Context(), egress.Request{Method: "POST", URL: "http://" + web + "/p", Body: []byte("data")})
	if err != nil || !strings.HasSuffix(string(got.Body), `"data"`) {
		t.Errorf("%s, %v", got.Body, err)
	}
	resp, err := c.HTTP().Get("http://" + web + "/lib")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(b), egress.UserAgent()) {
		t.Errorf("%s", b)
	}
}

// TestNothingInside is reached: by no spelling, name, redirect or second answer.
func TestNothingInside(t *testing.T) {
	var hits atomic.Int32
	trap := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(trap)
	var to atomic.Value
	open := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to.Load().(string))
		w.WriteHeader(http.StatusFound)
	})
	g := names(t, []string{open}, map[string][]string{"inside.test": {"127.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"}, "nat.test": {"64:ff9b::7f00:1"}, "cgnat.test": {"100.64.0.1"}})
	c := client(t, egress.Options{Guard: g})
	for _, u := range []string{
		"http://127.0.0.1:" + port, "http://localhost:" + port, "http://[::1]:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://2130706433:" + port,
		"http://0x7f.1:" + port, "http://127.1:" + port, "http://0:" + port, "http://１２７.０.０.１:" + port, "http://[64:ff9b::7f00:1]:" + port,
		"http://[2002:7f00:1::]:" + port, "http://inside.test:" + port, "http://mapped.test:" + port, "http://nat.test:" + port, "http://cgnat.test:" + port,
		"http://169.254.169.254/", "http://[fd00:ec2::254]/", "http://168.63.129.16/", "http://100.100.100.200/", "http://10.0.0.1/",
		"http://user@127.0.0.1:" + port, "file:///etc/passwd", "gopher://127.0.0.1:" + port, "http:127.0.0.1:" + port, "http://127.0.0.1:" + port + "#@example.com",
	} {
		if _, err := c.Do(t.Context(), egress.Request{URL: u}); err == nil {
			t.Errorf("%s was answered", u)
		}
		to.Store(u)
		if _, err := c.Do(t.Context(), egress.Request{URL: "http://" + open}); err == nil {
			t.Errorf("a redirect to %s was answered", u)
		}
		if resp, err := c.HTTP().Get("http://" + open); err == nil {
			resp.Body.Close()
			t.Errorf("a redirect of a library to %s was answered", u)
		}
		if hits.Load() > 0 {
			t.Fatalf("%s was reached", u)
		}
	}
	to.Store("/")
	if _, err := c.Do(t.Context(), egress.Request{URL: "http://" + open}); err == nil || !strings.Contains(err.Error(), "more than 10 times") {
		t.Errorf("%v", err)
	}
	_, err := c.Do(t.Context(), egress.Request{URL: "http://inside.test:" + port})
	if r := (*egress.Refusal)(nil); !errors.As(err, &r) || !strings.Contains(err.Error(), `"inside.test:`+port+`" to the option allow of the server test`) {
		t.Errorf("%v", err)
	}
}

// TestRebinding leads a name elsewhere after it was checked.
func TestRebinding(t *testing.T) {
	var asked atomic.Int32
	web := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "first") })
	_, port, _ := net.SplitHostPort(web)
	g := names(t, []string{"127.0.0.1"}, map[string][]string{"rebind.test": {"127.0.0.1", "127.0.0.2"}})
	lookup := g.Lookup
	g.Lookup = func(ctx context.Context, n string) ([]netip.Addr, error) { asked.Add(1); return lookup(ctx, n) }
	c := client(t, egress.Options{Guard: g})
	got, err := c.Do(t.Context(), egress.Request{URL: "http://rebind.test:" + port})
	if err != nil || string(got.Body) != "first" || asked.Load() != 1 {
		t.Fatalf("%v, asked %d times", err, asked.Load())
	}
	c.Close() // the connection
	if _, err := c.Do(t.Context(), egress.Request{URL: "http://rebind.test:" + port}); err == nil {
		t.Error("the second answer was taken")
	}
}

func TestBounds(t *testing.T) {
	var sent atomic.Int64
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level that there is
			zeros := make([]byte, 64<<10)
			for range 1 << 10 {
				n, err := z.Write(zeros)
				z.Flush()
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		case "/exact":
			fmt.Fprint(w, strings.Repeat("x", 1<<20))
		case "/endless":
			for r.Context().Err() == nil {
				fmt.Fprint(w, strings.Repeat("x", 1<<10))
			}
		case "/slow":
			fmt.Fprint(w, "begin")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/never":
			<-r.Context().Done()
		case "/headers":
			for i := range 100 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("y", 1000))
			}
		}
	})
	c := client(t, egress.Options{Allow: []string{web}, MaxBody: 1 << 20, Times: egress.Times{Total: time.Minute, Header: time.Minute}})
	for path, want := range map[string]string{
		"/bomb": "larger than 1 MiB", "/endless": "larger than 1 MiB", "/slow": "did not answer in whole in time", "/never": "did not answer in whole in time",
		"/headers": "", "?" + strings.Repeat("x", 9000): "longer than 8192 bytes",
	} {
		var limit time.Duration
		if strings.HasSuffix(want, "in time") {
			limit = 200 * time.Millisecond
		}
		start := time.Now()
		_, err := c.Do(t.Context(), egress.Request{URL: "http://" + web + "/" + strings.TrimPrefix(path, "/"), Timeout: limit})
		if err == nil || !strings.Contains(err.Error(), want) || time.Since(start) > 30*time.Second {
			t.Errorf("%.20s: %v after %v", path, err, time.Since(start))
		}
	}
	var tooLarge *egress.SizeError
	if _, err := c.Do(t.Context(), egress.Request{URL: "http://" + web + "/exact", MaxBody: 1<<20 - 1}); !errors.As(err, &tooLarge) || !strings.Contains(err.Error(), "1048575 bytes") {
		t.Errorf("%v", err)
	}
	got, err := c.Do(t.Context(), egress.Request{URL: "http://" + web + "/exact"})
	if err != nil || len(got.Body) != 1<<20 || got.Cut {
		t.Errorf("exact: %v", err)
	}
	got, err = c.Do(t.Context(), egress.Request{URL: "http://" + web + "/bomb", Cut: true})
	if err != nil || len(got.Body) != 1<<20 || !got.Cut {
		t.Errorf("cut: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(ctx, egress.Request{URL: "http://" + web + "/never"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestServiceIsOneHost holds that what an operator set for a service is open to
// that client alone, and that the client goes nowhere else.
func TestServiceIsOneHost(t *testing.T) {
	var leaked atomic.Value
	leaked.Store("")
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { leaked.Store(r.Header.Get("X-Api-Key") + "reached") })
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://"+other+"/", http.StatusTemporaryRedirect)
			return
		}
		fmt.Fprint(w, "key "+r.Header.Get("X-Api-Key"))
	})
	pages := client(t, egress.Options{Allow: []string{other}})
	s, err := pages.Service("http://" + api + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	key := http.Header{"x-api-key": {"not-a-real-key-000"}}
	got, err := s.Do(t.Context(), egress.Request{URL: "http://" + api + "/v1", Header: key})
	if err != nil || string(got.Body) != "key not-a-real-key-000" {
		t.Fatalf("%v", err)
	}
	for _, u := range []string{"http://" + api + "/away", "http://" + other, "https://example.com"} {
		if _, err := s.Do(t.Context(), egress.Request{URL: u, Header: key}); err == nil || !strings.Contains(err.Error(), "is not the service") {
			t.Errorf("%s: %v", u, err)
		}
	}
	if _, err := pages.Do(t.Context(), egress.Request{URL: "http://" + api}); err == nil {
		t.Error("the service is open to pages")
	}
	if leaked.Load() != "" {
		t.Errorf("the other host was reached: %s", leaked.Load())
	}
	// A client for pages follows, and tells the other host nothing.
	both := client(t, egress.Options{Allow: []string{other, api}})
	if _, err := both.Do(t.Context(), egress.Request{URL: "http://" + api + "/away", Header: key}); err != nil || leaked.Load() != "reached" {
		t.Errorf("%v, %s", err, leaked.Load())
	}
	if _, err := both.Do(t.Context(), egress.Request{Method: "POST", Body: []byte("secret"), URL: "http://" + api + "/away"}); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("%v", err)
	}
	for _, base := range []string{"", "ftp://x", "http://user:hush@host", "http://169.254.169.254/latest", "http://2130706433"} {
		if _, err := pages.Service(base); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestRetry(t *testing.T) {
	var n atomic.Int32
	var status atomic.Int32
	after := ""
	web := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= 2 {
			w.Header().Set("Retry-After", after)
			if status.Load() == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(int(status.Load()))
			return
		}
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "third%s", b)
	})
	c := client(t, egress.Options{Allow: []string{web}})
	waits := []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	for _, tt := range []struct {
		status   int
		after    string
		r        egress.Request
		attempts int32
	}{
		{503, "", egress.Request{Retry: egress.Retry{Waits: waits}}, 3},
		{429, "0", egress.Request{Retry: egress.Retry{Waits: waits, Jitter: 0.2}}, 3},
		{0, "", egress.Request{Retry: egress.Retry{Waits: waits}}, 3},
		{503, "", egress.Request{Retry: egress.Retry{Waits: waits[:1]}}, 2},
		{503, "", egress.Request{}, 1},
		{404, "", egress.Request{Retry: egress.Retry{Waits: waits}}, 1},
		{429, "3600", egress.Request{Retry: egress.Retry{Waits: waits}}, 1},                                // longer than is obeyed
		{429, "20", egress.Request{Retry: egress.Retry{Waits: waits}, Timeout: 5 * time.Second}, 1},        // longer than there is time
		{503, "", egress.Request{Method: "POST", Body: []byte("x"), Retry: egress.Retry{Waits: waits}}, 1}, // might take effect twice
		{503, "", egress.Request{Method: "POST", Body: []byte("x"), Retry: egress.Retry{Waits: waits, Unsafe: true}}, 3},
	} {
		n.Store(0)
		status.Store(int32(tt.status))
		after = tt.after
		tt.r.URL = "http://" + web
		resp, err := c.Do(t.Context(), tt.r)
		if n.Load() != tt.attempts || err == nil && tt.status != 0 && resp.Attempts != int(tt.attempts) { // the library repeats by itself where a kept connection broke
			t.Errorf("%+v: %d attempts, %v", tt, n.Load(), err)
		}
		if tt.attempts < 3 && err == nil && resp.Status != tt.status {
			t.Errorf("%+v: %d", tt, resp.Status)
		}
		if tt.attempts == 3 && (err != nil || string(resp.Body) != "third"+string(tt.r.Body)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestRefusalsAreNotRepeated holds too that the wait is as long as was said.
func TestRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := egress.NewGuard("", nil)
		if err != nil {
			t.Fatal(err)
		}
		var at []time.Duration
		start := time.Now()
		g.Dial = func(context.Context, string, string) (net.Conn, error) {
			at = append(at, time.Since(start))
			return nil, errors.New("down")
		}
		c := client(t, egress.Options{Guard: g})
		r := egress.Retry{Waits: egress.Seconds(2, 4, 8)}
		_, err = c.Do(t.Context(), egress.Request{URL: "http://8.8.8.8/?key=hush", Retry: r})
		if want := "[0s 2s 6s 14s]"; fmt.Sprint(at) != want || err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v, want %s; %v", at, want, err)
		}
		at = nil
		start = time.Now()
		if _, err = c.Do(t.Context(), egress.Request{URL: "http://10.0.0.1/", Retry: r}); err == nil || time.Since(start) > 0 {
			t.Errorf("a refusal was repeated: %v after %v", err, time.Since(start))
		}
	})
}

func TestPolite(t *testing.T) {
	var now, most atomic.Int32
	two, both := make(chan struct{}), sync.Once{}
	web := serve(t, func(_ http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			m := most.Load()
			if n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		if n >= 2 {
			both.Do(func() { close(two) })
		}
		select { // until there were two at once, however slow they come
		case <-two:
			<-time.After(20 * time.Millisecond)
		case <-time.After(time.Minute):
		}
	})
	c := client(t, egress.Options{Allow: []string{web}, Polite: egress.Polite{AtOnce: 2, Every: 10 * time.Millisecond}})
	start := time.Now()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, err := c.Do(t.Context(), egress.Request{URL: "http://" + web}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if d := time.Since(start); most.Load() != 2 || d < 80*time.Millisecond {
		t.Errorf("%d at once, all in %v", most.Load(), d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	both.Do(func() { close(two) }) // from here on they come one by one
	slow := client(t, egress.Options{Allow: []string{web}, Polite: egress.Polite{AtOnce: 1, Every: time.Hour}})
	if _, err := slow.Do(t.Context(), egress.Request{URL: "http://" + web}); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.Do(ctx, egress.Request{URL: "http://" + web}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestProxy holds that a name is checked before the proxy gets it.
func TestProxy(t *testing.T) {
	var seen atomic.Value
	seen.Store("")
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Method + " " + r.URL.String() + " " + r.Header.Get("Proxy-Authorization"))
		fmt.Fprint(w, "by proxy")
	})
	g := names(t, nil, map[string][]string{"public.test": {"93.184.215.14"}, "inside.test": {"10.0.0.1"}})
	o := egress.Options{Guard: g, Proxy: "http://u:not-a-real-key-000@" + proxy}
	c := client(t, o)
	got, err := c.Do(t.Context(), egress.Request{URL: "http://public.test/x"})
	if err != nil || string(got.Body) != "by proxy" || !strings.HasPrefix(seen.Load().(string), "GET http://public.test/x Basic ") {
		t.Errorf("%v, %s", err, seen.Load())
	}
	seen.Store("")
	for _, u := range []string{"http://inside.test/", "http://10.0.0.1/", "http://169.254.169.254/", "https://inside.test/", "http://unknown.test/"} {
		if _, err := c.Do(t.Context(), egress.Request{URL: u}); err == nil || seen.Load() != "" || strings.Contains(err.Error(), "not-a-real") {
			t.Errorf("%s: %v, proxy saw %s", u, err, seen.Load())
		}
	}
	o.ProxyResolves = true
	c = client(t, o)
	if _, err := c.Do(t.Context(), egress.Request{URL: "http://unknown.test/"}); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := c.Do(t.Context(), egress.Request{URL: "http://inside.test/"}); err == nil {
		t.Error("a name that leads inside went to the proxy")
	}
	t.Setenv("HTTP_PROXY", "http://"+proxy)
	t.Setenv("NO_PROXY", "direct.test")
	env, err := egress.New(egress.Options{Guard: g})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(env.Close)
	if got, err := env.Do(t.Context(), egress.Request{URL: "http://public.test/x"}); err != nil || string(got.Body) != "by proxy" {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"://", "ftp://u:hush@x", "u:hush@x:1", "nonsense"} {
		if _, err := egress.New(egress.Options{Proxy: bad}); err == nil || !strings.HasPrefix(err.Error(), "option proxy: ") || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestCertificates(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	at := strings.TrimPrefix(s.URL, "https://")
	if _, err := client(t, egress.Options{Allow: []string{at}}).Do(t.Context(), egress.Request{URL: s.URL}); err == nil || !strings.Contains(err.Error(), "certificate of") {
		t.Errorf("%v", err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := client(t, egress.Options{Allow: []string{at}, CAFile: file}).Do(t.Context(), egress.Request{URL: s.URL})
	if err != nil || got.Status != http.StatusNotFound {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(file, bytes.Repeat([]byte("x"), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{file, file + ".none"} {
		if _, err := egress.New(egress.Options{CAFile: f}); err == nil || !strings.HasPrefix(err.Error(), "option ca_file: ") {
			t.Errorf("%v", err)
		}
	}
}

func TestRefuseAndPorts(t *testing.T) {
	web := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/blocked", http.StatusFound) })
	no := errors.New("not this one")
	c := client(t, egress.Options{Allow: []string{web}, Ports: []int{80}})
	var asked []string
	_, err := c.Do(t.Context(), egress.Request{URL: "http://" + web + "/a", Refuse: func(u string) error {
		asked = append(asked, u)
		if strings.HasSuffix(u, "/blocked") {
			return no
		}
		return nil
	}})
	if !errors.Is(err, no) || err.Error() != no.Error() || len(asked) != 2 {
		t.Errorf("%v, asked %v", err, asked)
	}
	if _, err := c.Do(t.Context(), egress.Request{URL: "http://8.8.8.8:22/"}); err == nil || !strings.Contains(err.Error(), "none of those of the web") {
		t.Errorf("%v", err)
	}
	if _, err := c.Do(t.Context(), egress.Request{URL: "http://" + web, Header: http.Header{"host": {"x"}}}); err == nil {
		t.Error("the host was changed")
	}
}

func Example() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer s.Close()
	u, _ := url.Parse(s.URL)

	c, err := egress.New(egress.Options{Server: "reading", Allow: []string{u.Host}})
	if err != nil {
		panic(err)
	}
	defer c.Close()
	page, err := c.Do(context.Background(), egress.Request{URL: s.URL, Robots: true})
	fmt.Println(page.Status, string(page.Body), err)

	_, err = c.Do(context.Background(), egress.Request{URL: "http://169.254.169.254/latest/meta-data/"})
	fmt.Println(err)
	// Output:
	// 200 hello <nil>
	// refused: 169.254.169.254 is a cloud's metadata service. Only public addresses are reached; another spelling of the host will not help.
}
