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
	"strconv"
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

// A web is what there is to be reached, and what must not be.
type web struct {
	site, secure, private *httptest.Server
	inside                atomic.Int32 // requests to private
	serving               sync.WaitGroup
}

func newWeb(t *testing.T) *web {
	t.Helper()
	var other atomic.Int32
	w := &web{}
	serve := func(start func(http.Handler) *httptest.Server, n *atomic.Int32) *httptest.Server {
		s := start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			_, _ = io.Copy(io.Discard, r.Body) // all that was sent
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
		return s
	}
	w.site, w.secure, w.private = serve(httptest.NewServer, &other), serve(httptest.NewTLSServer, &other), serve(httptest.NewServer, &w.inside)
	return w
}

func port(s *httptest.Server) string {
	_, p, _ := net.SplitHostPort(s.Listener.Addr().String())
	return p
}

// network lets a sandbox reach the site, and what is public. The names mean what is inside.
func (w *web) network(t *testing.T) func(context.Context, io.ReadWriteCloser) {
	t.Helper()
	var asked atomic.Int32
	answers := map[string]string{"site.test": "127.0.0.1", "private.test": "127.0.0.1", "ten.test": "10.0.0.1", "meta.test": "169.254.169.254", "moves.test": "127.0.0.1"}
	network := []string{outlet.Public, "private.test:" + port(w.private), "moves.test:" + port(w.private)}
	for _, s := range []*httptest.Server{w.site, w.secure} {
		network = append(network, "127.0.0.1:"+port(s), "site.test:"+port(s))
	}
	out, err := outlet.New(outlet.Options{
		Server: "python", Logger: slog.New(slog.DiscardHandler), Network: network,
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			if name == "moves.test" && asked.Add(1)%2 == 1 {
				return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")}, nil
			}
			a, err := netip.ParseAddr(answers[name])
			return []netip.Addr{a}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	line := out.For("sbx_test")
	return func(ctx context.Context, conn io.ReadWriteCloser) {
		w.serving.Add(1)
		defer w.serving.Done()
		line.Serve(ctx, conn)
	}
}

// Network checks that code in a sandbox reaches what its outlet lets it, nothing else,
// and that the walls stand as they do without.
func Network(t *testing.T, backend Make, o Options) {
	w, b := newWeb(t), backend(t)
	spec := sandbox.Spec{Memory: 128 << 20, Disk: 16 << 20, Processes: 40}
	without := Create(t, b, spec)
	spec.Network = w.network(t)
	x := Create(t, b, spec)
	Py(t, x, asks)
	reached(t, x, w)
	refused(t, x, w)
	direct(t, x, port(w.site), port(w.private))
	if n := w.inside.Load(); n != 0 {
		t.Errorf("the host was reached %d times", n)
	}
	if got := value(t, x, `import threading, http.server
s = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=s.serve_forever, daemon=True).start()
os.environ["no_proxy"] = "127.0.0.1"
ask("http://127.0.0.1:%d/" % s.server_port)[:3]`); got != "'200'" {
		t.Errorf("a server of its own: %s", got)
	}
	Sh(t, x, `d=$(python3 -m site --user-site); mkdir -p "$d" && echo 'answer = 42' > "$d/fetched_module.py"`)
	if got := value(t, x, "import fetched_module; fetched_module.answer"); got != "42" {
		t.Errorf("what was installed cannot be imported: %s", got)
	}
	if got := value(t, without, asks+"\nos.environ.get('http_proxy'), reach(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', "+strconv.Itoa(sandbox.ProxyPort)+"))"); !strings.HasPrefix(got, "(None, '") || strings.Contains(got, "connected") {
		t.Errorf("a sandbox without a network: %s", got)
	}
	t.Run("attempts", func(t *testing.T) { attempts(t, x, without, o) })
	Sh(t, x, `python3 -c 'import urllib.request; urllib.request.urlopen("http://site.test:`+port(w.site)+`/slow")' >/dev/null 2>&1 & sleep 0.5`)
	began := time.Now()
	if err := x.Kill(t.Context()); err != nil || time.Since(began) > time.Minute {
		t.Errorf("the end: %v after %v", err, time.Since(began))
	}
	w.serving.Wait()
}

func reached(t *testing.T, x sandbox.Sandbox, w *web) {
	site, secure := "site.test:"+port(w.site), "site.test:"+port(w.secure)
	for source, want := range map[string]string{
		"ask('http://" + site + "/')":                           "200 here for " + site,
		"ask('https://" + secure + "/')":                        "200 here for " + secure,
		"ask('" + w.site.URL + "', True)":                       "200 here for 127.0.0.1:" + port(w.site),
		"ask('" + w.secure.URL + "', True)":                     "200 here for 127.0.0.1:" + port(w.secure),
		"str(len(ask('http://" + site + "/big')))":              "5242884",
		"ask('http://" + site + "/', data=b'y' * 100_000)":      "200 here for " + site,
		"os.environ['https_proxy'] == os.environ['HTTP_PROXY']": "True",
	} {
		if got := strings.Trim(value(t, x, source), "'"); got != want {
			t.Errorf("%s: got %.300s, want %s", source, got, want)
		}
	}
}

func refused(t *testing.T, x sandbox.Sandbox, w *web) {
	inside := port(w.private)
	for _, url := range []string{
		w.private.URL, "http://private.test:" + inside, "http://moves.test:" + inside, "http://moves.test:" + inside, "http://localhost:" + inside, "http://[::1]:" + inside,
		"http://169.254.169.254/", "http://meta.test", "http://ten.test", "http://10.0.0.1", "http://[::ffff:127.0.0.1]:" + inside, "http://2130706433:" + inside, "http://public.test:22",
	} {
		for _, url := range []string{url, strings.Replace(url, "http:", "https:", 1)} {
			if got := value(t, x, "ask("+shell(url)+", True)"); !strings.Contains(got, "efused: ") && !strings.Contains(got, "failed: 400") {
				t.Errorf("%s: got %.300s", url, got)
			}
		}
	}
	if got := value(t, x, "ask('http://site.test:"+port(w.site)+"/away')"); !strings.Contains(got, "efused: ") {
		t.Errorf("a redirect: got %.300s", got)
	}
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
