package lane

import (
	"net"
	"sync"
)

// rest is the listener from which the http.Server takes the connections that are
// not for the lane.
type rest struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newRest(addr net.Addr) *rest {
	return &rest{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (r *rest) Accept() (net.Conn, error) {
	select {
	case c := <-r.conns:
		return c, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (r *rest) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// Addr implements net.Listener.
func (r *rest) Addr() net.Addr { return r.addr }

// take hands over a connection with what was read of it. Once the server is
// closed the connection is.
func (r *rest) take(c net.Conn, read []byte) {
	select {
	case r.conns <- &resumed{Conn: c, read: read}:
	case <-r.closed:
		_ = c.Close()
	}
}

// resumed is a connection of which something was read already.
type resumed struct {
	net.Conn
	read []byte // which comes first
}

// Read implements net.Conn.
func (r *resumed) Read(p []byte) (int, error) {
	if len(r.read) == 0 {
		return r.Conn.Read(p)
	}
	n := copy(p, r.read)
	if r.read = r.read[n:]; len(r.read) == 0 {
		r.read = nil
	}
	return n, nil
}

// CloseWrite is what net/http wants of a connection where it has: it lets a client
// read a refusal while it still sends.
func (r *resumed) CloseWrite() error {
	if c, ok := r.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}
