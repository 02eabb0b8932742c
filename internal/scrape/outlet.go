package scrape

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// Bounds on what the browser may do for one page.
const (
	outletConns   = 40
	outletBytes   = 64 << 20
	outletTimeout = 15 * time.Second
)

// An outlet is the proxy by which the browser reaches the web.
type outlet struct {
	chain    *Chain
	listener net.Listener
	server   *http.Server
	word     string // by which it knows the browser
	wg       sync.WaitGroup
	turns    chan struct{}
	left     atomic.Int64 // bytes

	mu    sync.Mutex
	first error // the first refusal
	conns map[net.Conn]bool
	done  bool
}

func (c *Chain) newOutlet(ctx context.Context) (*outlet, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &outlet{chain: c, listener: l, word: rand.Text(), turns: make(chan struct{}, outletConns), conns: map[net.Conn]bool{}}
	o.left.Store(outletBytes)
	o.server = &http.Server{Handler: o, ReadHeaderTimeout: outletTimeout, MaxHeaderBytes: 64 << 10}
	o.wg.Go(func() { _ = o.server.Serve(l) }) // it ends with close
	return o, nil
}

func (o *outlet) addr() string { return o.listener.Addr().String() }

// agent is the name of the browser, with the word.
func (o *outlet) agent() string {
	return "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 " + strings.Fields(egress.UserAgent())[0] + " " + o.word
}

func (o *outlet) close() {
	_ = o.server.Close()
	o.mu.Lock()
	o.done = true
	for c := range o.conns {
		_ = c.Close()
	}
	o.mu.Unlock()
	o.wg.Wait()
}

// refused returns the first refusal, or nil.
func (o *outlet) refused() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

func (o *outlet) refuse(w http.ResponseWriter, err error) {
	o.mu.Lock()
	if o.first == nil {
		o.first = err
	}
	o.mu.Unlock()
	http.Error(w, "refused", http.StatusForbidden)
}

// ServeHTTP implements [http.Handler].
func (o *outlet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.UserAgent(), " "+o.word) {
		http.Error(w, "this proxy belongs to another program", http.StatusForbidden)
		return
	}
	select {
	case o.turns <- struct{}{}:
		defer func() { <-o.turns }()
	case <-r.Context().Done():
		return
	}
	if o.left.Load() <= 0 {
		o.refuse(w, errors.New("the page loads more than is read"))
		return
	}
	if r.Method == http.MethodConnect {
		o.tunnel(w, r)
		return
	}
	o.forward(w, r)
}

// forward makes a plain request for the browser.
func (o *outlet) forward(w http.ResponseWriter, r *http.Request) {
	if err := o.chain.policy.Check(r.URL.String()); err != nil {
		o.refuse(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), outletTimeout)
	defer cancel()
	out := r.Clone(ctx)
	out.RequestURI = ""
	for _, h := range []string{"Proxy-Connection", "Proxy-Authorization", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		out.Header.Del(h)
	}
	out.Header.Set("User-Agent", strings.TrimSuffix(r.UserAgent(), " "+o.word))
	resp, err := o.chain.o.Pages.HTTP().Transport.RoundTrip(out)
	if err != nil {
		o.refuse(w, egress.Reason(egress.Plain(r.URL.Host, 120), err))
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		if name != "Connection" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, &counted{resp.Body, o}) // a browser that leaves is no fault
}

// tunnel connects the browser to a host, on the port of https alone or one that an
// operator opened. What goes through cannot be seen: so a host of which the block list
// names a part is not reached at all.
func (o *outlet) tunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := egress.SplitPort(r.Host)
	if err == nil {
		err = o.chain.mayTunnel(host, port)
	}
	if err != nil {
		o.refuse(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), outletTimeout)
	defer cancel()
	there, err := o.chain.o.Guard.DialContext(ctx, "tcp", r.Host)
	if err != nil {
		o.refuse(w, egress.Reason(egress.Plain(host, 120), err))
		return
	}
	defer there.Close()
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	here, buffered, err := hijacker.Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if !o.keep(here, there) {
		return
	}
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = io.Copy(there, buffered) // either end may leave
		_ = there.Close()
	})
	_, _ = io.Copy(here, &counted{there, o})
	_ = here.Close()
	wg.Wait()
	o.forget(here, there)
}

// keep remembers connections that close has to end, for no server knows them.
func (o *outlet) keep(conns ...net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range conns {
		o.conns[c] = true
	}
	return !o.done
}

func (o *outlet) forget(conns ...net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range conns {
		delete(o.conns, c)
	}
}

// mayTunnel says why the browser may not reach a host.
func (c *Chain) mayTunnel(named string, port int) error {
	h, err := egress.ParseHost(named)
	if err != nil {
		return err
	}
	for _, e := range c.policy.entries {
		if h.Name == e.host || strings.HasSuffix(h.Name, "."+e.host) {
			return &BlockedError{"https://" + h.Name, strings.TrimSuffix(e.host+"/"+e.segment, "/")}
		}
	}
	if port != 443 && !c.o.Guard.Names(h, port) {
		return errors.New("refused: the port is none of those of the web, which alone are read")
	}
	return nil
}

// counted takes what is read from the bytes that are left.
type counted struct {
	io.Reader
	o *outlet
}

// Read implements [io.Reader].
func (c *counted) Read(p []byte) (int, error) {
	if c.o.left.Load() <= 0 {
		return 0, io.EOF
	}
	n, err := c.Reader.Read(p)
	c.o.left.Add(-int64(n))
	return n, err
}
