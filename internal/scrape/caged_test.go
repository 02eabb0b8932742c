//go:build unix

package scrape_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/scrape"
)

// An inside is what no page may reach: every port of it counts who knocks.
type inside struct {
	port string
	mu   sync.Mutex
	seen []string
}

func (i *inside) knocked(what string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seen = append(i.seen, what)
}

// newInside listens on one port of loopback, by both protocols and both families
// where there are both.
func newInside(t *testing.T) *inside {
	t.Helper()
	in := &inside{}
	var wg sync.WaitGroup
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, in.port, _ = net.SplitHostPort(l.Addr().String())
	closers := []io.Closer{l}
	listeners := []net.Listener{l}
	if l6, err := net.Listen("tcp", "[::1]:"+in.port); err == nil {
		listeners, closers = append(listeners, l6), append(closers, l6)
	}
	for _, l := range listeners {
		wg.Go(func() {
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				b := make([]byte, 200)
				_ = c.SetReadDeadline(time.Now().Add(time.Second))
				n, _ := c.Read(b)
				in.knocked(fmt.Sprintf("tcp %q", b[:n]))
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 10\r\nConnection: close\r\n\r\nthe secret")
				_ = c.Close()
			}
		})
	}
	if u, err := net.ListenPacket("udp", "127.0.0.1:"+in.port); err == nil {
		closers = append(closers, u)
		wg.Go(func() {
			b := make([]byte, 1500)
			for n, _, err := u.ReadFrom(b); err == nil; n, _, err = u.ReadFrom(b) {
				in.knocked(fmt.Sprintf("udp %d bytes", n))
			}
		})
	}
	t.Cleanup(func() {
		for _, c := range closers {
			_ = c.Close()
		}
		wg.Wait()
	})
	return in
}

// hostile tries each way out that a page has. INSIDE is a port of loopback, FILE a
// file of this machine.
const hostile = `<html><head><title>Hostile</title>
<link rel="preconnect" href="http://127.0.0.1:INSIDE"><link rel="dns-prefetch" href="//secret.attacker.example">
<link rel="prefetch" href="http://127.0.0.1:INSIDE/prefetch"><link rel="stylesheet" href="http://127.0.0.1:INSIDE/style.css">
<style>@import url(http://127.0.0.1:INSIDE/import.css); body { background: url(http://127.0.0.1:INSIDE/back.png) }
@font-face { font-family: f; src: url(http://127.0.0.1:INSIDE/font) } p { font-family: f }</style></head><body>
<iframe src="http://127.0.0.1:INSIDE/frame"></iframe><iframe src="http://localhost:INSIDE/frame"></iframe><iframe src="http://[::1]:INSIDE/frame"></iframe>
<iframe src="http://169.254.169.254/latest/"></iframe><iframe src="/to-inside"></iframe><iframe src="/refresh"></iframe><iframe src="/to-file"></iframe>
<iframe src="file://FILE"></iframe><object data="http://127.0.0.1:INSIDE/object"></object><embed src="http://127.0.0.1:INSIDE/embed">
<video src="http://127.0.0.1:INSIDE/video" autoplay></video><audio src="http://127.0.0.1:INSIDE/audio" autoplay></audio><img src="http://127.0.0.1:INSIDE/image">
<script src="http://127.0.0.1:INSIDE/script.js"></script><iframe name="form"></iframe>
<form id="f" target="form" method="post" action="http://127.0.0.1:INSIDE/form"><input name="x" value="y"></form>
<div id="x">Loading</div><script>
const inside = "127.0.0.1:INSIDE", got = [], tried = [];
const attempt = async (name, f) => { try { tried.push(name); const v = await f(); if (v) got.push(name + " gave " + v); } catch (e) { got.push(name + " failed"); } };
const within = p => Promise.race([p, fetch("/slow").then(() => "no answer")]);
const text = u => fetch(u).then(r => r.text());
(async () => {
  const all = [];
  for (const h of [inside, "localhost:INSIDE", "[::1]:INSIDE", "0.0.0.0:INSIDE", "127.1:INSIDE", "2130706433:INSIDE", "0x7f000001:INSIDE", "[::ffff:127.0.0.1]:INSIDE", "inside.attacker.example:INSIDE", "both.attacker.example:INSIDE", "169.254.169.254"])
    all.push(attempt("fetch " + h, () => text("http://" + h + "/secret")));
  all.push(attempt("redirect", () => text("/to-inside")));
  all.push(attempt("opaque", () => fetch("http://" + inside + "/opaque", {mode: "no-cors"}).then(r => r.type)));
  all.push(attempt("file", () => text("file://FILE")));
  all.push(attempt("file redirect", () => text("/to-file")));
  all.push(attempt("again", () => text("http://turning.attacker.example/again")));
  all.push(attempt("socket", () => within(new Promise((ok, no) => { const s = new WebSocket("ws://" + inside + "/socket"); s.onopen = () => ok("open"); s.onerror = no; }))));
  all.push(attempt("secure socket", () => within(new Promise((ok, no) => { const s = new WebSocket("wss://" + inside + "/socket"); s.onopen = () => ok("open"); s.onerror = no; }))));
  all.push(attempt("events", () => within(new Promise((ok, no) => { const s = new EventSource("http://" + inside + "/events"); s.onopen = () => ok("open"); s.onerror = no; }))));
  all.push(attempt("beacon", () => { navigator.sendBeacon("http://" + inside + "/beacon", "x"); }));
  all.push(attempt("form", () => document.getElementById("f").submit()));
  all.push(attempt("window", () => { window.open("http://" + inside + "/window"); window.open("file://FILE"); }));
  all.push(attempt("programs", () => { for (const u of ["ssh://" + inside, "mailto:x@attacker.example", "telnet://" + inside]) { const f = document.createElement("iframe"); f.src = u; document.body.append(f); } }));
  all.push(attempt("worker", () => within(new Promise((ok, no) => { const w = new Worker("/worker.js"); w.onmessage = e => ok(e.data); w.onerror = no; }))));
  all.push(attempt("service worker", async () => { await navigator.serviceWorker.register("/service.js"); await within(navigator.serviceWorker.ready); }));
  all.push(attempt("transport", () => within(new WebTransport("https://" + inside + "/transport").ready.then(() => "ready"))));
  all.push(attempt("speculation", () => { const s = document.createElement("script"); s.type = "speculationrules"; s.textContent = JSON.stringify({prefetch: [{source: "list", urls: ["http://" + inside + "/speculation"]}], prerender: [{source: "list", urls: ["/to-inside"]}]}); document.head.append(s); }));
  all.push(attempt("rtc", async () => {
    const c = new RTCPeerConnection({iceServers: [{urls: ["stun:" + inside, "stun:localhost:INSIDE"]}, {urls: ["turn:" + inside + "?transport=udp", "turn:" + inside + "?transport=tcp", "turns:" + inside + "?transport=tcp", "turn:inside.attacker.example:INSIDE?transport=tcp"], username: "u", credential: "p"}]});
    c.createDataChannel("x"); c.onicecandidate = e => { if (e.candidate) got.push("candidate " + e.candidate.candidate); };
    await c.setLocalDescription(await c.createOffer());
    const ufrag = "a=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\n";
    await c.setRemoteDescription({type: "answer", sdp: c.localDescription.sdp.replace(/a=setup:actpass/, "a=setup:active").replace(/a=ice-ufrag:[^\r]*\r\na=ice-pwd:[^\r]*\r\n/, ufrag).replace(/a=candidate[^\n]*\n/g, "") });
    await c.addIceCandidate({candidate: "candidate:1 1 udp 2122260223 127.0.0.1 INSIDE typ host", sdpMid: "0", sdpMLineIndex: 0});
    await c.addIceCandidate({candidate: "candidate:2 1 tcp 1518280447 127.0.0.1 INSIDE typ host tcptype passive", sdpMid: "0", sdpMLineIndex: 0});
  }));
  await Promise.all(all); await text("/slow"); await text("/slow?2");
  document.getElementById("x").innerHTML = "<p>" + "The hostile page has done what it can. ".repeat(30) + "</p><p>secure " + isSecureContext + ", tried " + tried.length + "</p>" + got.map(s => "<p>" + s + "</p>").join("");
})();
</script></body></html>`

// TestPagesStayOutside gives the browser a page that tries to reach loopback, the
// metadata of a cloud, names that lead inside and files, by each way that pages have.
func TestPagesStayOutside(t *testing.T) {
	in := newInside(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "secret.txt")
	if err := os.WriteFile(file, []byte("the secret of a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened := filepath.Join(dir, "opened")
	fill := strings.NewReplacer("INSIDE", in.port, "FILE", file)
	page := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, ".js") {
				w.Header().Set("Content-Type", "text/javascript")
			} else {
				w.Header().Set("Content-Type", "text/html")
			}
			_, _ = io.WriteString(w, fill.Replace(text))
		}
	}
	to := func(where string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", fill.Replace(where))
			w.WriteHeader(http.StatusFound)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/hostile", page(hostile))
	mux.HandleFunc("/to-inside", to("http://127.0.0.1:INSIDE/redirected"))
	mux.HandleFunc("/to-file", to("file://FILE"))
	mux.HandleFunc("/refresh", page(`<meta http-equiv="refresh" content="0;url=http://127.0.0.1:INSIDE/refreshed">`))
	mux.HandleFunc("/script", page(`x<script>location = "http://127.0.0.1:INSIDE/location"</script>`))
	mux.HandleFunc("/worker.js", page(`fetch("http://127.0.0.1:INSIDE/worker").then(r => r.text()).then(t => postMessage(t)).catch(e => postMessage("refused"))`))
	mux.HandleFunc("/service.js", page(`self.addEventListener("install", e => e.waitUntil(fetch("http://127.0.0.1:INSIDE/service").catch(e => fetch("/service-ran"))))`))
	ran, run := context.WithCancel(t.Context())
	mux.HandleFunc("/service-ran", func(http.ResponseWriter, *http.Request) { run() })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		select { // holds the time that the page sees
		case <-r.Context().Done():
		case <-time.After(700 * time.Millisecond):
		}
		if r.URL.RawQuery == "2" { // the last one: a busy machine starts the service worker late
			select {
			case <-ran.Done():
			case <-time.After(20 * time.Second):
			}
		}
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	var turns atomic.Int32
	w := newWorld(t, func(o *scrape.Options) {
		withBrowser(t)(o)
		// The wrapper makes the site one that may do what sites of https may, and each
		// program that the browser might start for an address one that tells.
		for _, name := range []string{"xdg-open", "gio", "x-www-browser"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho \"$0 $*\" >>"+opened+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		wrapper := filepath.Join(dir, "chromium")
		if err := os.WriteFile(wrapper, []byte("#!/bin/sh\nPATH="+dir+":$PATH exec "+o.Browser.Path+" --unsafely-treat-insecure-origin-as-secure=http://attacker.example \"$@\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		o.Browser.Path = wrapper
		o.Guard.Lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
			good, bad := netip.MustParseAddr(public), netip.MustParseAddr("127.0.0.1")
			switch name {
			case "inside.attacker.example", "localhost":
				return []netip.Addr{bad}, nil
			case "both.attacker.example":
				return []netip.Addr{good, bad}, nil
			case "turning.attacker.example":
				if turns.Add(1) > 1 {
					return []netip.Addr{bad}, nil
				}
			}
			return []netip.Addr{good}, nil
		}
		o.Guard.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if host, _, _ := net.SplitHostPort(address); host == public {
				address = site.Listener.Addr().String()
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	})
	p := w.good(t, "http://attacker.example/hostile")
	if p.Via != "browser" || !strings.Contains(p.Text, "done what it can") || !strings.Contains(p.Text, "secure true, tried 28") || strings.Contains(p.Text, "the secret") {
		t.Errorf("%+v", p)
	}
	if ran.Err() == nil {
		t.Error("the service worker did not run, and so shows nothing")
	}
	for _, path := range []string{"/refresh", "/script"} {
		if p, err := w.fetch(t, "http://attacker.example"+path); err == nil && strings.Contains(p.Text, "the secret") {
			t.Errorf("%s: %+v", path, p)
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.seen) > 0 {
		t.Errorf("the inside was reached: %s", strings.Join(in.seen, "\n"))
	}
	if b, err := os.ReadFile(opened); err == nil {
		t.Errorf("a program was started: %s", b)
	}
}
