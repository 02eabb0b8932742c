package relay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// An own is the link of a legacy client to one server. It takes what the server sends
// on it by itself.
type own struct {
	c      *Client
	server string
	ready  chan struct{} // closed when link or err is set
	link   Link          // nil without an error where clients get none
	err    error

	mu      sync.Mutex
	flights []*flight // requests that run, the newest last
}

// A flight is a request of a client that a server works on. What the server sends on
// the stream of the answer belongs to it.
type flight struct {
	c    *Client
	peer tool.Peer
}

var errClosed = errors.New("the session has ended")

// own returns the client's link to a server, opened where it is not. It is nil where
// clients get none of their own.
func (c *Client) own(ctx context.Context, s Server) (*own, error) {
	for try := 0; ; try++ {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil, errClosed
		}
		o := c.owns[s.Name()]
		mine := o == nil || o.over()
		if mine {
			o = &own{c: c, server: s.Name(), ready: make(chan struct{})}
			if c.owns == nil {
				c.owns = map[string]*own{}
			}
			c.owns[s.Name()] = o
		}
		c.mu.Unlock()
		if mine {
			o.open(ctx, s)
		}
		select {
		case <-o.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch {
		case o.err != nil && !mine && try == 0 && errors.Is(o.err, context.Canceled):
			continue // whoever opened it gave up
		case o.err != nil:
			return nil, o.err
		case o.link == nil:
			return nil, nil
		}
		return o, nil
	}
}

// over reports whether the link has ended.
func (o *own) over() bool {
	select {
	case <-o.ready:
		return o.err != nil && !errors.Is(o.err, ErrModernOnly) || o.link != nil && o.link.Ended()
	default:
		return false
	}
}

// open opens the link, and brings the server to where it was before.
func (o *own) open(ctx context.Context, s Server) {
	defer close(o.ready)
	o.link, o.err = s.Open(ctx, Greeting{Caller: o.c.o.Caller, Capabilities: o.c.o.Capabilities, ClientInfo: o.c.o.ClientInfo, Handler: o})
	if o.err != nil || o.link == nil {
		return
	}
	o.c.mu.Lock()
	level, closed := o.c.level, o.c.closed
	o.c.mu.Unlock()
	if closed {
		o.link.Close()
		o.err = errClosed
		return
	}
	if level != "" {
		o.set(ctx, s, "logging/setLevel", "level", level)
	}
	for _, uri := range o.c.subs.at(o.server) {
		o.set(ctx, s, "resources/subscribe", "uri", uri)
	}
}

// set sends a request that a server may refuse.
func (o *own) set(ctx context.Context, s Server, method, key, value string) {
	params, err := json.Marshal(map[string]string{key: value})
	if err == nil {
		_, _ = s.Send(ctx, &Sending{Method: method, Params: params, Link: o.link}) // not every server has it
	}
}

// send sends a request of the client on the link.
func (o *own) send(ctx context.Context, s Server, r Request) (tool.Bytes, error) {
	f := &flight{c: o.c, peer: r.Peer}
	if r.Peer != nil {
		o.mu.Lock()
		o.flights = append(o.flights, f)
		o.mu.Unlock()
		defer func() {
			o.mu.Lock()
			o.flights = slices.DeleteFunc(o.flights, func(g *flight) bool { return g == f })
			o.mu.Unlock()
		}()
	}
	return s.Send(ctx, &Sending{Method: r.Method, Params: r.Params, Link: o.link, Progress: r.Progress, Stream: f})
}

// newest returns the way back of the request that was sent last, or nil. All of them
// lead to the same client.
func (o *own) newest() tool.Peer {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n := len(o.flights); n > 0 {
		return o.flights[n-1].peer
	}
	return nil
}

// Asked implements Handler.
func (o *own) Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	return o.c.ask(ctx, o.newest(), method, params.Join())
}

// Heard implements Handler.
func (o *own) Heard(method string, params tool.Bytes) {
	o.c.tell(o.newest(), method, o.c.subs.updated(o.server, method, params.Join()))
}

// Asked implements Handler.
func (f *flight) Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	return f.c.ask(ctx, f.peer, method, params.Join())
}

// Heard implements Handler.
func (f *flight) Heard(method string, params tool.Bytes) {
	if f.c.o.Modern && method == "notifications/message" && f.c.o.Level == "" {
		return // it is not to have any
	}
	f.c.tell(f.peer, method, params.Join())
}
