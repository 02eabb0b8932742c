package wire

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	// tellTimeout bounds what Close waits for: a cancellation that nobody waits for
	// else, the end of the session.
	tellTimeout = 3 * time.Second
	// replyTimeout bounds the sending of an answer to the server.
	replyTimeout = 30 * time.Second
)

// A flight is a call whose answer is waited for.
type flight struct {
	id       int64
	progress func(tool.Bytes)
	answer   chan *jsonrpc.Message // holds one; nil where the caller reads the answer itself
	cancel   context.CancelCauseFunc
	stop     func() bool                     // unties the flight from its caller's context
	aside    atomic.Pointer[jsonrpc.Message] // the answer, where it came on another stream
}

// A peer is what the clients over HTTP have in common: the calls in flight, what
// the server asks and notifies, the work in the background, and the end of it.
type peer struct {
	inbox
	garbage func(head []byte, err error)

	mu      sync.Mutex
	lastID  int64
	flights map[int64]*flight
	err     error
	closing bool // nothing new may start
	done    chan struct{}
	tasks   sync.WaitGroup // calls too
}

// init prepares p. notify sends a notification to the server.
func (p *peer) init(o *HTTPOptions, notify func(method string, params []byte) error) {
	p.garbage = o.Garbage
	p.inbox.init(o.Handler, notify)
	p.inbox.spawn, p.progress = p.spawn, p.progressOf
	p.flights = map[int64]*flight{}
	p.done = make(chan struct{})
}

// begin registers a call whose answer goes into the channel, where there is one.
// The call's context ends with the caller's, and with Close; it may outlive the
// caller's once the answer is there.
func (p *peer) begin(ctx context.Context, r *Request, answer chan *jsonrpc.Message) (context.Context, *flight, error) {
	if ctx.Err() != nil {
		return nil, nil, &SendError{context.Cause(ctx)}
	}
	f := &flight{progress: r.Progress, answer: answer}
	fctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f.cancel = cancel
	p.mu.Lock()
	if p.err != nil {
		defer p.mu.Unlock()
		cancel(nil)
		return nil, nil, &SendError{p.err}
	}
	p.lastID++
	f.id = p.lastID
	p.flights[f.id] = f
	p.tasks.Add(1)
	p.mu.Unlock()
	f.stop = context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return fctx, f, nil
}

// finish ends a call that begin has registered. Its context lives on. Progress
// that came on another stream than the answer is not told afterwards.
func (p *peer) finish(f *flight) {
	f.stop()
	if f.progress != nil {
		p.notices.Lock()
		defer p.notices.Unlock()
	}
	p.mu.Lock()
	delete(p.flights, f.id)
	p.mu.Unlock()
	p.tasks.Done()
}

// take returns the call whose answer has come. It is not found again.
func (p *peer) take(id int64) *flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.flights[id]
	delete(p.flights, id)
	return f
}

// errAside ends a call whose answer came on another stream.
var errAside = errors.New("the answer came on another stream")

// answeredAside takes an answer that came on a stream of no call: some servers send it
// where the client listens.
func (p *peer) answeredAside(m *jsonrpc.Message) {
	id, ok := parseID(m.ID)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.flights[id]; f != nil && f.answer == nil && f.aside.CompareAndSwap(nil, m) {
		f.cancel(errAside)
	}
}

// progressOf returns what takes the progress of a call in flight, or nil.
func (p *peer) progressOf(id int64) func(tool.Bytes) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.flights[id]; f != nil {
		return f.progress
	}
	return nil
}

// attach ties ctx to the connection, for a message without an answer. done must
// be called after it.
func (p *peer) attach(ctx context.Context) (attached context.Context, done func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, nil, &SendError{p.err}
	}
	p.tasks.Add(1)
	attached, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.session.ctx, func() { cancel(p.reason()) })
	return attached, func() {
		stop()
		cancel(nil)
		p.tasks.Done()
	}, nil
}

// spawn runs f in the background, where p is not about to close.
func (p *peer) spawn(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		return false
	}
	p.tasks.Go(f)
	return true
}

// tell runs f in the background, with a context that outlives the call and the
// connection, but not for long.
func (p *peer) tell(f func(ctx context.Context)) {
	p.spawn(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.session.ctx), tellTimeout)
		defer cancel()
		f(ctx)
	})
}

// end marks the connection as over; the first reason counts.
func (p *peer) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over(err)
}

// over is end for who holds the lock.
func (p *peer) over(err error) {
	if p.err != nil {
		return
	}
	p.err = err
	close(p.done)
	p.session.cancel()
}

// endWith is end, and makes the calls in flight fail. It is one step: who hears of the end
// closes the connection, and the calls would fail for that.
func (p *peer) endWith(err, calls error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.flights {
		f.cancel(calls)
	}
	p.over(err)
}

// shut ends the connection for good: calls in flight fail, nothing new starts.
// It reports false where that was done before.
func (p *peer) shut() bool {
	p.endWith(ErrClosed, ErrClosed)
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.closing
	p.closing = true
	return first
}

func (p *peer) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// parseID reads the id of an answer: a number, or the string that some servers
// make of it.
func parseID(raw []byte) (int64, bool) {
	if n := len(raw); n > 2 && raw[0] == '"' && raw[n-1] == '"' {
		raw = raw[1 : n-1]
	}
	id, err := strconv.ParseInt(string(raw), 10, 64)
	return id, err == nil
}

// sameID reports whether raw, the id of an answer, is id.
func sameID(raw []byte, id int64) bool {
	got, ok := parseID(raw)
	return ok && got == id
}

// cancelParams returns the params of notifications/cancelled.
func cancelParams(id int64, why error) []byte {
	b := append([]byte(`{"requestId":`), strconv.AppendInt(nil, id, 10)...)
	b = append(b, `,"reason":`...)
	return append(jsonrpc.Quote(b, why.Error()), '}')
}
