package scrape_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/scrape"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

func withBrowser(t *testing.T) func(*scrape.Options) {
	t.Helper()
	path := testenv.Chromium(t)
	spawner := proc.New(proc.Options{})
	t.Cleanup(func() {
		if err := spawner.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(o *scrape.Options) {
		siteOnly(o)
		o.Timeout = 60 * time.Second
		o.Browser = &scrape.Browser{Path: path, Spawner: spawner, Env: proc.Environ(os.Environ(), nil), NoSandbox: os.Geteuid() == 0}
	}
}

// TestBrowser reads a page whose text is made by a script, which also asks for what
// lies inside.
func TestBrowser(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		w.Header().Set("Access-Control-Allow-Origin", "*")
		_, _ = io.WriteString(w, "the secret of the inside")
	}))
	t.Cleanup(inside.Close)
	w := newWorld(t, withBrowser(t))
	w.web.Add(doubles.Page{URL: "http://harbour.example/app", Type: "text/html", Body: []byte(`<html><head><title>App</title></head><body><div id="x">Loading</div><script>
		const words = [];
		for (let i = 0; i < 150; i++) words.push("made" + i);
		const ask = u => fetch(u).then(r => r.text()).catch(e => "refused by the proxy");
		Promise.all([ask("` + inside.URL + `/"), ask("http://hidden.example/"), ask("http://169.254.169.254/latest/"), ask("https://huggingface.co/datasets/x"), ask("/lighthouse")]).then(all => {
			document.getElementById("x").innerHTML = "<p>" + words.join(" ") + "</p><p>" + all.map(s => s.slice(0, 3000)).join("</p><p>") + "</p>";
		});
	</script></body></html>`)})
	p := w.good(t, "http://harbour.example/app")
	if p.Via != "browser" || p.Title != "App" || !strings.Contains(p.Text, "made149") || !strings.Contains(p.Text, "212 steps") || strings.Contains(p.Text, "secret of the inside") || strings.Count(p.Text, "refused") < 4 {
		t.Errorf("%+v", p)
	}
	if asked != 0 {
		t.Errorf("what lies inside was asked %d times", asked)
	}
	w.web.Add(doubles.Page{URL: "http://harbour.example/turn", Type: "text/html", Body: []byte(`<html><body>x<script>location = "https://huggingface.co/datasets/x"</script></body></html>`)})
	if p, err := w.fetch(t, "http://harbour.example/turn"); !errors.As(err, new(*scrape.BlockedError)) {
		t.Errorf("a page that leads to a blocked one: %+v, %v", p, err)
	}
}

func TestBrowserThatIsNone(t *testing.T) {
	spawner := proc.New(proc.Options{})
	t.Cleanup(func() { _ = spawner.Close() })
	w := newWorld(t, func(o *scrape.Options) {
		siteOnly(o)
		o.Browser = &scrape.Browser{Path: "/nowhere/chromium", Spawner: spawner}
	})
	p := w.good(t, "http://short.example/note")
	if p.Via != "direct" || !strings.Contains(notes(p), "not read by browser: ") {
		t.Errorf("%+v", p)
	}
	if scrape.FindBrowser("relative:"+t.TempDir()) != "" {
		t.Error("a browser was found where none is")
	}
}

// TestOutlet speaks to the proxy of the browser as other programs might.
func TestOutlet(t *testing.T) {
	w := newWorld(t, siteOnly)
	address, agent, end, err := scrape.NewOutlet(t.Context(), w.chain)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ask := func(lines string) (*http.Response, net.Conn) {
		t.Helper()
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, strings.ReplaceAll(lines, "\n", "\r\n")+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp, c
	}
	for lines, want := range map[string]int{
		"GET http://harbour.example/lighthouse HTTP/1.1\nHost: harbour.example\nUser-Agent: curl":     403,
		"GET http://harbour.example/lighthouse HTTP/1.1\nHost: harbour.example\nUser-Agent: " + agent: 200,
		"GET http://127.0.0.1/ HTTP/1.1\nHost: 127.0.0.1\nUser-Agent: " + agent:                       403,
		"GET http://huggingface.co/datasets/x HTTP/1.1\nHost: huggingface.co\nUser-Agent: " + agent:   403,
		"CONNECT harbour.example:443 HTTP/1.1\nHost: harbour.example:443\nUser-Agent: curl":           403,
		"CONNECT harbour.example:22 HTTP/1.1\nHost: harbour.example:22\nUser-Agent: " + agent:         403,
		"CONNECT hidden.example:443 HTTP/1.1\nHost: hidden.example:443\nUser-Agent: " + agent:         403,
		"CONNECT [::1]:443 HTTP/1.1\nHost: [::1]:443\nUser-Agent: " + agent:                           403,
		"CONNECT sub.huggingface.co:443 HTTP/1.1\nHost: sub.huggingface.co:443\nUser-Agent: " + agent: 403,
		"GET /lighthouse HTTP/1.1\nHost: harbour.example\nUser-Agent: " + agent:                       403,
	} {
		if resp, _ := ask(lines); resp.StatusCode != want {
			t.Errorf("%s: %s", lines, resp.Status)
		}
	}
	resp, c := ask("CONNECT harbour.example:443 HTTP/1.1\nHost: harbour.example:443\nUser-Agent: " + agent)
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	if _, err := io.WriteString(c, "GET /lighthouse HTTP/1.1\r\nHost: harbour.example\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(body), "212 steps") {
		t.Errorf("through a tunnel: %q, %v", body, err)
	}
}
