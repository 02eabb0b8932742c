package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// A Handler takes what a server sends by itself to one of its clients.
type Handler interface {
	// Asked answers a request of the server. ctx ends when the server gives up.
	Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error)
	// Heard takes a notification. It must return quickly.
	Heard(method string, params tool.Bytes)
}

// A Greeting is what a legacy server is told of the client that a link is for.
type Greeting struct {
	Capabilities json.RawMessage // empty are none
	ClientInfo   json.RawMessage // empty is this program
	Caller       string          // whose place among the connections it takes
	Task         string
	Handler      Handler

	self bool // of this program: the answer is what the server says to all
}

// say returns the capabilities and the name to greet with.
func (g *Greeting) say(self []byte) (capabilities, info []byte) {
	capabilities, info = []byte("{}"), self
	if g != nil && len(g.Capabilities) > 0 {
		capabilities = g.Capabilities
	}
	if g != nil && len(g.ClientInfo) > 0 {
		info = g.ClientInfo
	}
	return capabilities, info
}

// An opening says how a link is opened.
type opening struct {
	hint     era.Era
	task     string
	caller   string    // whose login the link uses; empty is that of the server
	greeting *Greeting // nil for a link that may serve anybody
}

// handler returns what takes that which the server sends by itself on a link.
func (o opening) handler(d *dialer) wire.Handler {
	if o.greeting == nil || o.greeting.Handler == nil {
		return d
	}
	return foreign{d, o.greeting.Handler}
}

// asked are the calls that run on a link which is not shared, and whose server may ask
// something. It is the handler of the link.
type asked struct {
	d     *dialer
	calls Running[Handler] // all are of one session
}

// askable returns how a link is opened whose server may ask the calls that run on it;
// o itself and nil where it may not.
func (o opening) askable(d *dialer) (opening, *asked) {
	if o.greeting != nil || d.o.Isolation == Shared || len(d.o.Capabilities) == 0 {
		return o, nil
	}
	a := &asked{d: d}
	o.greeting = &Greeting{Capabilities: d.o.Capabilities, Handler: a, self: true}
	return o, a
}

// begin notes that a call runs, until end.
func (a *asked) begin(h Handler) (end func()) {
	if a == nil || h == nil {
		return func() {}
	}
	return a.calls.Begin(h)
}

// Asked implements Handler.
func (a *asked) Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	h, ok := a.calls.Newest()
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is answered within calls of tools alone", method)
	}
	return h.Asked(ctx, method, params)
}

// Heard implements Handler.
func (a *asked) Heard(method string, params tool.Bytes) {
	a.d.Notification(nil, &jsonrpc.Message{Method: method, Params: params})
}

// foreign is somebody else's handler on a link.
type foreign struct {
	d *dialer
	h Handler
}

// Request implements wire.Handler.
func (f foreign) Request(ctx context.Context, _ *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	return f.h.Asked(ctx, m.Method, m.Params)
}

// Notification implements wire.Handler. That lists have changed concerns all.
func (f foreign) Notification(x *wire.Exchange, m *jsonrpc.Message) {
	switch m.Method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		f.d.Notification(x, m)
		return
	}
	f.d.flood.heard(f.d.log)
	f.h.Heard(m.Method, m.Params)
}

// own is what a Server knows of the links that it has opened for single clients.
type own struct {
	places     share.Places
	short      atomic.Bool // there was no place for one
	modernOnly atomic.Bool // it was found out that no initialize is understood
}

// maxOwnConnections bounds the links of single clients to a server that needs no
// process for each.
const maxOwnConnections = 10_000

// probeBound is how long a server that speaks the modern era may take to show that it
// speaks the legacy one too.
const probeBound = 5 * time.Second

// Why there is no link of a client's own.
var (
	ErrModernOnly = errors.New("the server speaks the modern era only")
	ErrTooMany    = errors.New("there is no place for a connection of this client's own")
)

// A Link is a legacy connection to a server that belongs to one client alone. Close
// it.
type Link struct {
	s      *Server
	l      *link
	caller string
	closed atomic.Bool
}

// Open opens a link for one client, in the legacy era. The error is ErrModernOnly
// where the server does not speak it, ErrTooMany, or as of Call.
func Open(ctx context.Context, s *Server, g Greeting) (*Link, error) {
	if s.own.modernOnly.Load() {
		return nil, ErrModernOnly
	}
	limit, of := maxOwnConnections, ""
	if s.o.Command != nil {
		limit, of = s.o.MaxSessions, ", each a process (max_sessions)"
	}
	if err := s.own.places.Take(g.Caller, limit); err != nil {
		if !s.own.short.Swap(true) { // the first says it all
			s.log.Warn("clients share one connection, on which the server can ask them nothing", "limit", limit, "reason", err)
		}
		return nil, fmt.Errorf("%w: of %d%s, %w", ErrTooMany, limit, of, err)
	}
	l, err := openOwn(ctx, s, g)
	if err != nil {
		s.own.places.Give(g.Caller)
		return nil, err
	}
	return &Link{s: s, l: l, caller: g.Caller}, nil
}

func openOwn(ctx context.Context, s *Server, g Greeting) (*link, error) {
	spoken, err := EraOf(ctx, s) // what cannot be started is not tried again here
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	err = s.status.mayStart(s.o.Name)
	limit, _ := s.status.startLimit(&s.o)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if spoken == era.Modern {
		limit = min(limit, probeBound)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(s.ctx, func() { stop(unavailable(s.o.Name, "it is stopped")) })()
	bounded, cancel := context.WithTimeoutCause(ctx, limit, notReady(limit))
	defer cancel()
	l, _, err := s.dialer.open(bounded, opening{hint: era.Legacy, task: g.Task, greeting: &g})
	switch {
	case err == nil:
		l.use.add(0)
		l.awaitEar(ctx)
		return l, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case spoken == era.Modern:
		s.own.modernOnly.Store(true)
		return nil, ErrModernOnly
	}
	return nil, unavailable(s.o.Name, s.o.Mask(tool.Flatten(err)))
}

// earBound is how long a new link waits for the stream on which the server is heard: some
// give it only with the first thing to say.
const earBound = 100 * time.Millisecond

// awaitEar waits until the server can be heard, so that nothing that it says because of
// the first request is missed.
func (l *link) awaitEar(ctx context.Context) {
	c, ok := l.client.(interface{ Listening() <-chan struct{} })
	if !ok {
		return
	}
	t := time.NewTimer(earBound)
	defer t.Stop()
	select {
	case <-c.Listening():
	case <-t.C:
	case <-ctx.Done():
	}
}

// EraOf returns the era in which a server is spoken to, and starts it where that is not
// known.
func EraOf(ctx context.Context, s *Server) (era.Era, error) {
	if s.o.Isolation == Shared {
		l, err := s.shared(ctx)
		if err != nil {
			return era.Unknown, err
		}
		return l.era, nil
	}
	for try := 0; ; try++ {
		s.mu.Lock()
		spoken := s.status.era
		s.mu.Unlock()
		if spoken != era.Unknown || try > 0 {
			return spoken, nil
		}
		if err := s.Connect(ctx); err != nil {
			return era.Unknown, err
		}
	}
}

// Meet returns what a server says of itself, and starts it where it has said
// nothing yet.
func Meet(ctx context.Context, s *Server) (About, error) {
	if a := s.About(); len(a.Raw) > 0 {
		return a, nil
	}
	if err := s.Connect(ctx); err != nil {
		return About{}, err
	}
	return s.About(), nil
}

// callOwn sends a request on a client's own link.
func callOwn(ctx context.Context, s *Server, c Call) (tool.Bytes, error) {
	l := c.Link.l
	l.use.add(1)
	defer l.use.add(-1)
	result, err := l.call(ctx, c)
	if err == nil {
		l.worked()
		return result, nil
	}
	useless := s.judge(ctx, l, err)
	return nil, failure(ctx, l, err, useless)
}

// Ended reports whether the link is over.
func (l *Link) Ended() bool { return l.closed.Load() || l.l.ended() }

// IdleSince reports whether nothing has run on the link since limit.
func (l *Link) IdleSince(limit time.Time) bool { return l.l.use.idleSince(limit) }

// Notify sends a notification to the server.
func (l *Link) Notify(ctx context.Context, method string, params []byte) error {
	return l.l.client.Notify(ctx, method, params)
}

// Close ends the link, and the process behind it: requests on it fail. It does not
// wait for that.
func (l *Link) Close() {
	if l.closed.Swap(true) {
		return
	}
	l.s.own.places.Give(l.caller)
	l.s.dialer.discard(l.l)
}

// IsShared reports whether all callers of a server have one connection in common.
func IsShared(s *Server) bool { return s.o.Isolation == Shared }
