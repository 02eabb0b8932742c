package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tenon-mcp/tenon/internal/events"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// An SSE is a client of a server that speaks the HTTP+SSE transport of
// 2024-11-05: messages go out by POST, and all that the server says comes on one
// stream. Where that ends, the connection has ended.
type SSE struct {
	peer
	o    HTTPOptions
	s    *sender
	post *http.Request // to copy
}

var _ Client = (*SSE)(nil)

// NewSSE opens the stream and waits until the server has named the URL for
// messages. ctx bounds that alone. The error is an *HTTPError where the server
// has no such stream.
func NewSSE(ctx context.Context, o HTTPOptions) (*SSE, error) {
	o.setDefaults()
	c := &SSE{o: o}
	c.init(&c.o, c.notifyServer)
	c.peer.reply = c.postReply
	var err error
	if c.s, err = newSender(&o); err != nil {
		return nil, err
	}
	sctx, cancel := context.WithCancelCause(c.session.ctx)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	in, body, err := c.connect(sctx)
	if !stop() && err == nil { // ctx ended just now
		in.Release()
		_ = body.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel(nil)
		c.shut()
		c.s.close()
		return nil, err
	}
	c.spawn(func() {
		err := c.hear(in)
		in.Release()
		_ = body.Close()
		cancel(nil)
		c.endWith(err, lostAnswer(err))
	})
	return c, nil
}

// connect opens the stream and reads it up to the endpoint.
func (c *SSE) connect(ctx context.Context) (*events.Reader, io.ReadCloser, error) {
	get := c.s.template(http.MethodGet, http.Header{"Accept": {"text/event-stream"}})
	resp, err := c.s.do(ctx, get, nil)
	switch {
	case err != nil:
		return nil, nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, nil, c.s.refusal(resp, false)
	case mediaType(resp.Header) != "text/event-stream":
		_ = resp.Body.Close()
		return nil, nil, errNoStream
	}
	in := events.NewReader(resp.Body, c.o.MaxMessage)
	if err := c.findEndpoint(in); err != nil {
		in.Release()
		_ = resp.Body.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, err
	}
	return in, resp.Body, nil
}

// findEndpoint reads the stream up to the event that names the URL for messages.
// That has to be of the origin which was configured: headers go to no other.
func (c *SSE) findEndpoint(in *events.Reader) error {
	for range maxBeforeEndpoint {
		e, err := in.Next()
		if err != nil {
			return fmt.Errorf("stream ended before the endpoint event: %w", err)
		}
		if e.Name != "endpoint" {
			continue
		}
		if e.Err != nil || e.Data.Len() > maxHeaderValue {
			return errors.New("endpoint event is too long")
		}
		to, err := c.s.url.Parse(string(e.Data.Join()))
		if err != nil {
			return errors.New("endpoint event holds no URL")
		}
		if !sameOrigin(to, c.s.url) {
			return fmt.Errorf("server sends messages to another origin, %s://%s", to.Scheme, to.Host)
		}
		to.User = nil
		c.post = c.s.template(http.MethodPost, http.Header{
			"Accept":       {"application/json, text/event-stream"},
			"Content-Type": {"application/json"},
		})
		c.post.URL = to
		return nil
	}
	return errors.New("stream does not begin with an endpoint event")
}

// maxBeforeEndpoint bounds the events before the endpoint.
const maxBeforeEndpoint = 16

// hear reads the stream to its end.
func (c *SSE) hear(in *events.Reader) error {
	var garbage int64 // bytes since the last message
	for {
		e, err := in.Next()
		if err != nil {
			if reason := c.reason(); reason != nil {
				return reason
			}
			return err
		}
		if e.Name != "message" {
			continue
		}
		m, err := e.Message()
		if err != nil {
			c.garbage(e.Head(), err)
			if garbage += int64(e.Data.Len()); isFlood(garbage, c.o.MaxMessage) {
				return ErrGarbage
			}
		} else {
			garbage = 0
		}
		switch {
		case m == nil:
		case m.IsAnswer():
			c.answered(m, err)
		default:
			c.dispatch(m)
		}
	}
}

// answered hands an answer to its call; with err, one that is too large.
func (c *SSE) answered(m *jsonrpc.Message, err error) {
	id, ok := parseID(m.ID)
	if !ok {
		return
	}
	f := c.take(id)
	switch {
	case f == nil: // late, after its caller gave up, or twice
	case err != nil:
		f.cancel(err)
	default:
		f.answer <- m
	}
}

// Done implements Client.
func (c *SSE) Done() <-chan struct{} { return c.done }

// Err implements Client. It is io.EOF where the server ended the stream.
func (c *SSE) Err() error { return c.reason() }

// Close ends the stream and waits for all that was started. It must not be
// called by a Handler or a Progress function.
func (c *SSE) Close() error {
	c.shut()
	c.tasks.Wait()
	c.s.close()
	return nil
}

// Call implements Client.
func (c *SSE) Call(ctx context.Context, r *Request) (tool.Bytes, error) {
	fctx, f, err := c.begin(ctx, r, make(chan *jsonrpc.Message, 1))
	if err != nil {
		return nil, err
	}
	defer f.cancel(nil)
	defer c.finish(f)
	m, err := c.run(fctx, f, r)
	if err == nil {
		return m.Value()
	}
	if ctx.Err() != nil && r.Method != "initialize" && !errors.As(err, new(*SendError)) {
		why := context.Cause(ctx)
		c.tell(func(ctx context.Context) {
			params := cancelParams(f.id, why)
			_, _ = c.send(ctx, c.post, requestFrame(0, "notifications/cancelled", tool.OneOf(params))) // nobody is left to know
		})
	}
	return nil, err
}

func (c *SSE) run(ctx context.Context, f *flight, r *Request) (*jsonrpc.Message, error) {
	params, err := r.text(f.id)
	if err != nil {
		return nil, &RequestError{err}
	}
	req := c.post
	if len(r.Header) > 0 {
		copied := *c.post
		req = &copied
		req.Header = withHeader(req.Header, r.Header)
	}
	// Some servers answer on the stream, and leave the POST open.
	sctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sent := make(chan posted, 1)
	post := func() {
		m, err := c.send(sctx, req, requestFrame(f.id, r.Method, params))
		sent <- posted{m, err}
	}
	if !c.spawn(post) {
		return nil, &SendError{ErrClosed}
	}
	var m *jsonrpc.Message
	select {
	case p := <-sent:
		switch {
		case p.err != nil:
			return c.early(f, p.err)
		case p.m != nil && p.m.IsAnswer() && sameID(p.m.ID, f.id):
			return p.m, nil
		}
	case m = <-f.answer:
		return m, nil
	}
	select {
	case m = <-f.answer:
		return m, nil
	case <-ctx.Done():
		return c.early(f, context.Cause(ctx))
	}
}

// posted is what came of a POST.
type posted struct {
	m   *jsonrpc.Message
	err error
}

// early returns the answer where it came before the POST of its request failed.
func (c *SSE) early(f *flight, err error) (*jsonrpc.Message, error) {
	select {
	case m := <-f.answer:
		return m, nil
	default:
		return nil, err
	}
}

// send posts a message, and returns what some servers answer directly.
func (c *SSE) send(ctx context.Context, req *http.Request, frame tool.Bytes) (*jsonrpc.Message, error) {
	resp, err := c.s.do(ctx, req, frame)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		err := c.s.refusal(resp, true) // the endpoint names the session
		if errors.Is(err, ErrSessionLost) {
			c.end(err)
		}
		return nil, err
	}
	if mediaType(resp.Header) != "application/json" || resp.ContentLength == 0 {
		discard(resp.Body)
		return nil, nil
	}
	text, err := readLimited(resp, c.o.MaxMessage)
	if err != nil {
		return nil, err
	}
	m, err := jsonrpc.Parse(text)
	if err != nil {
		return nil, nil // "Accepted", for one: the answer comes on the stream
	}
	return m, nil
}

// Notify implements Client.
func (c *SSE) Notify(ctx context.Context, method string, params []byte) error {
	ctx, done, err := c.attach(ctx)
	if err != nil {
		return err
	}
	defer done()
	_, err = c.send(ctx, c.post, requestFrame(0, method, tool.OneOf(params)))
	return err
}

func (c *SSE) notifyServer(method string, params []byte) error {
	ctx, cancel := context.WithTimeout(c.session.ctx, replyTimeout)
	defer cancel()
	return c.Notify(ctx, method, params)
}

// postReply sends the answer to a request of the server.
func (c *SSE) postReply(id []byte, result tool.Bytes, e *jsonrpc.Error) {
	ctx, cancel := context.WithTimeout(c.session.ctx, replyTimeout)
	defer cancel()
	if _, err := c.send(ctx, c.post, replyFrame(id, result, e)); err != nil && ctx.Err() == nil {
		c.garbage(id, fmt.Errorf("answer to the server's request: %w", err))
	}
}
