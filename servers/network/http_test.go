package network_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/servers/network"
)

// serve runs a web server on loopback and returns its host:port.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestHTTPCheck(t *testing.T) {
	var agent atomic.Value
	web := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent.Store(r.UserAgent() + " " + r.Method + " " + r.Host)
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Server", "test/1")
		w.Header().Set("X-Cache", "HIT")
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "first line\nsecond\x1b[31m line "+strings.Repeat("é", 500))
	}))
	cs := client(t, network.Options{Allow: []string{web}}, network.Hooks{})
	text, isError := call(t, cs, "http_check", args{"url": web + "/old"}) // without a scheme
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^- status: 418 I'm a teapot$`, `^- elapsed: \d+\.\d ms$`, `^- final_url: http://`+web+`/new$`,
		`^- redirect: 301 Moved Permanently from http://`+web+`/old$`, `^- server: test/1`, `^- content-type: text/plain$`, `^- x-cache: HIT$`,
		`^- body: first line second\?\[31m line é+…$`)
	if a := agent.Load(); a != "Tenon/1.0 (network check) GET "+web {
		t.Errorf("the server saw %q", a)
	}
	body := text[strings.Index(text, "- body: ")+len("- body: "):]
	if n := len([]rune(strings.TrimSpace(body))); n != 200 {
		t.Errorf("the preview has %d characters", n)
	}
}

func TestHTTPCheckBodies(t *testing.T) {
	var sent atomic.Int64
	web := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/binary":
			w.Write([]byte{0x89, 'P', 'N', 'G', 0, 1, 2})
		case "/endless":
			for {
				n, err := w.Write(make([]byte, 64<<10))
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		}
	}))
	cs := client(t, network.Options{Allow: []string{web}}, network.Hooks{})
	for path, want := range map[string]string{"/binary": "body: (not text)", "/empty": "body: (empty)", "/endless": "body: (not text)"} {
		if text, isError := call(t, cs, "http_check", args{"url": web + path}); isError || !strings.Contains(text, want) {
			t.Errorf("%s: %s", path, text)
		}
	}
	if n := sent.Load(); n > 32<<20 { // what the buffers of two sockets hold
		t.Errorf("%d bytes of an endless body were taken", n)
	}
}

func TestHTTPCheckSaysWhatIsWrong(t *testing.T) {
	release := make(chan struct{})
	slow := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer close(release)
	free := listen(t, "127.0.0.1:0")
	closed := free.Addr().String()
	free.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	resolver, _ := nameServer(t, zone{"x.test A": {"127.0.0.1"}})
	cs := client(t, network.Options{Allow: []string{"127.0.0.0/8"}, Resolver: resolver}, network.Hooks{})
	for url, want := range map[string]string{
		slow:                        "no answer within 1s",
		closed:                      "connection refused",
		secure.URL:                  "the certificate is not valid",
		"https://" + slow:           "", // either is right: no TLS, or no answer
		"http://none.test/":         "there is no host none.test. Check the spelling; where it is right, or was not given by you,",
		"":                          "url is empty",
		"http://":                   "no host",
		"ftp://example.com/":        "scheme ftp",
		"javascript:alert(1)":       "",
		"http://u:hush@example.com": "before @",
		"http://127.0.0.1:99999/":   "",
	} {
		text, isError := call(t, cs, "http_check", args{"url": url, "timeout_sec": 0.1}) // clamped to 1
		if !isError || !strings.Contains(text, want) || strings.Contains(text, "hush") {
			t.Errorf("%q: got %q, want %q", url, text, want)
		}
	}
}

func TestHTTPHeaders(t *testing.T) {
	web := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "session=hush; Path=/; HttpOnly")
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
			return
		}
		w.Header().Set("Strict-Transport-Security", "max-age=1")
		for i := range 300 {
			w.Header().Add("X-Many", fmt.Sprint(i, strings.Repeat("y", 40)))
		}
	}))
	text, isError := call(t, client(t, network.Options{Allow: []string{web}}, network.Hooks{}), "http_headers", args{"url": web})
	if isError {
		t.Fatal(text)
	}
	mustMatch(t, text, `^## Answer: 200 OK from http://`+web+`/next$`, `^- Strict-Transport-Security: max-age=1$`, `^- Set-Cookie: session=•••; Path=/; HttpOnly$`, `left out`)
	if strings.Contains(text, "hush") {
		t.Error("a cookie is shown")
	}
	web = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/next", http.StatusFound)
		}
	}))
	text, _ = call(t, client(t, network.Options{Allow: []string{web}}, network.Hooks{}), "http_headers", args{"url": web})
	mustMatch(t, text, `^## Redirect 1: 302 Found from http://`+web+`$`, `^- Location: /next$`)
}

func TestCheckPort(t *testing.T) {
	open := newCanary(t, "127.0.0.1:0")
	free := listen(t, "127.0.0.1:0")
	closed := free.Addr().String()
	free.Close()
	cs := client(t, network.Options{Allow: []string{"127.0.0.1"}}, network.Hooks{})
	port := func(a string) int {
		var n int
		fmt.Sscan(a[strings.LastIndexByte(a, ':')+1:], &n)
		return n
	}
	text, isError, out := callFull(t, cs, "check_port", args{"host": "127.0.0.1", "port": port(open.Addr().String())})
	if isError || !strings.Contains(text, "is reachable") || out["state"] != "open" || out["address"] != open.Addr().String() {
		t.Errorf("open: %q %v", text, out)
	}
	text, isError, out = callFull(t, cs, "check_port", args{"host": "127.0.0.1", "port": port(closed)})
	if isError || !strings.Contains(text, "refused the connection") || out["state"] != "refused" {
		t.Errorf("closed: %q %v", text, out)
	}
	for _, p := range []int{0, -1, 65536, 1 << 40} {
		if text, isError := call(t, cs, "check_port", args{"host": "127.0.0.1", "port": p}); !isError || !strings.Contains(text, "between 1 and 65535") {
			t.Errorf("port %d: %q", p, text)
		}
	}
}

// TestCheckPortTimeout meets a host that never answers.
func TestCheckPortTimeout(t *testing.T) {
	start := time.Now()
	text, isError, out := callFull(t, client(t, network.Options{}, silent()), "check_port", args{"host": "93.184.215.14", "port": 80, "timeout_sec": 0.001})
	if isError || out["state"] != "timeout" || !strings.Contains(text, "did not answer within 500ms") {
		t.Errorf("got %q %v", text, out)
	}
	if d := time.Since(start); d < 400*time.Millisecond || d > 30*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestWhatNobodySees is in no answer, however a site sends it: selectors and fillers are
// no control characters, and yet carry text that a model reads.
func TestWhatNobodySees(t *testing.T) {
	const unseen = "\U000e0041\u200b\u202e\ufe01\U000e0101\u3164\u034f"
	at := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", "name"+unseen)
		_, _ = io.WriteString(w, "<title>body"+unseen+"</title>")
	}))
	cs := client(t, network.Options{Allow: []string{"127.0.0.1"}}, network.Hooks{})
	for _, tool := range []string{"http_check", "http_headers"} {
		text, isError := call(t, cs, tool, args{"url": at})
		if isError || !strings.Contains(text, "name") || strings.ContainsAny(text, unseen) {
			t.Errorf("%s: %q", tool, text)
		}
	}
}
