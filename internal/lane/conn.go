package lane

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readSize  = 4 << 10
	writeSize = 8 << 10 // what fits is written at once with the head
	peekSize  = 4       // bytes with which a request that is not the first begins
)

// A conn is a connection while it is in the lane. One goroutine reads it, runs the
// handlers and writes, as in net/http; the patrol visits.
type conn struct {
	s      *Server
	rwc    net.Conn
	common *http.Request // what its requests have in common

	buffers
	out output // what is to be written

	state  atomic.Uint64      // see patrol.go
	now    uint64             // state, as the connection left it
	served bool               // a request before
	slack  bool               // ends of lines may come before the next
	cooled bool               // the patrol's call was heard, and did not count
	cancel context.CancelFunc // ends the context of the request that runs
	end    context.CancelFunc // ends that of all
	mu     sync.Mutex         // held by the patrol while it acts, and for cancel, held, hasEarly and lasting
	held   Held               // see Detach

	watch // of the patrol
}

// watch is what the patrol knows of a connection, and what it reads for it.
type watch struct {
	seen     uint64 // the state of the last round
	rounds   int    // since it is that
	watcher  sync.WaitGroup
	early    [1]byte // what it has read
	hasEarly bool
	lasting  bool // the answer ends with the first byte after its request; see Detach
}

func newConn(s *Server, rwc net.Conn) *conn {
	ctx := context.WithValue(s.ctx, http.LocalAddrContextKey, rwc.LocalAddr())
	common := &http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if a := rwc.RemoteAddr(); a != nil {
		common.RemoteAddr = a.String()
	}
	c := &conn{s: s, rwc: rwc}
	ctx, c.end = context.WithCancel(ctx)
	c.common, c.cancel = common.WithContext(ctx), c.end
	c.out.c = c
	return c
}

// run serves the connection until it ends, goes to net/http, or rests.
func (c *conn) run() {
	own, rests := true, false
	defer func() {
		if !rests {
			c.over(own)
		}
	}()
	c.equip()
	ctx := c.common.Context()
	var fields [inlineSize]field
	for {
		h, v := c.next(fields[:])
		switch {
		case v == resting:
			rests = true
			c.strip()
			c.out.b = nil
			c.s.tasks.Go(c.rest) // with a small stack
			return
		case v == odd && c.leave():
			own = false
			c.s.rest.take(c.rwc, c.buf)
			return
		case v != plain:
			return
		}
		switch c.serve(ctx, &h) {
		case goesOn:
		case isHeld:
			rests = true
			return
		case isOver:
			return
		}
	}
}

// over ends the connection, which may have another owner.
func (c *conn) over(own bool) {
	c.end()
	if own {
		_ = c.rwc.Close()
	}
	if c.enter(closed) == watched { // a handler has ended its goroutine
		c.endWatch()
	}
	c.s.forget(c)
}

// rest waits with next to no memory until something comes.
func (c *conn) rest() {
	_ = c.rwc.SetReadDeadline(c.patience())
	c.cooled = true
	if n, _ := c.rwc.Read(c.early[:]); n == 0 { // it has ended, or its time has
		c.over(true)
		return
	}
	c.equip()
	c.buf = append(c.buf, c.early[0])
	c.run()
}

// next waits for a request and reads it. It says plain where it is there whole,
// with its body; odd where the connection is for net/http; partial where it is
// over, as it is for a request whose head comes when the server stops.
func (c *conn) next(fields []field) (h head, v verdict) {
	begun := !c.served // later ones begin for net/http with some bytes
	for v = partial; v == partial; {
		if !begun && len(c.buf) >= peekSize {
			begun = true
			c.skip()
		}
		if begun && len(c.buf) > 0 {
			if h, v = parse(c.buf, fields); v != partial {
				break
			}
		}
		if !c.read(begun) {
			if !begun && len(c.buf) > 0 && !c.cooled && cold.in(c.state.Load()) {
				c.cooled = true // a few bytes are there, of whatever it will be
				_ = c.rwc.SetReadDeadline(c.patience())
				continue
			}
			return h, c.missed(begun)
		}
	}
	if v == plain && c.s.closing.Load() {
		return h, partial
	}
	for v == plain && len(c.buf) < h.size+h.length {
		if !c.read(true) {
			return h, c.missed(true)
		}
	}
	return h, v
}

// read reads once more. It reports whether the request may still be plain.
func (c *conn) read(begun bool) bool {
	if begun && len(c.buf) > 0 && idle.in(c.now) && !c.begun(reading) {
		return false
	}
	c.grow()
	n, err := c.rwc.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	return err == nil || n > 0 // an error stays for the next read
}

// skip drops the ends of lines that some clients send after the body of a POST.
func (c *conn) skip() {
	n := 0
	for c.slack && n < peekSize && (c.buf[n] == '\r' || c.buf[n] == '\n') {
		n++
	}
	if n > 0 {
		c.buf = append(c.buf[:0], c.buf[n:]...)
	}
}

// missed says what becomes of a connection whose read has failed: where a part of a
// request is there, net/http knows.
func (c *conn) missed(begun bool) verdict {
	switch {
	case len(c.buf) == 0 && cold.in(c.state.Load()):
		return resting // or it has ended, which is found out then
	case !begun || len(c.buf) == 0:
		return partial
	}
	return odd
}

// begun enters a phase that is not idle, and undoes what the patrol made of the
// last. It reports false where the server has closed the connection.
func (c *conn) begun(p phase) bool {
	switch c.enter(p) {
	case closed:
		return false
	case cold, slow: // what was slow has come just now
		_ = c.rwc.SetReadDeadline(time.Time{})
		c.s.watch(c)
		c.cooled = false
	}
	return true
}

// leave ends the lane's part in the connection. It reports false where the server
// has closed it.
func (c *conn) leave() bool {
	switch c.enter(closed) {
	case closed:
		return false
	case cold, slow:
		_ = c.rwc.SetReadDeadline(time.Time{})
	}
	if !c.out.moved.IsZero() {
		c.out.untime()
	}
	return true
}

// An exchange is a request and its answer.
type exchange struct {
	response
	url    url.URL
	body   body
	values [inlineSize]string
}

// request makes the request of a head. Nothing of it is used for another one: who
// knows what keeps it.
func (x *exchange) request(common *http.Request, h *head) *http.Request {
	r := common
	values := x.values[:0]
	if len(h.fields) > len(x.values) {
		values = make([]string, 0, len(h.fields))
	}
	header := make(http.Header, len(h.fields))
	for i, f := range h.fields {
		values = append(values, f.value)
		header[f.name] = values[i : i+1 : i+1]
	}
	x.url = h.url()
	r.Method, r.RequestURI, r.URL, r.Host = h.method, h.target, &x.url, h.host
	r.Header, r.ContentLength = header, int64(h.length)
	r.Body = http.NoBody
	if h.length > 0 {
		r.Body = &x.body
	}
	return r
}

// What becomes of a connection after a request.
type outcome int

const (
	isOver outcome = iota
	goesOn
	isHeld // by whoever has the rest of the answer
)

// serve answers a request.
func (c *conn) serve(conn context.Context, h *head) outcome {
	ctx, cancel := context.WithCancel(conn)
	defer cancel()
	c.cancel = cancel // before the patrol may want it
	if !c.begun(serving) {
		return isOver
	}
	c.served = true
	size := h.size + h.length
	x := &exchange{response: response{c: c, length: -1}}
	r := x.request(c.common.WithContext(ctx), h)
	x.body.rest = c.buf[h.size:size]
	bare := h.method == http.MethodGet && h.length == 0 && len(c.buf) == size && c.large == nil
	w := &x.response
	if bare { // a stream can take long, and needs neither a buffer nor its request
		c.strip()
		w = &response{c: c, length: -1, leaving: leaving{apart: true}}
	}
	done := c.handle(w, r)
	x.body.end()
	if done && w.left != nil {
		detach(ctx, w)
		return isHeld
	}
	cancel()
	if !done {
		w.over = true
		return isOver
	}
	keep := c.finish(w)
	c.slack = h.method == http.MethodPost
	if !bare {
		c.use(size)
	}
	if keep {
		return goesOn
	}
	return isOver
}

// handle runs the handler, and reports whether it has returned.
func (c *conn) handle(w *response, r *http.Request) (done bool) {
	defer caught(c)
	c.s.http.Handler.ServeHTTP(w, r)
	return true
}

// caught logs a panic of a handler. It must be deferred.
func caught(c *conn) {
	if err := recover(); err != nil && err != http.ErrAbortHandler { //nolint:errorlint // net/http asks for this very value
		stack := make([]byte, 64<<10)
		stack = stack[:runtime.Stack(stack, false)]
		c.s.logf("http: panic serving %v: %v\n%s", c.common.RemoteAddr, err, stack)
	}
}

// A body is the body of a request, which has been read.
type body struct {
	mu     sync.Mutex
	rest   []byte
	closed bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return 0, http.ErrBodyReadAfterClose
	case len(b.rest) == 0:
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	if len(b.rest) == 0 {
		return n, io.EOF // spares the next read
	}
	return n, nil
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.end()
	return nil
}

// end makes the bytes free for the next request.
func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest, b.closed = nil, true
}
