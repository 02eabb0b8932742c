package relay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds of what waits for modern clients to come again.
const (
	maxParked   = 1000
	ParkedFor   = 5 * time.Minute       // how long they wait
	gatherGrace = 20 * time.Millisecond // what a server asks at once goes to the client at once
)

// parked are the requests that wait for their clients, by name.
type parked struct {
	places share.Places

	mu  sync.Mutex
	all map[string]*waiting
}

// A waiting is a request of a modern client at a legacy server, which may ask
// something. It takes what the server sends by itself.
type waiting struct {
	r      *Relay
	id     string
	server string
	caller string
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when result and err are set
	outcome
	questions questions

	mu       sync.Mutex
	c        visit // the request that waits now; nil while none does
	now      Request
	rounds   int
	deadline *time.Timer // while none waits
}

// An outcome is the end of a request.
type outcome struct {
	result tool.Bytes
	err    error
}

// park sends a modern client's request to a legacy server on a link that nobody else
// uses meanwhile.
func (c visit) park(ctx context.Context, s Server, r Request) (tool.Bytes, error) {
	l, err := c.lease(ctx, s)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return s.Send(ctx, &Sending{Method: r.Method, Params: r.Params, Progress: r.Progress})
	}
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(c.r.ctx, func() { cancel(context.Cause(c.r.ctx)) })
	w := &waiting{
		r: c.r, id: rand.Text(), server: s.Name(), caller: c.o.Caller, cancel: cancel,
		questions: newQuestions(), done: make(chan struct{}), c: c, now: r,
	}
	l.use(w)
	c.r.tasks.Go(func() {
		defer stop()
		defer cancel(nil)
		w.result, w.err = s.Send(run, &Sending{Method: r.Method, Params: r.Params, Link: l.link, Progress: w.progressed, Stream: w})
		l.use(nil)
		c.r.leases.giveBack(l)
		close(w.done)
	})
	return w.wait(ctx)
}

// wait returns the result, or what is to be asked before there is one.
func (w *waiting) wait(ctx context.Context) (tool.Bytes, error) {
	select {
	case <-w.done:
		return w.result, w.err
	case <-ctx.Done():
		w.cancel(context.Cause(ctx))
		<-w.done
		return nil, context.Cause(ctx)
	case <-w.questions.rang:
	}
	select {
	case <-time.After(gatherGrace):
	case <-w.done:
		return w.result, w.err
	case <-ctx.Done():
		w.cancel(context.Cause(ctx))
		<-w.done
		return nil, context.Cause(ctx)
	}
	return w.leave()
}

// leave parks the request, and returns the result that asks the client.
func (w *waiting) leave() (tool.Bytes, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	inputs := w.questions.open()
	for _, q := range inputs {
		if !w.c.may(q.Method) {
			w.cancel(errGone)
			return nil, w.c.lacks(q.Method)
		}
	}
	said, err := json.Marshal(inputs)
	if err != nil {
		w.cancel(err)
		return nil, err
	}
	if err := w.r.parked.add(w); err != nil {
		w.cancel(errGone)
		return nil, fmt.Errorf("%d requests may wait for their clients, and %w: answer some, or try again later", maxParked, err)
	}
	w.rounds++
	st := state{
		Round: w.rounds, Server: w.server, Caller: w.c.o.Caller, Digest: w.c.o.Digest, Parked: w.id,
		Expires: time.Now().Add(ParkedFor).Unix(), Grant: w.c.grant(),
	}
	w.c, w.now = visit{}, Request{}
	w.deadline = time.AfterFunc(ParkedFor, func() {
		if w.r.parked.take(w.id) != nil {
			w.cancel(errGone)
		}
	})
	out := append([]byte(`{"resultType":"input_required","inputRequests":`), said...)
	out = append(out, `,"requestState":`...)
	return tool.OneOf(append(jsonrpc.Quote(out, w.r.seal(st)), '}')), nil
}

// errGone ends a request whose client has not come again.
var errGone = &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the client did not come again with what the server asked for"}

// resume goes on with a request that waits, with the answers that its client brings.
func (c visit) resume(ctx context.Context, st *state, r Request) (tool.Bytes, error) {
	w := c.r.parked.take(st.Parked)
	if w == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "requestState is refused: what it stands for has ended, or was used. Make the request anew, without requestState and inputResponses.")
	}
	var answers map[string]json.RawMessage
	if len(c.o.Responses) > 0 {
		if err := json.Unmarshal(c.o.Responses, &answers); err != nil {
			_ = c.r.parked.add(w) // it has just left its place
			return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "inputResponses is no object")
		}
	}
	w.mu.Lock()
	w.deadline.Stop()
	w.c, w.now = c, r
	left := w.questions.give(answers)
	w.mu.Unlock()
	if left > 0 { // it is asked again for the rest
		w.questions.ring()
	}
	return w.wait(ctx)
}

// Asked implements Handler.
func (w *waiting) Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	return w.questions.ask(ctx, w.done, method, params)
}

// Heard implements Handler.
func (w *waiting) Heard(method string, params tool.Bytes) {
	w.mu.Lock()
	c, peer := w.c, w.now.Peer
	w.mu.Unlock()
	if c.Client != nil && peer != nil {
		(&flight{c: c.Client, peer: peer}).Heard(method, params)
	}
}

func (w *waiting) progressed(params tool.Bytes) {
	w.mu.Lock()
	told := w.now.Progress
	w.mu.Unlock()
	if told != nil {
		told(params)
	}
}

// add takes a request in. The error says why there is no room.
func (p *parked) add(w *waiting) error {
	if err := p.places.Take(w.caller, maxParked); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*waiting{}
	}
	p.all[w.id] = w
	return nil
}

// take takes a request out, so that only one client goes on with it.
func (p *parked) take(id string) *waiting {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.all[id]
	if w != nil {
		delete(p.all, id)
		p.places.Give(w.caller)
	}
	return w
}
