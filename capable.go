package tenon

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// capable are the tools of a server that it offers only to clients that it may ask
// something.
type capable struct {
	// tools are those by capabilities, beside the ones that all see; guarded by
	// Gateway.offering.
	tools map[string][]json.RawMessage

	mu    sync.Mutex
	known map[string]chan struct{} // closed once they are

	learning atomic.Pointer[chan struct{}] // of a server that may ask a model: closed once its tools are known
}

// begin reports whether the caller is to find out which tools there are for these
// capabilities. Otherwise it is known once ready is closed.
func (c *capable) begin(can string) (mine bool, ready chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ready = c.known[can]; ready != nil {
		return false, ready
	}
	if c.known == nil {
		c.known = map[string]chan struct{}{}
	}
	ready = make(chan struct{})
	c.known[can] = ready
	return true, ready
}

// forget has it found out anew: for these capabilities, or for all where can is empty.
func (c *capable) forget(can string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if can == "" {
		clear(c.known)
		return
	}
	delete(c.known, can)
}

// Can returns because of which of its capabilities servers may ask the client
// something.
func (s *Session) Can() string { return s.client.Can() }

// Meets reports whether a client with these capabilities gets a tool that needs those.
func Meets(can, needs string) bool {
	for need := range strings.FieldsSeq(needs) {
		if !slices.Contains(strings.Fields(can), need) {
			return false
		}
	}
	return true
}

// learnBound bounds how long one server may take to list its tools to a client.
const learnBound = time.Minute

// Learn finds out which tools servers have for a client that can do what this one can,
// where nobody has yet. For one server it waits; for the pool that is done beside, and
// a change of the list says what came of it.
func (s *Session) Learn(ctx context.Context) {
	can := s.Can()
	if can == "" {
		return
	}
	p := s.g.pool.Load()
	k := maker{s.g, p}
	if s.o.Server != "" {
		if m := p.byName[s.o.Server]; m != nil {
			k.learn(ctx, m, can, s.client)
		}
		return
	}
	var unknown []*member
	for _, m := range p.members {
		if m.varies() && !m.lazy {
			unknown = append(unknown, m)
		}
	}
	client := s.g.relay.Client(relay.Options{Caller: ownerOf(s.o.Caller), Capabilities: s.o.Capabilities, ClientInfo: s.o.ClientInfo})
	if s.g.leaving.Err() != nil || len(unknown) == 0 {
		return
	}
	s.g.tasks.Go(func() {
		defer client.Close()
		for _, m := range unknown { // one after the other: each may need a process
			ctx, cancel := context.WithTimeout(s.g.leaving, learnBound)
			k.learn(ctx, m, can, client)
			cancel()
		}
	})
}

// varies reports whether the tools of a member may depend on who asks. Those of a bundled
// server do not: they are known from its code, and are listed before m has its server.
func (m *member) varies() bool {
	return m.err == nil && m.entry != nil && m.entry.Bundled == "" && m.meta == nil && upstream.IsShared(m.server)
}

// learn finds out which tools a server has for such clients, unless that is known.
func (k maker) learn(ctx context.Context, m *member, can string, client *relay.Client) {
	if !m.varies() || m.server.Await(ctx) != nil {
		return
	}
	mine, ready := m.capable.begin(can)
	if !mine {
		select {
		case <-ready:
		case <-ctx.Done():
		}
		return
	}
	defer close(ready)
	raw, err := toolsFor(ctx, m, client)
	if err != nil {
		m.capable.forget(can)
		return
	}
	k.offering.Lock()
	all := m.tools
	k.offering.Unlock()
	k.inspect(m, slices.Concat(all, raw))
	k.offering.Lock()
	defer k.offering.Unlock()
	raw = slices.DeleteFunc(raw, func(r json.RawMessage) bool {
		return slices.ContainsFunc(m.tools, func(t json.RawMessage) bool { return nameOf(t) == nameOf(r) })
	})
	if slices.EqualFunc(m.capable.tools[can], raw, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return
	}
	if m.capable.tools == nil {
		m.capable.tools = map[string][]json.RawMessage{}
	}
	m.capable.tools[can] = raw
	if p := k.Gateway.pool.Load(); p.byName[m.name] == m && (maker{k.Gateway, p}).offer(m, m.tools) {
		k.events.send(Event{Kind: ToolsChanged, Server: m.name})
	}
}

func nameOf(raw []byte) string { return textOf(raw, "name") }

// toolsFor returns all tools that a server lists to a client.
func toolsFor(ctx context.Context, m *member, client *relay.Client) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for cursor, pages := "", 0; pages < 1000; pages++ {
		params := append([]byte(`{"_meta":`), client.Meta()...)
		if cursor != "" {
			params = jsonrpc.Quote(append(params, `,"cursor":`...), cursor)
		}
		params = append(params, '}')
		result, err := client.Do(ctx, m.way(), relay.Request{Method: "tools/list", Params: params})
		if err != nil {
			return nil, err
		}
		page, next, err := jsonrpc.ReadPage(result, "tools")
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if next == "" || next == cursor || len(out) > 20_000 {
			break
		}
		cursor = next
	}
	return out, nil
}

// learnSampled finds out which tools a server has because it may ask a model.
func learnSampled(g *Gateway, m *member) {
	if !m.asksModel() || !m.varies() || g.leaving.Err() != nil {
		return
	}
	done := make(chan struct{})
	m.capable.learning.Store(&done)
	g.tasks.Go(func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(g.leaving, learnBound)
		defer cancel()
		client := g.relay.Client(relay.Options{Capabilities: json.RawMessage(`{"sampling":{}}`)})
		defer client.Close()
		maker{g, g.pool.Load()}.learn(ctx, m, "sampling", client)
	})
}

// learned waits until that is known.
func (c *capable) learned(ctx context.Context) error {
	done := c.learning.Load()
	if done == nil {
		return nil
	}
	select {
	case <-*done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// needing returns the tools of a member that only some clients get, those that all get
// left out.
func (m *member) needing(all []tool.Tool, parse func(json.RawMessage) (tool.Tool, bool)) []tool.Tool {
	seen := map[string]bool{}
	for i := range all {
		seen[all[i].Name] = true
	}
	cans := make([]string, 0, len(m.capable.tools))
	for can := range m.capable.tools {
		cans = append(cans, can)
	}
	slices.SortFunc(cans, func(a, b string) int { // what needs least counts
		if n := len(strings.Fields(a)) - len(strings.Fields(b)); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	var out []tool.Tool
	for _, can := range cans {
		for _, raw := range m.capable.tools[can] {
			if t, ok := parse(raw); ok && !seen[t.Name] {
				seen[t.Name] = true
				t.Needs = can
				if m.asksModel() { // which is there for all
					t.Needs = strings.Join(slices.DeleteFunc(strings.Fields(can), func(c string) bool { return c == "sampling" }), " ")
				}
				out = append(out, t)
			}
		}
	}
	return out
}
