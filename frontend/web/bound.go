package web

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Bounds of the connections that are one too many: so many are told so at once, and all
// others are closed unheard.
const (
	maxRefusals   = 64
	refusalTime   = 5 * time.Second // for the head of a request that is refused
	refusalSecond = "5"             // after which it may come again
)

// A bound lets in so many connections, and so many from one address. The others are served
// by nothing but a refusal.
type bound struct {
	net.Listener
	max, each int // 0 is no limit
	log       *slog.Logger
	refused   *queue

	mu   sync.Mutex
	open int
	from map[netip.Prefix]int
	full bool // and it is in the log
}

func newBound(ln net.Listener, maxAll, maxEach int, log *slog.Logger) *bound {
	b := &bound{Listener: ln, max: maxAll, each: maxEach, log: log, from: map[netip.Prefix]int{}}
	b.refused = &queue{addr: ln.Addr(), conns: make(chan net.Conn, maxRefusals), closed: make(chan struct{}), places: make(chan struct{}, maxRefusals)}
	return b
}

// Accept implements net.Listener.
func (b *bound) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := origin(c.RemoteAddr())
		if b.take(from) {
			return &counted{Conn: c, give: func() { b.give(from) }}, nil
		}
		b.refused.put(c)
	}
}

// Close implements net.Listener.
func (b *bound) Close() error {
	_ = b.refused.Close() // it cannot fail
	return b.Listener.Close()
}

// take takes a place for a connection, if there is one.
func (b *bound) take(from netip.Prefix) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	every := b.max > 0 && b.open >= b.max
	if every || b.each > 0 && from.IsValid() && b.from[from] >= b.each {
		if !b.full {
			b.full = true
			b.log.Warn("connections refused", "open", b.open, "address", from.String(), "all", every)
		}
		return false
	}
	b.open++
	if from.IsValid() {
		b.from[from]++
	}
	return true
}

func (b *bound) give(from netip.Prefix) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	if from.IsValid() {
		if b.from[from]--; b.from[from] == 0 {
			delete(b.from, from)
		}
	}
	if b.open < b.max/2 || b.max == 0 {
		b.full = false
	}
}

// origin returns what counts as one address: of IPv6 a network, for whoever has one address
// has all of it. Those of this machine count as none: all who are on it share them, and so do
// all who come through a proxy on it.
func origin(a net.Addr) netip.Prefix {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip, ok := netip.AddrFromSlice(t.IP)
	if ip = ip.Unmap(); !ok || ip.IsLoopback() {
		return netip.Prefix{}
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits) // it has that many
	return p
}

// counted is a connection that has a place.
type counted struct {
	net.Conn
	once sync.Once
	give func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.give)
	return err
}

// CloseWrite tells the client that nothing more comes.
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// A queue is a listener of the connections that are refused.
type queue struct {
	addr   net.Addr
	conns  chan net.Conn
	places chan struct{} // one for each connection that has not ended
	once   sync.Once
	closed chan struct{}
}

// put hands a connection to whoever refuses it, or closes it.
func (q *queue) put(c net.Conn) {
	select {
	case q.places <- struct{}{}:
		q.conns <- &counted{Conn: c, give: func() { <-q.places }} // there is room for all that have a place
	default:
		_ = c.Close() // it had no answer to wait for
	}
}

// Accept implements net.Listener.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *queue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// drain closes what nobody has accepted.
func (q *queue) drain() {
	for {
		select {
		case c := <-q.conns:
			_ = c.Close() // it had no answer to wait for
		default:
			return
		}
	}
}

// Addr implements net.Listener.
func (q *queue) Addr() net.Addr { return q.addr }

// refuse answers each connection that is one too many with 503, until the queue is closed.
func (q *queue) refuse(secure *tls.Config, log *slog.Logger) {
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", refusalSecond)
			w.Header().Set("Connection", "close")
			reply(w, http.StatusServiceUnavailable, map[string]string{"error": "too many connections are open; close some, or try again later", "error_kind": "unavailable"})
		}),
		ReadHeaderTimeout: refusalTime, ReadTimeout: refusalTime, WriteTimeout: refusalTime, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), TLSConfig: secure,
	}
	srv.Protocols = new(http.Protocols)
	srv.Protocols.SetHTTP1(true)
	defer q.drain()
	defer srv.Close()
	if secure != nil {
		_ = srv.ServeTLS(q, "", "") // it ends when the queue is closed
		return
	}
	_ = srv.Serve(q) // likewise
}
