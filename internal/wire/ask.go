package wire

import (
	"context"
	"errors"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// ErrCannotAsk says that the other side cannot be asked anything on this way.
var ErrCannotAsk = errors.New("the client cannot be asked on this connection")

// Ask sends a request to the other side that belongs to the one being answered, and
// waits for its answer. The error is a *jsonrpc.Error where it answered with one. It
// must not be called after the request was answered.
func (x *Exchange) Ask(ctx context.Context, method string, params []byte) (tool.Bytes, error) {
	switch {
	case x.ask != nil:
		return x.ask(ctx, method, params)
	case x.http != nil && x.stream != nil:
		return x.http.ask(ctx, x.stream, method, params)
	}
	return nil, ErrCannotAsk
}

// ask sends a request on a stream of the session and waits for the answer, which comes
// with a request of its own. Its id is this side's.
func (hs *httpSession) ask(ctx context.Context, stream *eventStream, method string, params []byte) (tool.Bytes, error) {
	answer := make(chan *jsonrpc.Message, 1)
	hs.mu.Lock()
	hs.lastAsk++
	id := hs.lastAsk
	if hs.asks == nil {
		hs.asks = map[int64]chan *jsonrpc.Message{}
	}
	hs.asks[id] = answer
	hs.mu.Unlock()
	defer func() {
		hs.mu.Lock()
		delete(hs.asks, id)
		hs.mu.Unlock()
	}()
	if err := stream.send(jsonrpc.AppendRequest(nil, id, method, params)); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		return m.Value()
	case <-ctx.Done():
		_ = stream.notify("notifications/cancelled", cancelParams(id, context.Cause(ctx))) // nobody waits for it
		return nil, context.Cause(ctx)
	}
}

// askOnStream sends a request on the newest stream that the client has open.
func (hs *httpSession) askOnStream(ctx context.Context, method string, params []byte) (tool.Bytes, error) {
	stream := hs.newest()
	if stream == nil {
		return nil, ErrCannotAsk
	}
	return hs.ask(ctx, stream, method, params)
}

// answered hands an answer to whoever asked. One that nobody waits for is dropped.
func (hs *httpSession) answered(m *jsonrpc.Message) {
	id, ok := parseID(m.ID)
	if !ok {
		return
	}
	hs.mu.Lock()
	answer := hs.asks[id]
	delete(hs.asks, id)
	hs.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}
