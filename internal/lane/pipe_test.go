package lane_test

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// A stream is one direction of a connection in memory. Unlike net.Pipe it holds
// bytes as a socket does, and can end while the other direction goes on.
type stream struct {
	mu    sync.Mutex
	moved chan struct{} // closed with each change
	data  []byte
	ended bool // the writer has closed
	deaf  bool // the reader has closed
}

const streamSize = 64 << 10

func newStream() *stream { return &stream{moved: make(chan struct{})} }

// change runs f with the lock held, and wakes whoever waits.
func (s *stream) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.moved)
	s.moved = make(chan struct{})
}

// A deadline is that of one end for one direction.
type deadline struct {
	mu sync.Mutex
	at time.Time
	s  *stream
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	d.at = t
	d.mu.Unlock()
	d.s.change(func() {})
}

// try calls f with the stream's lock held until it reports true or the deadline is over.
func (d *deadline) try(f func() bool) error {
	for {
		d.mu.Lock()
		at := d.at
		d.mu.Unlock()
		if !at.IsZero() && !at.After(time.Now()) {
			return os.ErrDeadlineExceeded
		}
		d.s.mu.Lock()
		done, moved := f(), d.s.moved
		d.s.mu.Unlock()
		if done {
			return nil
		}
		var over <-chan time.Time
		if !at.IsZero() {
			over = time.After(time.Until(at))
		}
		select {
		case <-moved:
		case <-over:
		}
	}
}

// An end is one end of a connection.
type end struct {
	r, w deadline
}

var _ net.Conn = (*end)(nil)

// connect returns the two ends of a connection.
func connect() (client, server *end) {
	up, down := newStream(), newStream()
	return &end{r: deadline{s: down}, w: deadline{s: up}}, &end{r: deadline{s: up}, w: deadline{s: down}}
}

func (e *end) Read(p []byte) (n int, err error) {
	s := e.r.s
	timeout := e.r.try(func() bool {
		switch {
		case s.deaf:
			err = net.ErrClosed
		case len(s.data) > 0:
			n = copy(p, s.data)
			s.data = s.data[n:]
		case s.ended:
			err = io.EOF
		default:
			return false
		}
		return true
	})
	if timeout != nil {
		return 0, &net.OpError{Op: "read", Err: timeout}
	}
	if n > 0 {
		s.change(func() {})
	}
	return n, err
}

func (e *end) Write(p []byte) (n int, err error) {
	s := e.w.s
	for n < len(p) && err == nil {
		timeout := e.w.try(func() bool {
			room := streamSize - len(s.data)
			switch {
			case s.ended:
				err = net.ErrClosed
			case s.deaf:
				err = syscall.EPIPE
			case room > 0:
				part := p[n:min(n+room, len(p))]
				s.data = append(s.data, part...)
				n += len(part)
			default:
				return false
			}
			return true
		})
		if timeout != nil {
			return n, &net.OpError{Op: "write", Err: timeout}
		}
		s.change(func() {})
	}
	return n, err
}

func (e *end) CloseWrite() error {
	e.w.s.change(func() { e.w.s.ended = true })
	return nil
}

func (e *end) Close() error {
	e.r.s.change(func() { e.r.s.deaf = true })
	return e.CloseWrite()
}

func (e *end) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (e *end) RemoteAddr() net.Addr               { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9} }
func (e *end) SetReadDeadline(t time.Time) error  { e.r.set(t); return nil }
func (e *end) SetWriteDeadline(t time.Time) error { e.w.set(t); return nil }
func (e *end) SetDeadline(t time.Time) error {
	e.r.set(t)
	e.w.set(t)
	return nil
}

// A listener gives connections in memory.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// dial connects a client.
func (l *listener) dial() *end {
	client, server := connect()
	l.conns <- server
	return client
}
