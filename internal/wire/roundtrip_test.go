package wire_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenon-mcp/tenon/internal/wire"
)

// rawServer serves each connection by hand. n counts connections from 1.
func rawServer(t *testing.T, f func(n int, c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for n := 1; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(n, c)
			_ = c.Close()
		}
	})
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// TestHTTPNeverSent tells failures before a request has left from those after.
func TestHTTPNeverSent(t *testing.T) {
	plain := serveHTTP(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	refused := httptest.NewServer(nil)
	refused.Close()
	untrusted := httptest.NewTLSServer(nil)
	untrusted.Config.ErrorLog = quiet
	defer untrusted.Close()
	reset := func(_ int, c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_ = c.(*net.TCPConn).SetLinger(0)
	}
	for _, c := range []struct {
		name   string
		o      wire.HTTPOptions
		unsent bool
	}{
		{"no URL", wire.HTTPOptions{}, true},
		{"bad URL", wire.HTTPOptions{URL: "http://host:s3cret"}, true},
		{"file URL", wire.HTTPOptions{URL: "file:///s3cret"}, true},
		{"refused", wire.HTTPOptions{URL: refused.URL + "/s3cret"}, true},
		{"no TLS there", wire.HTTPOptions{URL: strings.Replace(plain.URL, "http:", "https:", 1)}, true},
		{"certificate", wire.HTTPOptions{URL: untrusted.URL}, true},
		{"bad header", wire.HTTPOptions{URL: plain.URL, Header: http.Header{"X": {"s3cret\n"}}}, true},
		{"refused, foreign client", wire.HTTPOptions{URL: refused.URL, Client: &http.Client{}}, true},
		{"refused, foreign transport", wire.HTTPOptions{URL: refused.URL, Client: &http.Client{Transport: http.DefaultTransport}}, true},
		{"transport that tells nothing", wire.HTTPOptions{URL: plain.URL, Client: &http.Client{Transport: silent{}}}, false},
		{"reset while it is sent", wire.HTTPOptions{URL: rawServer(t, reset)}, false},
		{"closed after the request", wire.HTTPOptions{URL: rawServer(t, func(_ int, c net.Conn) {
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
			}
		})}, false},
		{"no HTTP", wire.HTTPOptions{URL: rawServer(t, func(_ int, c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH\r\n")
			_, _ = io.Copy(io.Discard, c)
		})}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := dialHTTP(t, c.o)
			client.SetVersion("2025-11-25")
			_, err := client.Call(t.Context(), &wire.Request{Method: "write"})
			_, unsent := errors.AsType[*wire.SendError](err)
			if err == nil || unsent != c.unsent || strings.Contains(err.Error(), "s3cret") {
				t.Fatalf("got %#v (%v), want a SendError: %v", err, err, c.unsent)
			}
		})
	}
}

// silent is a transport that fails, and does not say how far it came.
type silent struct{}

func (silent) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

// TestHTTPContextOver does not send for a caller that has given up.
func TestHTTPContextOver(t *testing.T) {
	s := serveHTTP(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	c := dialHTTP(t, wire.HTTPOptions{URL: s.URL})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrNoProgress)
	_, err := c.Call(ctx, &wire.Request{Method: "x"})
	if !errors.Is(err, io.ErrNoProgress) || !errors.As(err, new(*wire.SendError)) {
		t.Fatalf("got %#v", err)
	}
}

// TestHTTPNotRepeated uses a connection that the server ends while it reads the
// second request on it. Nobody may send that again, whatever the headers say.
func TestHTTPNotRepeated(t *testing.T) {
	for _, key := range []string{"", "Idempotency-Key", "X-Idempotency-Key"} {
		var requests atomic.Int32
		url := rawServer(t, func(_ int, c net.Conn) {
			r := bufio.NewReader(c)
			for answer := true; ; answer = false {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				m := parseBody(t, req)
				requests.Add(1)
				if !answer {
					return // without an answer
				}
				body := answerText(m.ID, "{}")
				resp := http.Response{
					StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1,
					ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
				}
				if err := resp.Write(c); err != nil {
					t.Error(err)
				}
			}
		})
		client := dialHTTP(t, wire.HTTPOptions{URL: url})
		if _, err := client.Call(t.Context(), &wire.Request{Method: "first"}); err != nil {
			t.Fatal(err)
		}
		r := &wire.Request{Method: "write"}
		if key != "" {
			r.Header = http.Header{key: {"k"}}
		}
		_, err := client.Call(t.Context(), r)
		if _, ok := errors.AsType[*wire.SendError](err); err == nil || ok {
			t.Errorf("%q: got %#v", key, err)
		}
		if n := requests.Load(); n != 2 {
			t.Errorf("%q: the server read %d requests, want 2", key, n)
		}
	}
}

// TestHTTPRedirects follows what stays within the origin and keeps the method.
func TestHTTPRedirects(t *testing.T) {
	foreign := serveHTTP(t, func(http.ResponseWriter, *http.Request) { t.Error("the foreign origin was asked") })
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/307":
			w.Header().Set("Location", "/mcp/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case "/308":
			http.Redirect(w, r, "http://"+r.Host+"/307", http.StatusPermanentRedirect)
		case "/301":
			w.Header().Set("Location", "/mcp/?token=s3cret")
			w.WriteHeader(http.StatusMovedPermanently)
		case "/foreign":
			http.Redirect(w, r, foreign.URL+"/x?token=s3cret", http.StatusTemporaryRedirect)
		case "/scheme":
			http.Redirect(w, r, "https://"+r.Host+"/mcp", http.StatusPermanentRedirect)
		case "/circle":
			http.Redirect(w, r, "/circle", http.StatusTemporaryRedirect)
		case "/nowhere":
			w.WriteHeader(http.StatusTemporaryRedirect)
		case "/mcp/":
			if r.Header.Get("Authorization") != "Bearer t0ken" {
				t.Error("header is missing")
			}
			m := parseBody(t, r)
			replyWith(200, "application/json", answerText(m.ID, string(m.Params.Join())))(w, m.ID)
		}
	})
	for path, want := range map[string]string{
		"/mcp/": "", "/307": "", "/308": "",
		"/301":     "server has moved (301) to " + s.URL + "/mcp/; configure that as the URL",
		"/foreign": "redirects to another origin, " + foreign.URL + "/x",
		"/scheme":  "redirects to another origin, https://",
		"/circle":  "in a circle",
		"/nowhere": "to nowhere",
	} {
		for _, client := range []*http.Client{nil, {}, {Transport: http.DefaultTransport}} {
			c := dialHTTP(t, wire.HTTPOptions{URL: s.URL + path, Client: client, Header: http.Header{"Authorization": {"Bearer t0ken"}}})
			got, err := c.Call(t.Context(), &wire.Request{Method: "x", Params: []byte(`{"a":1}`)})
			if want == "" {
				if err != nil || string(got.Join()) != `{"a":1}` {
					t.Errorf("%s: got %s, %v", path, got.Join(), err)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: got %v, want %q", path, err, want)
			}
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestHTTPHeaders sends what the operator wants with every request, and the name
// and password of the URL as HTTP has it.
func TestHTTPHeaders(t *testing.T) {
	var got *http.Request
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		replyWith(200, "application/json", okAnswer)(w, parseBody(t, r).ID)
	})
	c := dialHTTP(t, wire.HTTPOptions{
		URL: strings.Replace(s.URL, "http://", "http://name:word@", 1) + "/p?q=1",
		Header: http.Header{
			"x-key": {"v"}, "Host": {"other.example"}, "Accept": {"x"}, "Accept-Encoding": {"gzip"},
			"Connection": {"close"}, "Content-Length": {"7"},
		},
	})
	if _, err := c.Call(t.Context(), &wire.Request{Method: "x"}); err != nil {
		t.Fatal(err)
	}
	name, word, _ := got.BasicAuth()
	if name != "name" || word != "word" || got.Host != "other.example" || got.URL.String() != "/p?q=1" {
		t.Errorf("got %s:%s at %s%s", name, word, got.Host, got.URL)
	}
	for k, want := range map[string]string{
		"X-Key": "v", "Accept": "application/json, text/event-stream", "Accept-Encoding": "identity",
		"Connection": "", "Mcp-Protocol-Version": "", "Mcp-Method": "", "User-Agent": "tenon",
	} {
		if got.Header.Get(k) != want {
			t.Errorf("%s is %q, want %q", k, got.Header.Get(k), want)
		}
	}
}

// quiet drops what a test server logs about the clients that it is there to
// annoy.
var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
