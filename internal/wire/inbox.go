package wire

import (
	"context"
	"strconv"
	"sync"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// maxRunning bounds the requests of the other side that run at once.
const maxRunning = 1024

// inbox takes what the other side asks and notifies by itself. Its functions are
// those of the connection that it belongs to.
type inbox struct {
	handler  Handler  // nil answers ping and refuses the rest
	session  *Session // its context ends with the connection
	reply    func(id []byte, result tool.Bytes, e *jsonrpc.Error)
	spawn    func(f func()) bool             // runs f in the background, or reports false
	progress func(id int64) func(tool.Bytes) // of a call in flight, or nil
	ask      func(ctx context.Context, method string, params []byte) (tool.Bytes, error)

	running chan struct{}
	notices sync.Mutex // held while a notification is taken: one after the other
}

// init prepares b. notify sends a notification to the other side.
func (b *inbox) init(h Handler, notify func(method string, params []byte) error) {
	b.handler = h
	b.session = newConnectionSession()
	b.session.notify = notify
	b.running = make(chan struct{}, maxRunning)
}

// dispatch takes one message that is no answer.
func (b *inbox) dispatch(m *jsonrpc.Message) { b.dispatchTo(b.handler, m) }

// dispatchTo takes one message that is no answer, and is for that handler.
func (b *inbox) dispatchTo(h Handler, m *jsonrpc.Message) {
	if m.IsRequest() {
		b.asked(h, m)
		return
	}
	b.notices.Lock()
	defer b.notices.Unlock()
	switch m.Method {
	case "notifications/progress":
		if b.progressed(m) {
			return
		}
	case "notifications/cancelled":
		b.session.cancelRequest(m)
		return
	}
	if h != nil {
		h.Notification(b.exchange(), m)
	}
}

// progressed hands progress to the call it belongs to, and reports whether there
// is one.
func (b *inbox) progressed(m *jsonrpc.Message) bool {
	var token [1]jsonrpc.Span
	if jsonrpc.Members(m.Params, []string{"progressToken"}, token[:]) != nil || !token[0].Found() {
		return false
	}
	id, err := strconv.ParseInt(string(token[0].In(m.Params).Join()), 10, 64)
	if err != nil {
		return false
	}
	f := b.progress(id)
	if f == nil {
		return false
	}
	f(m.Params)
	return true
}

func (b *inbox) exchange() *Exchange {
	return &Exchange{Session: b.session, notify: b.session.notify, ask: b.ask}
}

func (b *inbox) asked(h Handler, m *jsonrpc.Message) {
	if b.session.runs(m.ID) { // its answer would be taken for the other's
		b.reply(m.ID, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a request with the id %s is running: each needs an id of its own", clip(m.ID)))
		return
	}
	select {
	case b.running <- struct{}{}:
	default:
		// Whoever asks this much waits for us: its messages are not read meanwhile.
		b.reply(m.ID, nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "more than %d requests at once", maxRunning))
		return
	}
	ctx, end := b.session.begin(b.session.ctx, m.ID)
	started := b.spawn(func() {
		defer func() { <-b.running }()
		result, rpcErr := b.handle(ctx, h, m)
		if canceled := end(); !canceled {
			b.reply(m.ID, result, rpcErr)
		}
	})
	if !started {
		end()
		<-b.running
	}
}

func (b *inbox) handle(ctx context.Context, h Handler, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	switch {
	case m.Method == "ping":
		return tool.OneOf([]byte("{}")), nil
	case h == nil:
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported", m.Method)
	}
	return h.Request(ctx, b.exchange(), m)
}

// clip keeps short what an error quotes of a message.
func clip(b []byte) string {
	const most = 64
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
