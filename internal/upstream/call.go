package upstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// A Call is a call of one of the server's tools.
type Call struct {
	Method   string // empty is tools/call
	Params   []byte
	Name     string // the tool's own, whatever Params say; empty leaves that
	Key      Key
	Task     string
	Progress func(params tool.Bytes) // nil asks for no progress
	// Link is one of the caller's own; nil is what the isolation of the server gives.
	Link *Link
	// Meta are members of _meta that a modern server needs, in place of those that
	// say of this program that it can do nothing.
	Meta []jsonrpc.Field
	// Header goes along where the transport is HTTP.
	Header http.Header
	// Stream takes what comes on the stream of the answer, where there is one, and what
	// the server asks on a link that is not shared: see Options.Capabilities.
	Stream Handler
	// Notes hears what the caller should know of the way the call took: that the
	// state of its session is gone. Nil hears nothing.
	Notes interface {
		Note(stage, format string, args ...any)
	}
}

// A LostError says that a call was sent and its answer will not come: nobody
// knows whether it was carried out.
type LostError struct {
	Server string
	Err    error

	status int // of an answer over HTTP that is no result; 0 where there was none
	wait   time.Duration
	died   bool
}

// Died reports whether the process of the server ended while it worked on the call.
func (e *LostError) Died() bool { return e.died }

// HTTPStatus returns the status of the answer where one came that is no result,
// or 0.
func (e *LostError) HTTPStatus() int { return e.status }

// RetryAfter returns how long that answer asks to wait, or 0.
func (e *LostError) RetryAfter() time.Duration { return e.wait }

// Error says what happened.
func (e *LostError) Error() string {
	if e.status != 0 {
		return fmt.Sprintf("server %s gave no result: %v", e.Server, e.Err)
	}
	return fmt.Sprintf("the answer of server %s was lost: %v", e.Server, e.Err)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// Call sends a call and waits for its answer, a CallToolResult. The error is
//   - a *tool.Error of kind Unavailable where the call never left, and of kind
//     Invalid where its params cannot be sent to any server,
//   - a *jsonrpc.Error that the server answered with,
//   - a *jsonrpc.TooLargeError for an answer over the limit,
//   - the cause of ctx where the caller gave up,
//   - a *LostError else.
func (s *Server) Call(ctx context.Context, c Call) (tool.Bytes, error) {
	if c.Link != nil {
		return callOwn(ctx, s, c)
	}
	for attempt := 0; ; attempt++ {
		l, err := s.lease(ctx, c)
		if err != nil {
			return nil, err
		}
		result, err := l.call(ctx, c)
		if err == nil {
			l.worked()
			s.release(l)
			return result, nil
		}
		useless := s.judge(ctx, l, err)
		if useless && attempt == 0 && ctx.Err() == nil {
			s.release(l)
			continue // it was not carried out, and a new link may do
		}
		err = failure(ctx, l, err, useless)
		s.release(l)
		return nil, err
	}
}

// judge looks at what an error says of the link, and takes one that is of no use
// out of it. It reports whether the server provably has not carried out the call.
func (s *Server) judge(ctx context.Context, l *link, err error) (unsent bool) {
	switch {
	case isAnswer(err):
		l.worked()
	case ctx.Err() != nil:
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) || tool.KindOf(context.Cause(ctx)) == tool.Timeout {
			l.doubt()
		}
	case neverSent(err):
		s.lose(l, ended, err) // it died unseen, cannot be reached, or lost our session
		return true
	case breaks(err) && l.fault() && !l.ended():
		s.lose(l, broke, fmt.Errorf("%d calls failed one after the other, the last with: %w", maxFaults, err))
	}
	return false
}

// isAnswer reports whether an error of a call is an answer of the server.
func isAnswer(err error) bool {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*jsonrpc.TooLargeError](err); ok {
		return true
	}
	_, ok := errors.AsType[*tool.Error](err)
	return ok
}

// neverSent reports whether the server provably has not carried out the call:
// it never left, or was refused for a session that the server does not know.
func neverSent(err error) bool {
	_, unsent := errors.AsType[*wire.SendError](err)
	return unsent || errors.Is(err, wire.ErrSessionLost)
}

// breaks reports whether an error counts towards the breaker: the connection
// failed, or what stands before the server says that it cannot reach it.
func breaks(err error) bool {
	e, ok := errors.AsType[*wire.HTTPError](err)
	return !ok || e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
}

func failure(ctx context.Context, l *link, err error, unsent bool) error {
	if isAnswer(err) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, elsewhere := errors.AsType[*wire.RedirectError](err); unsent || elsewhere {
		return unavailable(l.from.o.Name, l.from.o.Mask(tool.Flatten(l.explain(ctx, err))))
	}
	lost := &LostError{Server: l.from.o.Name, Err: errors.New(l.from.o.Mask(l.explain(ctx, err).Error()))}
	lost.died = l.process != nil && l.process.Exit() != ""
	if e, ok := errors.AsType[*wire.HTTPError](err); ok {
		lost.status, lost.wait = e.Status, e.RetryAfter
	}
	return lost
}

var metaVersion = []byte(`"` + era.MetaVersion + `"`)

func (l *link) call(ctx context.Context, c Call) (tool.Bytes, error) {
	r := &wire.Request{Method: cmp.Or(c.Method, "tools/call"), Params: c.Params, Meta: l.meta, Header: c.Header}
	switch {
	case l.era == era.Modern && c.Meta != nil:
		r.Meta = c.Meta
	case l.era == era.Legacy && bytes.Contains(c.Params, metaVersion):
		r.Params = era.Stripped(c.Params)
	}
	if c.Stream != nil {
		r.Handler = foreign{l.from, c.Stream}
		defer l.asked.begin(c.Stream)()
	}
	if told := c.Progress; told != nil {
		r.Progress = func(params tool.Bytes) {
			l.hear()
			told(params)
		}
	}
	if c.Name != "" {
		r.Set = []jsonrpc.Field{{Key: "name", Value: jsonrpc.Quote(nil, c.Name)}}
	}
	if c.Task != "" {
		r.Meta = append(slices.Clip(r.Meta), jsonrpc.Field{Key: "tenon/task", Value: jsonrpc.Quote(nil, c.Task)})
		r.Header = r.Header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header["X-Tenon-Task"] = []string{c.Task}
	}
	result, err := l.client.Call(ctx, r)
	if e, ok := errors.AsType[*wire.RequestError](err); ok {
		return nil, &tool.Error{Kind: tool.Invalid, Text: "the params of the call cannot be sent: " + e.Error(), Err: err}
	}
	return result, err
}

// openFor opens a link of one session or call, within the deadline for a start.
func (s *Server) openFor(ctx context.Context, key Key, task string) (*link, error) {
	s.mu.Lock()
	hint, err := s.status.era, s.status.mayStart(s.o.Name)
	limit, _ := s.status.startLimit(&s.o)
	s.mu.Unlock()
	if err != nil && !mended(s) {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.ctx, func() { stop(unavailable(s.o.Name, "it is stopped")) })()
	bounded, cancel := context.WithTimeoutCause(ctx, limit, notReady(limit))
	defer cancel()
	l, _, err := s.dialer.open(bounded, opening{hint: hint, task: task, caller: key.Caller})
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		reason := s.o.Mask(tool.Flatten(err))
		if _, ours := errors.AsType[*proc.LimitError](err); !ours {
			s.plan(s.status.spurn(reason))
		}
		return nil, unavailable(s.o.Name, reason)
	}
	s.status.met(l, s.o.Label)
	s.status.rest()
	return l, nil
}
