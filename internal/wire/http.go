package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/events"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// drainTimeout is how long a stream may stay open after its answer, for its
// connection to be used again.
const drainTimeout = time.Second

// An HTTP is a client of a server that speaks streamable HTTP. It has no
// connection that could break: Done is closed by Close, or when the server no
// longer knows the session, and Err is then ErrSessionLost. A call that fails
// with ErrSessionLost was not carried out.
type HTTP struct {
	peer
	o     HTTPOptions
	s     *sender
	bad   error // why s is missing
	heads atomic.Pointer[heads]
	hears sync.Once // the stream of what the server says by itself
	// listens is closed once it is known whether there is such a stream.
	listens chan struct{}
}

var _ Client = (*HTTP)(nil)

// heads are the requests to copy, for one version and session.
type heads struct {
	version, session string
	modern           bool
	post, get        *http.Request
}

// NewHTTP returns a client of the server at o.URL. It does no I/O: what is wrong
// with the URL is said by the first call. Close it after use.
func NewHTTP(o HTTPOptions) *HTTP {
	o.setDefaults()
	h := &HTTP{o: o, listens: make(chan struct{})}
	h.init(&h.o, h.notifyServer)
	h.peer.reply = h.postReply
	h.s, h.bad = newSender(&o)
	if h.bad == nil {
		h.setHeads("", "")
	}
	return h
}

// SetVersion tells the protocol version to speak from now on, the one that was
// negotiated or that is probed for; "" is for initialize. From 2026-07-28 on
// there is no session.
func (h *HTTP) SetVersion(v string) {
	if h.bad == nil {
		h.setHeads(v, h.heads.Load().session)
	}
}

// setHeads makes the requests to copy. The handshake is one step after the
// other, so nobody else sets them meanwhile.
func (h *HTTP) setHeads(version, session string) {
	n := &heads{modern: era.Of(version) == era.Modern, version: version, session: session}
	set := http.Header{}
	if version != "" {
		set[HeaderVersion] = []string{version}
	}
	if session != "" && !n.modern {
		set[HeaderSession] = []string{session}
	}
	set["Accept"] = []string{"text/event-stream"}
	n.get = h.s.template(http.MethodGet, set)
	set["Accept"] = []string{"application/json, text/event-stream"}
	set["Content-Type"] = []string{"application/json"}
	n.post = h.s.template(http.MethodPost, set)
	h.heads.Store(n)
}

// Listening is closed, after the handshake with a legacy server, once that has been
// asked for a stream of what it says by itself, and has given one or not.
func (h *HTTP) Listening() <-chan struct{} { return h.listens }

// Done implements Client.
func (h *HTTP) Done() <-chan struct{} { return h.done }

// Err implements Client.
func (h *HTTP) Err() error { return h.reason() }

// Close ends the session and waits for all that was started. It must not be
// called by a Handler or a Progress function.
func (h *HTTP) Close() error {
	lost := errors.Is(h.reason(), ErrSessionLost)
	if !h.shut() {
		h.tasks.Wait()
		return nil
	}
	if h.bad != nil {
		return nil
	}
	if n := h.heads.Load(); !lost && !n.modern && n.session != "" {
		h.deleteSession(n)
	}
	h.tasks.Wait()
	h.s.close()
	return nil
}

// deleteSession tells the server that the session is over. Servers need not
// listen, and some do not answer.
func (h *HTTP) deleteSession(n *heads) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.session.ctx), tellTimeout)
	defer cancel()
	req := *n.get
	req.Method = http.MethodDelete
	resp, err := h.s.do(ctx, &req, nil)
	if err != nil {
		return // it was only a courtesy
	}
	_ = resp.Body.Close() // nothing more is sent
}

// Call implements Client.
func (h *HTTP) Call(ctx context.Context, r *Request) (tool.Bytes, error) {
	if h.bad != nil {
		return nil, &SendError{h.bad}
	}
	fctx, f, err := h.begin(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	defer h.finish(f)
	c := call{h: h, r: r, flight: f, heads: h.heads.Load()}
	m, err := c.run(fctx)
	if !c.draining {
		defer f.cancel(nil)
	}
	if aside := f.aside.Load(); err != nil && aside != nil {
		m, err = aside, nil
	}
	if err == nil {
		return m.Value()
	}
	if ctx.Err() == nil || errors.As(err, new(*SendError)) {
		return nil, err
	}
	// Of a modern request the server hears by the end of its stream.
	if !c.heads.modern && r.Method != "initialize" {
		why := context.Cause(ctx)
		h.tell(func(ctx context.Context) {
			_ = h.send(ctx, c.heads, "notifications/cancelled", cancelParams(f.id, why)) // nobody is left to know
		})
	}
	return nil, err
}

// A call is one request on its way.
type call struct {
	h        *HTTP
	r        *Request
	flight   *flight
	heads    *heads
	draining bool // the rest of the stream is read in the background
}

// run sends the request and returns its answer.
func (c *call) run(ctx context.Context) (*jsonrpc.Message, error) {
	params, err := c.r.text(c.flight.id)
	if err != nil {
		return nil, &RequestError{err}
	}
	resp, err := c.h.s.do(ctx, c.head(), requestFrame(c.flight.id, c.r.Method, params))
	if err != nil {
		return nil, err
	}
	if err = c.h.check(resp, c.heads); err != nil {
		return nil, err
	}
	if c.r.Method == "initialize" {
		if err = c.h.takeSession(resp); err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("server compressed its answer (%s), which was not asked for", cut(enc, 40))
	}
	if mediaType(resp.Header) == "text/event-stream" {
		return c.follow(ctx, resp.Body)
	}
	m, err := c.readJSON(resp)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return m, err
}

// requestFrame returns a request in as few parts as may be without a copy of
// long params.
func requestFrame(id int64, method string, params tool.Bytes) tool.Bytes {
	size := params.Len()
	if size <= joinSize {
		frame := jsonrpc.AppendRequest(make([]byte, 0, 64+len(method)+size), id, method, nil)
		if size == 0 {
			return tool.OneOf(frame)
		}
		frame = append(frame[:len(frame)-1], `,"params":`...)
		for _, p := range params {
			frame = append(frame, p...)
		}
		return tool.OneOf(append(frame, '}'))
	}
	head := jsonrpc.AppendRequest(make([]byte, 0, 96), id, method, nil)
	frame := append(make(tool.Bytes, 0, len(params)+2), append(head[:len(head)-1], `,"params":`...))
	return append(append(frame, params...), []byte("}"))
}

// head returns the request to copy for this call.
func (c *call) head() *http.Request {
	if !c.heads.modern && len(c.r.Header) == 0 {
		return c.heads.post
	}
	req := *c.heads.post
	req.Header = withHeader(req.Header, c.r.Header)
	if c.heads.modern {
		req.Header[HeaderMethod] = []string{c.r.Method}
		if name, ok := nameOf(c.r); ok {
			req.Header[HeaderName] = []string{EncodeHeader(name)}
		}
	}
	return &req
}

// withHeader returns a copy of h with more set.
func withHeader(h, more http.Header) http.Header {
	h = maps.Clone(h)
	for k, v := range more {
		if k = http.CanonicalHeaderKey(k); !ours(k) {
			h[k] = v
		}
	}
	return h
}

// ours reports whether the header k is this package's alone to set.
func ours(k string) bool {
	switch k {
	case "Accept", "Accept-Encoding", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection",
		HeaderVersion, HeaderSession, HeaderMethod, HeaderName:
		return true
	}
	return false
}

// check returns what an answer's status means, and closes one that is no
// success.
func (h *HTTP) check(resp *http.Response, n *heads) error {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	err := h.s.refusal(resp, !n.modern && n.session != "")
	if errors.Is(err, ErrSessionLost) {
		h.end(err)
	}
	return err
}

// takeSession keeps the id of the session that initialize has begun.
func (h *HTTP) takeSession(resp *http.Response) error {
	id := resp.Header.Get(HeaderSession)
	if id != "" && !visibleASCII(id) {
		return errors.New("server gave a session id that cannot be sent back")
	}
	h.setHeads(h.heads.Load().version, id)
	return nil
}

// readJSON reads an answer that is one JSON message.
func (c *call) readJSON(resp *http.Response) (*jsonrpc.Message, error) {
	text, err := readLimited(resp, c.h.o.MaxMessage)
	if err != nil {
		return nil, err
	}
	if text.Len() == 0 {
		return nil, fmt.Errorf("server answered %d without an answer to the request", resp.StatusCode)
	}
	m, err := jsonrpc.Parse(text)
	switch {
	case err != nil:
		said := readable(c.h.s.scrub(text[0][:min(len(text[0]), maxErrorText)]))
		return nil, fmt.Errorf("answer of type %q is no message: %w: %s", cut(mediaType(resp.Header), 80), err, said)
	case !c.mine(m):
		return nil, errors.New("server answered another request")
	}
	return m, nil
}

// mine reports whether m is the answer to c. An error without an id is one too:
// the server could not read the request.
func (c *call) mine(m *jsonrpc.Message) bool {
	return m.IsAnswer() && (sameID(m.ID, c.flight.id) || m.ID == nil && m.Error != nil)
}

// readLimited reads and closes a body of at most limit bytes. It is held once: in
// one piece where its length was told, else in several.
func readLimited(resp *http.Response, limit int64) (tool.Bytes, error) {
	defer func() { _ = resp.Body.Close() }() // read to its end, or given up
	if resp.ContentLength > limit {
		return nil, &jsonrpc.TooLargeError{Limit: limit}
	}
	if n := resp.ContentLength; n >= 0 {
		if n == 0 {
			return nil, nil
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(resp.Body, text); err != nil {
			return nil, lostAnswer(err)
		}
		return tool.OneOf(text), nil
	}
	return readPieces(resp.Body, limit)
}

// lostAnswer says that a request was sent, and its answer did not come.
func lostAnswer(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("request was sent, but its answer is lost: %w", err)
}

var scratch = sync.Pool{New: func() any { b := make([]byte, jsonrpc.ReadSize); return &b }}

// readPieces reads r to its end.
func readPieces(r io.Reader, limit int64) (tool.Bytes, error) {
	first := scratch.Get().(*[]byte)
	defer scratch.Put(first)
	n, err := fill(r, *first)
	total := int64(n)
	var text tool.Bytes
	if n > 0 {
		text = tool.OneOf(append(make([]byte, 0, n), (*first)[:n]...))
	}
	for err == nil && total <= limit {
		piece := make([]byte, events.NextPiece(total))
		n, err = fill(r, piece)
		total += int64(n)
		text = append(text, piece[:n])
	}
	switch {
	case total > limit:
		return nil, &jsonrpc.TooLargeError{Limit: limit}
	case errors.Is(err, io.EOF):
		return text, nil
	}
	return nil, lostAnswer(err)
}

// fill reads until p is full. Unlike io.ReadFull it leaves apart a body that
// ended and one that was cut off.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}
