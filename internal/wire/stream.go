package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

var errStopped = errors.New("stopped")

// StreamOptions configures a Stream. R and W must be set.
type StreamOptions struct {
	R io.Reader
	W io.Writer
	// Close ends the stream below: reads and writes that are under way must
	// return. Nil closes R and W where they are closers.
	Close func() error
	// Handler answers what the other side asks. Nil answers ping and refuses the
	// rest.
	Handler Handler
	// Serving marks the end of a server: a line that is no message is answered with
	// an error, and when the other side has closed its output, what it asked before
	// is still answered, for at most lingerBound.
	Serving bool
	// MaxMessage bounds one message, in bytes. 0 is DefaultMaxMessage.
	MaxMessage int64
	// Garbage takes the head of each line that is no message, and why. A server
	// that prints to its standard output is a fault of the server, and no reason
	// to lose it. Nil drops them.
	Garbage func(head []byte, err error)
}

// A Stream is one end of a JSON-RPC connection over a byte stream with one
// message a line. Both ends may ask and answer. It is a Client.
type Stream struct {
	inbox
	o     StreamOptions
	out   *outbox
	tasks sync.WaitGroup
	asks  sync.WaitGroup // requests of the other side that run

	mu     sync.Mutex
	lastID int64
	calls  map[int64]*pending
	late   int // answers that may still come to callers who gave up
	err    error
	done   chan struct{}
}

var _ Client = (*Stream)(nil)

type pending struct {
	answer   chan *jsonrpc.Message // holds one
	progress func(tool.Bytes)
	err      error // set with a nil answer
}

// NewStream starts a connection. Close it to end it.
func NewStream(o StreamOptions) *Stream {
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.Garbage == nil {
		o.Garbage = func([]byte, error) {}
	}
	if o.Close == nil {
		o.Close = func() error { return errors.Join(closeIf(o.R), closeIf(o.W)) }
	}
	s := &Stream{o: o, out: newOutbox(o.Serving), calls: map[int64]*pending{}, done: make(chan struct{})}
	s.inbox.init(o.Handler, s.notify)
	s.reply, s.spawn, s.progress = s.answer, s.run, s.progressOf
	s.ask = func(ctx context.Context, method string, params []byte) (tool.Bytes, error) {
		return s.Call(ctx, &Request{Method: method, Params: params})
	}
	s.session.ask = s.ask
	s.tasks.Go(func() {
		err := (&streamReader{Stream: s}).run()
		if s.o.Serving && errors.Is(err, io.EOF) {
			linger(&s.tasks, &s.asks, s.done)
		}
		s.end(err)
	})
	s.tasks.Go(func() {
		err := s.out.run(o.W, s.done)
		if !o.Serving { // what it said before it stopped listening may be the answer of a call
			select {
			case <-s.done:
			case <-time.After(lastBound):
			}
		}
		s.end(err)
	})
	return s
}

// lastBound is how long the other side is still read that takes no more. One that has
// ended has closed its output as well, which is noticed sooner.
const lastBound = 500 * time.Millisecond

func closeIf(v any) error {
	if c, ok := v.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Session returns the session that the stream itself is, to its handler.
func (s *Stream) Session() *Session { return s.session }

// Done is closed when the connection has ended.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Err says why the connection ended; io.EOF where the other side closed it.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the connection and waits for its goroutines, and for the requests
// that it answers.
func (s *Stream) Close() error {
	s.end(ErrClosed)
	err := s.o.Close()
	s.tasks.Wait()
	return err
}

// Wait returns when the other side has closed the connection, or it failed, and
// all answers are done.
func (s *Stream) Wait() error {
	<-s.done
	err := s.Err()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, s.Close())
}

// end marks the connection as over; the first reason counts.
func (s *Stream) end(err error) {
	s.mu.Lock()
	if s.err != nil {
		s.mu.Unlock()
		return
	}
	s.err = err
	calls := s.calls
	s.calls = nil
	close(s.done)
	s.mu.Unlock()
	s.session.cancel()
	s.out.fail(err)
	for _, p := range calls {
		p.answer <- nil
	}
}

// Call implements Client.
func (s *Stream) Call(ctx context.Context, r *Request) (tool.Bytes, error) {
	p := &pending{answer: make(chan *jsonrpc.Message, 1), progress: r.Progress}
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return nil, &SendError{s.err}
	}
	s.lastID++
	id := s.lastID
	s.calls[id] = p
	s.out.lone.Store(len(s.calls) == 1)
	s.mu.Unlock()

	at, err := s.sendRequest(ctx, id, r)
	if err != nil {
		s.take(id)
		return nil, err
	}
	select {
	case m := <-p.answer:
		return p.result(s, m, at)
	case <-ctx.Done():
	}
	if !s.giveUp(id) {
		return p.result(s, <-p.answer, at) // it came just now
	}
	s.tellCanceled(id, context.Cause(ctx))
	return nil, context.Cause(ctx)
}

// sendRequest queues a request, and returns where in the queue it is.
func (s *Stream) sendRequest(ctx context.Context, id int64, r *Request) (at int64, err error) {
	params, err := r.text(id)
	if err != nil {
		return 0, &RequestError{err}
	}
	frame := framePool.Get().(*[]byte)
	head := jsonrpc.AppendRequest((*frame)[:0], id, r.Method, nil)
	if len(params) > 0 {
		head = append(head[:len(head)-1], `,"params":`...)
		parts := append(append(make([][]byte, 0, 8), head), params...)
		at, err = s.put(ctx.Done(), append(parts, brace)...)
	} else {
		at, err = s.put(ctx.Done(), head)
	}
	if cap(head) <= inlineSize { // the outbox has copied it
		*frame = head
		framePool.Put(frame)
	}
	switch {
	case errors.Is(err, errStopped):
		return 0, &SendError{context.Cause(ctx)}
	case err != nil:
		return 0, &SendError{err}
	}
	return at, nil
}

var framePool = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// text returns the params to send, with the request's id as the progress token
// where progress is wanted. The id is this side's own, so tokens never collide.
func (r *Request) text(id int64) (tool.Bytes, error) {
	meta := r.Meta
	if r.Progress != nil {
		meta = append(slices.Clip(meta), jsonrpc.Field{Key: "progressToken", Value: strconv.AppendInt(nil, id, 10)})
	}
	switch {
	case len(meta) > 0 || len(r.Set) > 0:
		return jsonrpc.EditParams(r.Params, r.Set, meta)
	case len(r.Params) == 0:
		return nil, nil
	}
	return tool.OneOf(r.Params), nil
}

// result returns what came of a call, the request of which is at that place in the
// queue. m is nil where it was no answer.
func (p *pending) result(s *Stream, m *jsonrpc.Message, at int64) (tool.Bytes, error) {
	switch {
	case m == nil && p.err != nil:
		return nil, p.err
	case m == nil && s.out.neverLeft(at):
		return nil, &SendError{s.Err()}
	case m == nil:
		return nil, s.Err()
	}
	return m.Value()
}

// take takes a call out, or returns nil where nobody waits for it any more.
func (s *Stream) take(id int64) *pending {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.calls[id]
	delete(s.calls, id)
	return p
}

// giveUp takes a call out whose answer nobody waits for any more. It reports false
// where the answer has come.
func (s *Stream) giveUp(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[id] == nil {
		return false
	}
	delete(s.calls, id)
	s.late++
	return true
}

// tellCanceled tells the server that nobody waits any more. It does not wait
// for room in the queue: a server that does not read will not hear it anyway.
func (s *Stream) tellCanceled(id int64, why error) {
	_ = s.send(closed, jsonrpc.AppendRequest(nil, 0, "notifications/cancelled", cancelParams(id, why))) // nobody is left to tell
}

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (s *Stream) send(stop <-chan struct{}, frame []byte) error {
	_, err := s.put(stop, frame)
	return err
}

var brace, newline = []byte("}"), []byte("\n")

// put queues a message, which is given in parts, as one line. It is the only way to the
// other side: a line end between the tokens of what somebody else wrote would make a
// message of its own of the rest, which nobody has looked at.
func (s *Stream) put(stop <-chan struct{}, parts ...[]byte) (at int64, err error) {
	return s.out.send(stop, append(oneLine(parts), newline)...)
}

// Notify implements Client.
func (s *Stream) Notify(ctx context.Context, method string, params []byte) error {
	return s.send(ctx.Done(), jsonrpc.AppendRequest(nil, 0, method, params))
}

// notify sends a notification of this side that belongs to no call of it. It never
// waits: whoever sends it serves others too. Where the other side has left megabytes
// unread it is dropped.
func (s *Stream) notify(method string, params []byte) error {
	err := s.send(closed, jsonrpc.AppendRequest(nil, 0, method, params))
	if errors.Is(err, errStopped) {
		return errSlow
	}
	return err
}

// progressOf returns what takes the progress of a call in flight, or nil.
func (s *Stream) progressOf(id int64) func(tool.Bytes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.calls[id]; p != nil {
		return p.progress
	}
	return nil
}

// run runs f in the background. The reader calls it, which Close waits for, so
// Close waits for f as well.
func (s *Stream) run(f func()) bool {
	s.asks.Add(1)
	s.tasks.Go(func() {
		defer s.asks.Done()
		f()
	})
	return true
}

// lingerBound is how long what was asked may take after the end of the input.
const lingerBound = 30 * time.Second

// linger waits until asks are answered, or the stream is done.
func linger(tasks, asks *sync.WaitGroup, done <-chan struct{}) {
	answered := make(chan struct{})
	tasks.Go(func() {
		asks.Wait()
		close(answered)
	})
	select {
	case <-answered:
	case <-done:
	case <-time.After(lingerBound):
	}
}

func (s *Stream) answer(id []byte, result tool.Bytes, e *jsonrpc.Error) {
	if e != nil {
		result = tool.OneOf(e.JSON())
	}
	parts := make([][]byte, 0, len(result)+3)
	parts = append(parts, jsonrpc.AppendAnswerHead(nil, id, e != nil))
	parts = append(parts, result...)
	_, _ = s.put(s.done, append(parts, brace)...) // the connection is over: end has its reason
}

// oneLine returns b without line ends, which JSON may have between its tokens.
func oneLine(b tool.Bytes) tool.Bytes {
	copied := false
	for i, p := range b {
		if bytes.IndexByte(p, '\n') < 0 && bytes.IndexByte(p, '\r') < 0 {
			continue
		}
		if !copied {
			b, copied = slices.Clone(b), true
		}
		b[i] = bytes.Clone(p)
		for j, c := range b[i] {
			if c == '\n' || c == '\r' {
				b[i][j] = ' '
			}
		}
	}
	return b
}
