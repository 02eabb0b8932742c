package relay

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds of the tasks whose clients are of the other era than their servers.
const (
	maxHeld  = 1000
	heldFor  = time.Hour      // where the server does not say how long it keeps a task
	heldLong = 24 * time.Hour // whatever the server says
)

// A held is a task that a client of the other era than its server has a handle of.
type held struct {
	r              *Relay
	name, handle   string
	id             string // that its server knows
	server, caller string
	owner          *Client // the session that it belongs to, of a legacy client
	modern         bool    // the server is
	ctx            context.Context
	end            context.CancelFunc

	mu     sync.Mutex
	task   era.Task        // as its server knows it
	atOnce *outcome        // of a call that its modern server did not make a task of
	asked  map[string]bool // of a modern server: the inputs that the client was asked for
	ofLegacy
}

// An ofLegacy is what a task of a legacy server has besides.
type ofLegacy struct {
	lease     *lease // the link that nobody else uses while the task runs; nil is the way that all share
	can       func(method string) bool
	questions questions
	changed   chan struct{} // has a token when the server has told of a change
	fetching  chan struct{} // closed when fetched, the result, is set
	fetched   outcome
}

// allHeld are the tasks that clients have handles of.
type allHeld struct {
	places share.Places

	mu   sync.Mutex
	all  map[string]*held
	list []*held // in the order in which they came
}

// hold takes a place for a task before it begins. Give it up, or keep it.
func hold(c *Client, server string, modern bool) (*held, error) {
	if err := c.r.held.places.Take(c.o.Caller, maxHeld); err != nil {
		return nil, fmt.Errorf("%d tasks of clients of the other era are known at once, and %w: wait for some to expire", maxHeld, err)
	}
	h := &held{
		r: c.r, name: rand.Text(), server: server, caller: c.o.Caller, modern: modern, asked: map[string]bool{},
		ofLegacy: ofLegacy{can: c.may, questions: newQuestions(), changed: make(chan struct{}, 1)},
	}
	if modern {
		h.owner = c
	}
	h.ctx, h.end = context.WithCancel(c.r.ctx)
	return h, nil
}

// drop gives up a place that no task has been kept in.
func (h *held) drop() {
	h.end()
	h.release()
	h.r.held.places.Give(h.caller)
}

// keep remembers a task until its server forgets it, and gives it its handle.
func (h *held) keep(t era.Task) {
	life := heldFor
	var ms int64
	if _, err := fmt.Sscan(string(t.TTL), &ms); err == nil && ms >= 0 {
		life = min(time.Duration(min(ms, heldLong.Milliseconds()))*time.Millisecond, heldLong)
	}
	h.task, h.id = t, t.ID
	h.handle = h.r.seal(state{Server: h.server, Caller: h.caller, Held: h.name, Expires: time.Now().Add(life).Unix() + 1})
	a := &h.r.held
	a.mu.Lock()
	if a.all == nil {
		a.all = map[string]*held{}
	}
	a.all[h.name] = h
	a.list = append(a.list, h)
	a.mu.Unlock()
	expire := time.AfterFunc(life, h.end)
	context.AfterFunc(h.ctx, func() {
		expire.Stop()
		a.mu.Lock()
		delete(a.all, h.name)
		a.list = slices.DeleteFunc(a.list, func(other *held) bool { return other == h })
		a.mu.Unlock()
		h.release()
		a.places.Give(h.caller)
	})
}

// release lets others have the link of the task.
func (h *held) release() {
	h.mu.Lock()
	l := h.lease
	h.lease = nil
	h.mu.Unlock()
	if l != nil {
		l.use(nil)
		h.r.leases.giveBack(l)
	}
}

// note remembers what the server said of the task, and returns it as the client knows it.
func (h *held) note(t era.Task) era.Task {
	h.mu.Lock()
	t.ID = h.id
	h.task = t
	h.mu.Unlock()
	t.ID = h.handle
	return t
}

// known returns the task as it was when its server last said something of it.
func (h *held) known() era.Task {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.task
	t.ID = h.handle
	return t
}

// IsHandle reports whether a text is the handle of a task that a client of the other era
// than its server has.
func IsHandle(text string) bool { return IsState(text) }

// handleIn returns the handle that a request is about, if it is about one.
func handleIn(r Request) string {
	if !strings.HasPrefix(r.Method, "tasks/") {
		return ""
	}
	if id := member(r.Params, "taskId"); IsHandle(id) {
		return id
	}
	return ""
}

// heldAs returns the task of a handle, if the client may have it.
func heldAs(c *Client, server, handle string) (*held, error) {
	gone := jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "there is no such task: it has expired, or is not this caller's")
	st, ok := c.r.opened(handle)
	if !ok || st.Held == "" || st.Server != server || st.Caller != c.o.Caller {
		return nil, gone
	}
	c.r.held.mu.Lock()
	defer c.r.held.mu.Unlock()
	h := c.r.held.all[st.Held]
	if h == nil || h.modern == c.o.Modern {
		return nil, gone
	}
	return h, nil
}

// of returns the tasks of a legacy client: those of its caller, or those that it has begun
// itself where callers are not told apart.
func (a *allHeld) of(c *Client, server string) []*held {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*held
	for _, h := range a.list {
		if h.modern && h.caller == c.o.Caller && (h.owner == c || c.o.Caller != "") && (server == "" || h.server == server) {
			out = append(out, h)
		}
	}
	return out
}

// ofTask carries a request about a task that the client has a handle of.
func ofTask(ctx context.Context, c *Client, s Server, r Request, handle string) (tool.Bytes, error) {
	h, err := heldAs(c, s.Name(), handle)
	if err != nil {
		return nil, err
	}
	if h.modern {
		return atModern{c, s, h}.carry(ctx, r)
	}
	return atLegacy{s, h}.carry(ctx, r)
}

// about returns a request about a task, on the way of another request.
func about(s *Sending, method, id string, more []byte) *Sending {
	params := append(jsonrpc.Quote([]byte(`{"taskId":`), id), more...)
	return &Sending{Method: method, Params: append(params, '}'), Link: s.Link, Meta: s.Meta, Progress: s.Progress, Stream: s.Stream, Header: map[string][]string{}}
}

// related is the member of _meta that says to which task something belongs.
func related(handle string) jsonrpc.Field {
	return jsonrpc.Field{Key: era.MetaRelatedTask, Value: append(jsonrpc.Quote([]byte(`{"taskId":`), handle), '}')}
}
