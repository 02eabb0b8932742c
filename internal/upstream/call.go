package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// A Call is a call of one of the server's tools.
type Call struct {
	Params   []byte // of tools/call, with the tool's own name
	Key      Key
	Task     string
	Progress func(params tool.Bytes) // nil asks for no progress
}

// A LostError says that a call was sent and its answer will not come: nobody
// knows whether it was carried out.
type LostError struct {
	Server string
	Err    error

	status int // of an answer over HTTP that is no result; 0 where there was none
	wait   time.Duration
}

// HTTPStatus returns the status of the answer where one came that is no result,
// or 0.
func (e *LostError) HTTPStatus() int { return e.status }

// RetryAfter returns how long that answer asks to wait, or 0.
func (e *LostError) RetryAfter() time.Duration { return e.wait }

// Error says what happened.
func (e *LostError) Error() string {
	return fmt.Sprintf("the connection to server %s was lost while the call was running: %v", e.Server, e.Err)
}

// Unwrap returns the cause.
func (e *LostError) Unwrap() error { return e.Err }

// Call sends a call and waits for its answer, a CallToolResult. The error is
//   - a *tool.Error of kind Unavailable where the call never left,
//   - a *jsonrpc.Error that the server answered with,
//   - a *jsonrpc.TooLargeError for an answer over the limit,
//   - the cause of ctx where the caller gave up,
//   - a *LostError else.
func (s *Server) Call(ctx context.Context, c Call) (tool.Bytes, error) {
	for attempt := 0; ; attempt++ {
		l, release, err := s.lease(ctx, c.Key, c.Task)
		if err != nil {
			return nil, err
		}
		result, err := l.call(ctx, c)
		release()
		if err == nil {
			return result, nil
		}
		unsent := neverSent(err)
		if unsent && attempt == 0 && ctx.Err() == nil {
			s.drop(l) // it died unseen, or lost our session: a new link may do
			continue
		}
		return nil, failure(ctx, l, err, unsent)
	}
}

// neverSent reports whether the server provably has not carried out the call:
// it never left, or was refused for a session that the server does not know.
func neverSent(err error) bool {
	_, unsent := errors.AsType[*wire.SendError](err)
	return unsent || errors.Is(err, wire.ErrSessionLost)
}

func failure(ctx context.Context, l *link, err error, unsent bool) error {
	if _, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*jsonrpc.TooLargeError](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if unsent {
		return unavailable(l.name, l.mask(tool.Flatten(l.explain(err))))
	}
	lost := &LostError{Server: l.name, Err: errors.New(l.mask(l.explain(err).Error()))}
	if e, ok := errors.AsType[*wire.HTTPError](err); ok {
		lost.status, lost.wait = e.Status, e.RetryAfter
	}
	return lost
}

func (l *link) call(ctx context.Context, c Call) (tool.Bytes, error) {
	fields := l.meta
	var header http.Header
	if c.Task != "" {
		fields = append(slices.Clip(fields), jsonrpc.Field{Key: "tenon/task", Value: jsonrpc.Quote(nil, c.Task)})
		header = http.Header{"X-Tenon-Task": {c.Task}}
	}
	params := c.Params
	if len(fields) > 0 {
		edited, err := jsonrpc.EditMeta(params, fields...)
		if err != nil {
			return nil, &wire.SendError{Err: err}
		}
		params = edited.Join()
	}
	return l.client.Call(ctx, &wire.Request{Method: "tools/call", Params: params, Progress: c.Progress, Header: header})
}

// openFor opens a link of one session or call, within the deadline for a start.
func (s *Server) openFor(ctx context.Context, task string) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.StartTimeout, fmt.Errorf("not ready within %s", s.o.StartTimeout))
	defer cancel()
	s.mu.Lock()
	closed, hint := s.closed, s.status.era
	s.mu.Unlock()
	if closed {
		return nil, unavailable(s.o.Name, "it is stopped")
	}
	l, _, err := s.dialer.open(ctx, hint, task)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.status.era = era.Unknown
		return nil, unavailable(s.o.Name, s.o.Mask(tool.Flatten(err)))
	}
	s.status.met(l, s.o.Label)
	return l, nil
}
