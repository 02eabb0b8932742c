package tenon

import (
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/offer"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// Hints say how long a client may keep a list, and whether it may show it to anybody.
type Hints = era.Hints

// listTTL bounds in milliseconds how long a client may keep what the pool makes of
// several servers: they come and go.
const listTTL = 5000

// Hints returns those of the tools of the window. What differs by who asks is never
// public.
func (s Window) Hints(o Viewer) Hints {
	p := s.g.pool.Load()
	out := Hints{TTL: listTTL, Public: s.g.sameForAll(p, o)}
	for _, m := range p.members {
		if m.server == nil || s.server != "" && m.name != s.server {
			continue
		}
		if m.recalled.Load() != nil {
			out = out.And(Hints{}) // of an earlier run: the server has not said anything yet
			continue
		}
		if tools, _ := p.catalog.Snapshot().Server(m.name); len(tools) > 0 {
			out = out.And(upstream.ListHints(m.server))
		}
	}
	return out
}

// SelfHints returns those of what the server of the window says of itself.
func (s Window) SelfHints(o Viewer, said []byte) Hints {
	most := Hints{TTL: listTTL, Public: s.g.sameForAll(s.g.pool.Load(), o)}
	return most.And(era.HintsOf(tool.OneOf(said)))
}

// sameForAll reports whether what a viewer is shown is what anybody is: nobody is told
// apart, and nothing was asked for that is not the rule.
func (g *Gateway) sameForAll(p *pool, o Viewer) bool {
	if o.Caller.Name != "" || o.Caller.Grant != nil || o.Skill != "" || o.Mode != "" || o.Lazy != "" {
		return false
	}
	c := p.cfg.Policy
	return len(c.Callers) == 0 && len(c.Sessions) == 0 && g.access.Lax() && !g.access.Configured()
}

// cacheable are the results that the modern era lets clients keep, beside lists of tools
// and what a server says of itself.
var cacheable = map[string]bool{"resources/list": true, "resources/templates/list": true, "prompts/list": true, "resources/read": true}

// allOf returns a list that is made of those of several servers as a result, with hints
// where its client knows them.
func (s *Session) allOf(v view, as Viewer, all *offer.All) tool.Bytes {
	result := tool.OneOf(all.Result())
	if !s.o.Modern {
		return result
	}
	most := Hints{TTL: listTTL, Public: s.g.sameForAll(v.pool, as)}
	return jsonrpc.Prepend(result, most.And(all.Hints()).Fields()...)
}
