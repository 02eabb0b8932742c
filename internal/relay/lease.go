package relay

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// A lease is a link to a legacy server that serves modern requests that say the same
// of their client, one after the other. It is the handler of the link.
type lease struct {
	key   string
	link  Link
	user  atomic.Pointer[Handler] // who uses it
	timer *time.Timer             // while nobody uses it
}

// Bounds of the links that nobody uses.
const (
	maxIdleLeases = 64
	idleLease     = time.Minute
)

// leases are the links that nobody uses, by whom they are for.
type leases struct {
	mu     sync.Mutex
	idle   map[string][]*lease
	count  int
	closed bool
}

// lease returns a link to a server for one request. It is nil where clients get none.
func (c visit) lease(ctx context.Context, s Server) (*lease, error) {
	key := leaseKey(c.Client, s.Name())
	if l := c.r.leases.get(key); l != nil {
		return l, nil
	}
	l := &lease{key: key}
	link, err := s.Open(ctx, Greeting{Caller: c.o.Caller, Capabilities: c.o.Capabilities, ClientInfo: c.o.ClientInfo, Handler: l})
	if errors.Is(err, ErrModernOnly) || errors.Is(err, ErrNoPlace) || err == nil && link == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l.link = link
	if c.o.Level != "" {
		(&own{c: c.Client, server: s.Name(), link: link}).set(ctx, s, "logging/setLevel", "level", c.o.Level)
	}
	return l, nil
}

// leaseKey says for whom a link to a server is.
func leaseKey(c *Client, server string) string {
	return strings.Join([]string{server, c.o.Caller, string(c.o.Capabilities), string(c.o.ClientInfo), c.o.Level}, "\x00")
}

// holds reports whether there is a link that nobody uses right now.
func (p *leases) holds(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.idle[key], func(l *lease) bool { return !l.link.Ended() })
}

func (p *leases) get(key string) *lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle[key]) > 0 {
		n := len(p.idle[key]) - 1
		l := p.idle[key][n]
		p.idle[key] = p.idle[key][:n]
		p.count--
		l.timer.Stop()
		if !l.link.Ended() {
			return l
		}
		l.link.Close()
	}
	delete(p.idle, key)
	return nil
}

// giveBack keeps a link for the next request.
func (p *leases) giveBack(l *lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.count >= maxIdleLeases || l.link.Ended() {
		l.link.Close()
		return
	}
	if p.idle == nil {
		p.idle = map[string][]*lease{}
	}
	p.idle[l.key] = append(p.idle[l.key], l)
	p.count++
	l.timer = time.AfterFunc(idleLease, func() { p.expire(l) })
}

func (p *leases) expire(l *lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.idle[l.key]
	for i, other := range all {
		if other == l {
			p.idle[l.key] = append(all[:i:i], all[i+1:]...)
			if len(p.idle[l.key]) == 0 {
				delete(p.idle, l.key)
			}
			p.count--
			l.link.Close()
			return
		}
	}
}

func (p *leases) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, all := range p.idle {
		for _, l := range all {
			l.timer.Stop()
			l.link.Close()
		}
	}
	p.idle = nil
}

// use says who takes what the server sends on the link; nil is nobody.
func (l *lease) use(h Handler) {
	if h == nil {
		l.user.Store(nil)
		return
	}
	l.user.Store(&h)
}

// Asked implements Handler.
func (l *lease) Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	if h := l.user.Load(); h != nil {
		return (*h).Asked(ctx, method, params)
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "nobody waits for an answer now")
}

// Heard implements Handler.
func (l *lease) Heard(method string, params tool.Bytes) {
	if h := l.user.Load(); h != nil {
		(*h).Heard(method, params)
	}
}
