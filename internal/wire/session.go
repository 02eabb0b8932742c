package wire

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// A Session is the server's side of one legacy MCP session: over HTTP what its
// Mcp-Session-Id stands for, over a stream the connection itself. It is safe for
// concurrent use.
type Session struct {
	ID     string      // empty on a stream
	Caller tool.Caller // who opened it; see ServerOptions.Admit

	ctx    context.Context
	cancel context.CancelFunc
	notify func(method string, params []byte) error
	ask    func(ctx context.Context, method string, params []byte) (tool.Bytes, error)

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // by request id
}

func newSession(ctx context.Context, id string) *Session {
	s := &Session{ID: id, running: map[string]context.CancelCauseFunc{}}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// newConnectionSession returns the session that a connection itself is. It ends
// with the connection, not with whoever opened that.
func newConnectionSession() *Session {
	return newSession(context.Background(), "") //nolint:forbidigo // a root of its own: see above
}

// Done is closed when the session has ended.
func (s *Session) Done() <-chan struct{} { return s.ctx.Done() }

// Notify sends a notification that belongs to no request. It is dropped, and
// reported as an error, where the other side does not listen.
func (s *Session) Notify(method string, params []byte) error { return s.notify(method, params) }

// Ask sends a request that belongs to none of the other side, and waits for its
// answer, as Exchange.Ask does.
func (s *Session) Ask(ctx context.Context, method string, params []byte) (tool.Bytes, error) {
	if s.ask == nil {
		return nil, ErrCannotAsk
	}
	return s.ask(ctx, method, params)
}

// errCanceled is the cause of a request's context when the other side cancels it.
type canceledError struct{}

// Error says who gave up.
func (canceledError) Error() string { return "canceled by the client" }

// Is makes it a context.Canceled.
func (canceledError) Is(target error) bool { return target == context.Canceled }

// runs reports whether a request with this id is running.
func (s *Session) runs(id []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[string(id)] != nil
}

// begin makes the context of the request with this id, until end is called.
// canceled reports afterwards whether the other side gave up.
func (s *Session) begin(ctx context.Context, id []byte) (rctx context.Context, end func() (canceled bool)) {
	rctx, cancel := context.WithCancelCause(ctx)
	key := string(id)
	s.mu.Lock()
	s.running[key] = cancel
	s.mu.Unlock()
	return rctx, func() bool {
		s.mu.Lock()
		_, mine := s.running[key]
		delete(s.running, key)
		s.mu.Unlock()
		cancel(nil)
		return !mine
	}
}

// cancelRequest takes a notifications/cancelled.
func (s *Session) cancelRequest(m *jsonrpc.Message) {
	var id [1]jsonrpc.Span
	if jsonrpc.Members(m.Params, []string{"requestId"}, id[:]) != nil || !id[0].Found() {
		return
	}
	key := string(id[0].In(m.Params).Join())
	s.mu.Lock()
	cancel := s.running[key]
	delete(s.running, key)
	s.mu.Unlock()
	if cancel != nil {
		cancel(canceledError{})
	}
}

// Context ends with the session.
func (s *Session) Context() context.Context { return s.ctx }
