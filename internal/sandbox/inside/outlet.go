package inside

import (
	"context"
	"encoding/binary"
	"io"
	"sync"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

const (
	// fromInside is the first number of the channels that the program opens: those of
	// connections that code has made to the proxy.
	fromInside = 1 << 31
	// maxConns bounds them. The program takes no more either.
	maxConns = 64
)

// outlet is how connections of the code are served; serve is nil where there is no
// network.
type outlet struct {
	serve func(conn io.ReadWriteCloser)
	last  uint32
	open  int
}

// listen has the program take connections of the code.
func (x *Box) listen(ctx context.Context) error {
	c, _, err := x.l.open(ctx, toListen, order{Max: sandbox.ProxyPort})
	if err != nil {
		return x.failed(err)
	}
	c.forget()
	return nil
}

// connected takes a connection that code has made.
func (l *link) connected(id uint32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.outlet.serve == nil || id <= l.outlet.last || l.outlet.open >= maxConns {
		return damaged("a connection that nobody takes")
	}
	l.outlet.last = id
	l.outlet.open++
	c := newChannel(l, id, []byte{0})
	c.conn = &conn{c: c, room: window, news: make(chan struct{}, 1), quit: make(chan struct{})}
	l.channels[id] = c
	l.tasks.Go(func() {
		defer func() { _ = c.conn.Close() }() // it never fails
		l.outlet.serve(c.conn)
	})
	return nil
}

// A conn is a connection of the code to the proxy.
type conn struct {
	c *channel

	mu   sync.Mutex
	room int // what may be sent
	news chan struct{}
	quit chan struct{}
	once sync.Once
}

// Read returns what the code has sent.
func (n *conn) Read(p []byte) (int, error) { return n.c.streams[0].Read(p) }

// Write sends to the code, no more than it takes.
func (n *conn) Write(b []byte) (int, error) {
	sent := 0
	for len(b) > 0 {
		some := n.take(min(len(b), piece))
		if some == 0 {
			select {
			case <-n.news:
				continue
			case <-n.quit:
				return sent, io.ErrClosedPipe
			case <-n.c.l.quit:
				return sent, errLink
			}
		}
		if _, err := n.c.feed(n.quit, b[:some]); err != nil {
			return sent, err
		}
		sent, b = sent+some, b[some:]
	}
	return sent, nil
}

// take takes room for at most so many bytes.
func (n *conn) take(most int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	some := min(most, n.room)
	n.room -= some
	return some
}

// more gives room back.
func (n *conn) more(body []byte) error {
	if len(body) != 4 {
		return damaged("a receipt")
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	got := binary.BigEndian.Uint32(body)
	if got > uint32(window-n.room) {
		return damaged("a receipt for more than was sent")
	}
	n.room += int(got)
	select {
	case n.news <- struct{}{}:
	default:
	}
	return nil
}

// Close ends the connection, once the code has what was sent.
func (n *conn) Close() error {
	n.once.Do(func() {
		close(n.quit)
		n.c.forget()
		n.c.l.mu.Lock()
		n.c.l.outlet.open-- // before the program can know
		n.c.l.mu.Unlock()
		_ = n.c.streams[0].Close() // it never fails
		n.c.tell(toFinish, nil)
	})
	return nil
}
