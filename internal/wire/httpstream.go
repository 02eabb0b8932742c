package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/events"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	// maxResumes bounds how often in a row a stream is resumed without an event.
	maxResumes = 5
	// fastResumes bounds how often one is resumed sooner than minBackoff, since a
	// server that asks for no delay would be asked without end.
	fastResumes = 64
	// Delays before a stream is opened again, where the server asks for none.
	minBackoff = time.Second
	maxBackoff = time.Minute
)

// follow reads a stream of events up to the answer. What else comes is
// dispatched in the order in which it comes.
func (c *call) follow(ctx context.Context, body io.ReadCloser) (*jsonrpc.Message, error) {
	in := events.NewReader(body, c.h.o.MaxMessage)
	var tries resumes
	for {
		m, err := c.read(in)
		if m != nil {
			c.drain(in, body)
			return m, nil
		}
		_ = body.Close() // it has ended, or is no use
		if in.Alive {
			tries.vain = 0
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if _, came := errors.AsType[*unreadableError](err); !came {
			if body, err = c.resume(ctx, in, &tries, err); err == nil {
				in.Reset(body)
				continue
			}
		}
		in.Release()
		return nil, err
	}
}

// read returns the answer, or why the stream ended before it.
func (c *call) read(in *events.Reader) (*jsonrpc.Message, error) {
	var garbage int64 // bytes since the last message
	for {
		e, err := in.Next()
		if err != nil {
			return nil, err
		}
		m, err := c.h.received(c.r.Handler, &e)
		switch {
		case err != nil && m != nil && (m.ID == nil || sameID(m.ID, c.flight.id)): // on the stream of one request it can be for no other
			return nil, &unreadableError{err}
		case err != nil:
			if garbage += int64(e.Data.Len()); isFlood(garbage, c.h.o.MaxMessage) {
				return nil, &unreadableError{ErrGarbage}
			}
			continue
		case m != nil && c.mine(m):
			return m, nil
		}
		garbage = 0
	}
}

// An unreadableError is an answer that came and cannot be read: nobody need come
// back for it.
type unreadableError struct{ error }

// Unwrap returns the cause.
func (e *unreadableError) Unwrap() error { return e.error }

// received dispatches the message of an event, to the handler to where that is set,
// and returns it where it is an answer.
// Where that cannot be read, the message has only its id, and is nil for what is no
// answer at all.
func (h *HTTP) received(to Handler, e *events.Event) (*jsonrpc.Message, error) {
	if e.Name != "message" {
		return nil, nil // servers keep connections alive with events of their own
	}
	m, err := e.Message()
	switch {
	case err != nil:
		h.garbage(e.Head(), err)
		return m, err
	case m.IsAnswer():
		return m, nil
	case m.IsRequest() && h.heads.Load().modern: // a modern server asks within its answers
		h.garbage(e.Head(), errAsked)
		return nil, nil
	}
	if to == nil {
		to = h.handler
	}
	h.dispatchTo(to, m)
	return nil, nil
}

// drain reads in the background what is left of a stream after its answer. The
// server ends it at once, most often, and its connection can then be used again.
func (c *call) drain(in *events.Reader, body io.ReadCloser) {
	ended := in.Ended()
	in.Release()
	if ended {
		_ = body.Close()
		return
	}
	c.draining = c.h.spawn(func() {
		stop := time.AfterFunc(drainTimeout, func() { c.flight.cancel(nil) })
		untie := context.AfterFunc(c.h.session.ctx, func() { c.flight.cancel(nil) })
		discard(body)
		untie()
		stop.Stop()
		c.flight.cancel(nil)
	})
	if !c.draining {
		_ = body.Close()
	}
}

// resumes counts how often a stream was opened again.
type resumes struct {
	vain int // in a row, without an event
	all  int
}

// resume opens a stream again that ended before its answer, after the last event
// that came (SEP-1699). ended is why it ended.
func (c *call) resume(ctx context.Context, in *events.Reader, tries *resumes, ended error) (io.ReadCloser, error) {
	last := string(in.LastID)
	if last == "" || c.heads.modern {
		return nil, lostAnswer(ended)
	}
	for tries.vain < maxResumes {
		d := delay(in.Retry, tries.vain)
		if tries.all > fastResumes {
			d = max(d, minBackoff)
		}
		if !wait(ctx, d) {
			return nil, context.Cause(ctx)
		}
		tries.vain++
		tries.all++
		body, err := c.h.openStream(ctx, last)
		switch {
		case err == nil:
			return body, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, ErrSessionLost):
			c.h.end(err)
			return nil, lostAnswer(errors.New(err.Error())) // the request was carried out, perhaps
		case permanent(err):
			return nil, lostAnswer(err)
		}
		ended = err
	}
	return nil, lostAnswer(ended)
}

// permanent reports whether it is no use to open a stream again.
func permanent(err error) bool {
	if e, ok := errors.AsType[*HTTPError](err); ok {
		return e.Status < 500 && e.Status != http.StatusTooManyRequests && e.Status != http.StatusRequestTimeout
	}
	_, rpc := errors.AsType[*jsonrpc.Error](err)
	return rpc || errors.Is(err, errNoStream) || errors.Is(err, ErrSessionLost)
}

var errAsked = errors.New("server sent a request, which its protocol version does not allow")

var errNoStream = errors.New("server answered with no event stream")

// openStream opens a stream with GET, after the event with the id last where it
// is not empty.
func (h *HTTP) openStream(ctx context.Context, last string) (io.ReadCloser, error) {
	n := h.heads.Load()
	req := n.get
	if last != "" {
		copied := *n.get
		req = &copied
		req.Header = n.get.Header.Clone()
		req.Header[headerLastEvent] = []string{last}
	}
	resp, err := h.s.do(ctx, req, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		if mediaType(resp.Header) == "text/event-stream" {
			return resp.Body, nil
		}
		_ = resp.Body.Close()
		return nil, errNoStream
	}
	return nil, h.s.refusal(resp, n.session != "")
}

// delay returns how long to wait before the try with this number, from 0.
func delay(asked time.Duration, try int) time.Duration {
	if asked > 0 {
		return asked
	}
	return min(minBackoff<<min(try, 10), maxBackoff)
}

// wait reports whether d has passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// listen keeps a stream open for what the server says by itself, until the
// client ends. Servers need not offer one.
func (h *HTTP) listen() {
	ctx := h.session.ctx
	in := events.NewReader(nil, h.o.MaxMessage)
	defer in.Release()
	var asked sync.Once
	for try, opened := 0, false; ; try++ {
		body, err := h.openStream(ctx, string(in.LastID))
		if try == 0 && !opened {
			asked.Do(func() { close(h.listens) })
		}
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			opened = true
			began := time.Now()
			h.hear(in, body)
			if in.Alive || time.Since(began) > maxBackoff/2 {
				try = 0
			}
		case opened && errors.Is(err, ErrSessionLost):
			h.end(err)
			return
		case permanent(err), !opened && !unreachable(err):
			return
		}
		if !wait(ctx, delay(in.Retry, try)) {
			return
		}
	}
}

// unreachable reports whether err is not the server's answer.
func unreachable(err error) bool {
	_, status := errors.AsType[*HTTPError](err)
	return !status
}

// hear reads a stream to its end.
func (h *HTTP) hear(in *events.Reader, body io.ReadCloser) {
	defer func() { _ = body.Close() }() // it has ended
	for in.Reset(body); ; {
		e, err := in.Next()
		if err != nil {
			return
		}
		if m, err := h.received(nil, &e); m != nil && err == nil {
			h.answeredAside(m)
		}
	}
}

// Notify implements Client. After notifications/initialized, the client opens a
// stream for what a legacy server says by itself.
func (h *HTTP) Notify(ctx context.Context, method string, params []byte) error {
	if h.bad != nil {
		return &SendError{h.bad}
	}
	ctx, done, err := h.attach(ctx)
	if err != nil {
		return err
	}
	defer done()
	n := h.heads.Load()
	if err := h.send(ctx, n, method, params); err != nil {
		return err
	}
	if method == "notifications/initialized" && !n.modern {
		h.hears.Do(func() { h.spawn(h.listen) })
	}
	return nil
}

// send sends one notification.
func (h *HTTP) send(ctx context.Context, n *heads, method string, params []byte) error {
	req := n.post
	if n.modern {
		copied := *n.post
		req = &copied
		req.Header = n.post.Header.Clone()
		req.Header[HeaderMethod] = []string{method}
	}
	return h.post(ctx, n, req, requestFrame(0, method, tool.OneOf(params)))
}

// post sends a message that has no answer.
func (h *HTTP) post(ctx context.Context, n *heads, req *http.Request, frame tool.Bytes) error {
	resp, err := h.s.do(ctx, req, frame)
	if err != nil {
		return err
	}
	if err = h.check(resp, n); err != nil {
		return err
	}
	if resp.ContentLength < 0 && mediaType(resp.Header) == "text/event-stream" {
		return resp.Body.Close() // it could stay open for ever
	}
	discard(resp.Body)
	return nil
}

// notifyServer sends a notification of this side that belongs to no call.
func (h *HTTP) notifyServer(method string, params []byte) error {
	ctx, cancel := context.WithTimeout(h.session.ctx, replyTimeout)
	defer cancel()
	return h.Notify(ctx, method, params)
}

// postReply sends the answer to a request of the server.
func (h *HTTP) postReply(id []byte, result tool.Bytes, e *jsonrpc.Error) {
	n := h.heads.Load()
	ctx, cancel := context.WithTimeout(h.session.ctx, replyTimeout)
	defer cancel()
	if err := h.post(ctx, n, n.post, replyFrame(id, result, e)); err != nil && ctx.Err() == nil {
		h.garbage(id, fmt.Errorf("answer to the server's request: %w", err))
	}
}

// replyFrame returns an answer.
func replyFrame(id []byte, result tool.Bytes, e *jsonrpc.Error) tool.Bytes {
	if e != nil {
		result = tool.OneOf(e.JSON())
	}
	frame := make(tool.Bytes, 0, len(result)+2)
	frame = append(append(frame, jsonrpc.AppendAnswerHead(nil, id, e != nil)), result...)
	return append(frame, []byte("}"))
}
