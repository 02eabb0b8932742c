package sandboxtest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/outlet"
)

// asks is what code in a sandbox has to ask the web with.
const asks = `
import os, socket, ssl, urllib.request, urllib.error
def ask(url, own=False, data=None):
    if own:
        os.environ.pop("no_proxy", None); os.environ.pop("NO_PROXY", None)
    try:
        r = urllib.request.urlopen(urllib.request.Request(url, data), timeout=10, context=ssl._create_unverified_context())
        return "%d %s" % (r.status, r.read().decode())
    except urllib.error.HTTPError as e:
        return "%d %s" % (e.code, e.read().decode())
    except OSError as e:
        return "0 %s" % e
def reach(family, kind, to):
    try:
        s = socket.socket(family, kind)
        s.settimeout(1)
        s.connect(to)
        s.send(b"x")
        return "answered" if kind == socket.SOCK_DGRAM and s.recv(10) else "connected"
    except OSError as e:
        return type(e).__name__
`

// Network checks that code in a sandbox reaches what its outlet lets it, nothing else,
// and that the walls stand as they do without.
func Network(t *testing.T, backend Make) {
	var came, inside, asked atomic.Int32
	serve := func(start func(http.Handler) *httptest.Server, n *atomic.Int32) (s *httptest.Server, port string) {
		s = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			switch r.URL.Path {
			case "/away":
				http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
			case "/big":
				_, _ = w.Write(make([]byte, 5<<20))
			case "/slow":
				<-r.Context().Done()
			default:
				_, _ = fmt.Fprintf(w, "here for %s", r.Host)
			}
		}))
		t.Cleanup(s.Close)
		_, port, _ = net.SplitHostPort(s.Listener.Addr().String())
		return s, port
	}
	site, port := serve(httptest.NewServer, &came)
	secure, sport := serve(httptest.NewTLSServer, &came)
	private, pport := serve(httptest.NewServer, &inside)
	out, err := outlet.New(outlet.Options{
		Server: "python", Logger: slog.New(slog.DiscardHandler),
		Network: []string{outlet.Public, "127.0.0.1:" + port, "127.0.0.1:" + sport, "site.test:" + port, "site.test:" + sport, "private.test:" + pport, "moves.test:" + pport},
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			answers := map[string]string{"site.test": "127.0.0.1", "private.test": "127.0.0.1", "ten.test": "10.0.0.1", "meta.test": "169.254.169.254"}
			answer := answers[name]
			if name == "moves.test" {
				answer = "127.0.0.1"
				if asked.Add(1)%2 == 1 {
					return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")}, nil
				}
			}
			a, err := netip.ParseAddr(answer)
			return []netip.Addr{a}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := backend(t)
	var ended sync.WaitGroup
	spec := sandbox.Spec{Memory: 128 << 20, Disk: 16 << 20, Processes: 40}
	without := Create(t, b, spec)
	spec.Network = func(ctx context.Context, conn io.ReadWriteCloser) {
		ended.Add(1)
		defer ended.Done()
		out.For("sbx_test").Serve(ctx, conn)
	}
	x := Create(t, b, spec)
	Py(t, x, asks)
	for source, want := range map[string]string{
		"ask('http://site.test:" + port + "/')":                               "200 here for site.test:" + port,
		"ask('https://site.test:" + sport + "/')":                             "200 here for site.test:" + sport,
		"ask('" + site.URL + "', True)":                                       "200 here for 127.0.0.1:" + port,
		"ask('" + secure.URL + "', True)":                                     "200 here for 127.0.0.1:" + sport,
		"str(len(ask('http://site.test:" + port + "/big')))":                  "5242884",
		"ask('http://site.test:" + port + "/', data=b'y' * 100_000)":          "200 here for site.test:" + port,
		"os.environ['https_proxy'] == os.environ['HTTP_PROXY'] and 'proxied'": "proxied",
	} {
		if got := strings.Trim(value(t, x, source), "'"); got != want {
			t.Errorf("%s: got %.300s, want %s", source, got, want)
		}
	}
	for _, url := range []string{
		private.URL, "http://private.test:" + pport, "http://moves.test:" + pport, "http://moves.test:" + pport, "http://localhost:" + pport, "http://[::1]:" + pport,
		"http://169.254.169.254/", "http://meta.test", "http://ten.test", "http://10.0.0.1", "http://[::ffff:127.0.0.1]:" + pport, "http://2130706433:" + pport, "http://site.test:" + port + "/away",
		"http://public.test:22",
	} {
		for _, url := range []string{url, strings.Replace(url, "http:", "https:", 1)} {
			if got := strings.Trim(value(t, x, "ask("+shell(url)+", True)"), `'"`); !strings.Contains(got, "efused: ") && !strings.Contains(got, "failed: 400") && (!strings.HasSuffix(url, "/away") || !strings.HasPrefix(url, "https")) {
				t.Errorf("%s: got %.300s", url, got)
			}
		}
	}
	direct(t, x, port, pport)
	if n := inside.Load(); n != 0 {
		t.Errorf("the host was reached %d times", n)
	}
	if got := value(t, x, `import threading, http.server
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
os.environ["no_proxy"] = "127.0.0.1"
ask("http://127.0.0.1:%d/" % s.server_port)[:3]`); got != "'200'" {
		t.Errorf("a server of its own: %s", got)
	}
	if got := value(t, without, asks+"\nos.environ.get('http_proxy'), reach(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', "+fmt.Sprint(sandbox.ProxyPort)+"))"); !strings.HasPrefix(got, "(None, '") || strings.Contains(got, "connected") {
		t.Errorf("a sandbox without a network: %s", got)
	}
	t.Run("attempts", func(t *testing.T) { attempts(t, x, without, Options{}) })
	o, err := x.Command(t.Context(), sandbox.Command{Line: `python3 -c 'import urllib.request; urllib.request.urlopen("http://site.test:` + port + `/slow")' >/dev/null 2>&1 & sleep 0.5`})
	if err != nil {
		t.Fatal(err, o)
	}
	began := time.Now()
	if err := x.Kill(t.Context()); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("the end: %v after %v", err, time.Since(began))
	}
	ended.Wait()
}

// direct tries to get out beside the proxy.
func direct(t *testing.T, x sandbox.Sandbox, ports ...string) {
	tries := []string{
		"reach(socket.AF_INET, socket.SOCK_STREAM, ('169.254.169.254', 80))", "reach(socket.AF_INET, socket.SOCK_STREAM, ('93.184.215.14', 80))",
		"reach(socket.AF_INET, socket.SOCK_STREAM, ('10.0.0.1', 80))", "reach(socket.AF_INET6, socket.SOCK_STREAM, ('2606:4700::1111', 80))",
		"reach(socket.AF_INET, socket.SOCK_DGRAM, ('8.8.8.8', 53))", "reach(socket.AF_INET, socket.SOCK_RAW, ('8.8.8.8', 0))",
	}
	for _, port := range ports {
		tries = append(tries, "reach(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', "+port+"))", "reach(socket.AF_INET6, socket.SOCK_STREAM, ('::1', "+port+"))")
	}
	for _, try := range tries {
		if got := value(t, x, try); strings.Contains(got, "connected") || strings.Contains(got, "answered") {
			t.Errorf("%s: %s", try, got)
		}
	}
	if got := value(t, x, "try: got = socket.gethostbyname('example.com')\nexcept OSError as e: got = 'nothing'\ngot"); got != "'nothing'" {
		t.Errorf("names are resolved inside: %s", got)
	}
}
