package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Options say who a client is.
type Options struct {
	Modern                   bool
	Caller                   string // whose it is; nobody else can go on with what it began
	Capabilities, ClientInfo json.RawMessage

	// Of a modern client, which is one request.
	Level     string // of the logs that it wants; empty is none
	State     string // that it has come again with
	Responses []byte // its answers, by name
	Digest    string // of what it asks for

	// Of a legacy client, whose session may be told and asked something outside of its
	// requests. Both may be nil.
	Notify func(method string, params []byte) error
	Ask    func(ctx context.Context, method string, params []byte) (tool.Bytes, error)
}

// A Client is a legacy session, or one modern request.
type Client struct {
	r    *Relay
	o    Options
	can  map[string]bool // capabilities
	asks bool            // servers may ask it something

	mu     sync.Mutex
	closed bool
	level  string
	owns   map[string]*own // by server

	subs subs
	approved
}

// askable are the capabilities because of which a server asks.
var askable = []string{"sampling", "elicitation", "roots"}

// Client returns a client. Close it, unless it is modern.
func (r *Relay) Client(o Options) *Client {
	c := &Client{r: r, o: o, can: map[string]bool{}}
	c.approved.c = c
	var said map[string]json.RawMessage
	if json.Unmarshal(o.Capabilities, &said) == nil {
		for name := range said {
			c.can[name] = true
		}
	}
	c.asks = slices.ContainsFunc(askable, func(name string) bool { return c.can[name] })
	return c
}

// Counts reports whether capabilities have one because of which a server may answer
// otherwise than anybody.
func Counts(capabilities []byte) bool {
	var said map[string]json.RawMessage
	if len(capabilities) <= 2 || json.Unmarshal(capabilities, &said) != nil {
		return false
	}
	return said["tasks"] != nil || said["extensions"] != nil ||
		slices.ContainsFunc(askable, func(name string) bool { return said[name] != nil })
}

// IsOfTask reports whether a request is about a task, or wants to become one. A task
// belongs to the session that began it.
func IsOfTask(method string, params []byte) bool {
	return strings.HasPrefix(method, "tasks/") || bytes.Contains(params, []byte(`"task"`)) && has(params, "task")
}

func has(obj []byte, key string) bool {
	var span [1]jsonrpc.Span
	return jsonrpc.Members(tool.OneOf(obj), []string{key}, span[:]) == nil && span[0].Found()
}

// Can returns the capabilities because of which servers may ask the client something,
// sorted and apart by spaces.
func (c *Client) Can() string {
	var out []string
	for _, name := range askable {
		if c.can[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Meta returns what the client says of itself, as the _meta of a request that is not
// its own.
func (c *Client) Meta() []byte {
	capabilities := c.o.Capabilities
	if len(capabilities) == 0 {
		capabilities = []byte("{}")
	}
	out := append([]byte(`{"`+era.MetaCapabilities+`":`), capabilities...)
	if len(c.o.ClientInfo) > 0 {
		out = append(append(out, `,"`+era.MetaClientInfo+`":`...), c.o.ClientInfo...)
	}
	return append(out, '}')
}

// TakesInterim reports whether the client understands results that are not the end.
func (c *Client) TakesInterim() bool { return c.o.Modern }

// Plain reports whether nothing about the client's requests is its own: they can be
// sent like anybody's.
func (c *Client) Plain() bool {
	if c.asks || c.o.Modern {
		return !c.asks && c.o.Level == "" && c.o.State == ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level == "" && len(c.owns) == 0
}

// Holds reports whether the client has a link of its own to a server now, on which that may
// have what nobody else gets.
func (c *Client) Holds(server string) bool {
	if c.o.Modern {
		return c.r.leases.holds(leaseKey(c, server))
	}
	return slices.ContainsFunc(c.links(), func(o *own) bool { return o.server == server && !o.link.Ended() })
}

// Do carries a request to a server, and its result back.
func (c *Client) Do(ctx context.Context, s Server, r Request) (tool.Bytes, error) {
	if handle := handleIn(r); handle != "" {
		return ofTask(ctx, c, s, r, handle)
	}
	if c.o.Modern {
		result, err := visit{c}.carry(ctx, s, r)
		return result, toModern(err)
	}
	if c.Plain() && !IsOfTask(r.Method, r.Params) {
		return c.shared(ctx, s, r)
	}
	return c.legacy(ctx, s, r)
}

// shared sends a legacy client's request on the way that all share.
func (c *Client) shared(ctx context.Context, s Server, r Request) (tool.Bytes, error) {
	spoken, err := s.Era(ctx)
	if err != nil {
		return nil, err
	}
	if spoken == era.Modern {
		return sendModern(ctx, c, s, r)
	}
	return s.Send(ctx, &Sending{Method: r.Method, Params: r.Params, Progress: r.Progress, Stream: &flight{c: c, peer: r.Peer}})
}

// legacy sends a legacy client's request on a link of its own.
func (c *Client) legacy(ctx context.Context, s Server, r Request) (tool.Bytes, error) {
	for again := true; ; again = false {
		o, err := c.own(ctx, s)
		switch {
		case errors.Is(err, ErrModernOnly):
			return sendModern(ctx, c, s, r)
		case errors.Is(err, ErrNoPlace) && !isOwn(r):
			return c.shared(ctx, s, r) // as for a client that can do nothing
		case err != nil:
			return nil, err
		case o == nil:
			return c.shared(ctx, s, r)
		}
		result, err := o.send(ctx, s, r)
		if err != nil && again && o.link.Ended() && tool.KindOf(err) == tool.Unavailable {
			continue // it was not carried out, and a new link may do
		}
		return result, err
	}
}

// isOwn reports whether a request is of no use but on a link of the client's own.
func isOwn(r Request) bool {
	switch r.Method {
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return true
	}
	return IsOfTask(r.Method, r.Params)
}

// may reports whether a server may send a request with this method to the client.
func (c *Client) may(method string) bool {
	switch method {
	case "sampling/createMessage":
		return c.can["sampling"]
	case "elicitation/create":
		return c.can["elicitation"]
	case "roots/list":
		return c.can["roots"]
	case "tasks/get", "tasks/result", "tasks/list", "tasks/cancel":
		return c.can["tasks"]
	}
	return true
}

// ask sends a request of a server to a legacy client.
func (c *Client) ask(ctx context.Context, peer tool.Peer, method string, params []byte) (tool.Bytes, *jsonrpc.Error) {
	if !c.may(method) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "the client has not declared what %q needs", method)
	}
	var result tool.Bytes
	var err error
	switch {
	case peer != nil:
		result, err = peer.Ask(ctx, method, params)
	case c.o.Ask != nil:
		result, err = c.o.Ask(ctx, method, params)
	default:
		err = errors.New("the client cannot be asked now")
	}
	if err != nil {
		return nil, errorOf(err)
	}
	return result, nil
}

// tell sends a notification of a server to a legacy client. One that cannot be
// delivered is dropped.
func (c *Client) tell(peer tool.Peer, method string, params []byte) {
	if peer != nil && peer.Notify(method, params) == nil {
		return
	}
	if c.o.Notify != nil {
		_ = c.o.Notify(method, params) // it has no stream open
	}
}

// Notify sends a notification of a legacy client to the servers that know it.
func (c *Client) Notify(ctx context.Context, method string, params []byte) {
	for _, o := range c.links() {
		_ = o.link.Notify(ctx, method, params) // a link that has ended is greeted anew
	}
}

func (c *Client) links() []*own {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*own
	for _, o := range c.owns {
		select {
		case <-o.ready:
			if o.err == nil && o.link != nil {
				out = append(out, o)
			}
		default:
		}
	}
	return out
}

// Close ends the links of the client.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.subs.close()
	for _, o := range c.links() {
		o.link.Close()
	}
}
