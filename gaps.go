package tenon

import (
	"context"
	"sync"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// A Gap is what clients do not have of a server as they would have it without the
// gateway.
type Gap struct {
	Server string `json:"server"`
	// Client is the era of the clients: legacy, modern, or empty for both.
	Client string `json:"client,omitempty"`
	// Lost is set for what cannot be bridged, and not for what goes in another way.
	Lost bool   `json:"lost"`
	Text string `json:"text"`
}

// gaps returns the gaps before a server that has been met, by those of its tools that
// count.
func (p *pool) gaps(m *member, counts func(*tool.Tool) bool) []era.Gap {
	if m.entry == nil || m.meta != nil || m.server == nil {
		return nil // our own ask nothing, and speak both eras
	}
	about := m.server.About()
	if len(about.Raw) == 0 {
		return nil
	}
	tools, _ := p.catalog.Snapshot().Server(m.name)
	var all []tool.Tool
	for i := range tools {
		if counts(&tools[i]) {
			all = append(all, tools[i])
		}
	}
	return era.Gaps(about.Era, about.Raw, all, upstream.IsShared(m.server))
}

// allGaps are those of all servers that have been met, in the order of the configuration.
func (p *pool) allGaps() []Gap {
	var out []Gap
	for _, m := range p.members {
		for _, g := range p.gaps(m, func(*tool.Tool) bool { return true }) {
			out = append(out, Gap{m.name, string(g.Client), g.Lost, g.Text})
		}
	}
	return out
}

// Lost returns what of the servers of the window that have been met clients of an era do
// not have, as far as the viewer sees it.
func (s Window) Lost(o Viewer, modern bool) []Gap {
	v := view{s.g, s.g.pool.Load()}
	sees, err := v.as(o.subject())
	if err != nil {
		return nil
	}
	client := era.Legacy
	if modern {
		client = era.Modern
	}
	var out []Gap
	for _, name := range sees.reachable() {
		for _, g := range v.gaps(v.byName[name], sees.shows) {
			if g.Lost && g.For(client) {
				out = append(out, Gap{name, string(client), true, g.Text})
			}
		}
	}
	return out
}

// shows reports whether these callers may see a tool.
func (s *scoped) shows(t *tool.Tool) bool { return !s.denies(t) }

// meetAs shows each server a client that it may ask anything, to learn which tools it has
// for that one alone.
func (g *Gateway) meetAs(ctx context.Context, p *pool) {
	var wg sync.WaitGroup
	for _, m := range p.members {
		if !m.varies() || m.server.Status().State != tool.StateReady {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, learnBound)
			defer cancel()
			s := g.NewSession(SessionOptions{
				Server: m.name, Capabilities: []byte(`{"elicitation":{"form":{},"url":{}},"roots":{"listChanged":true},"sampling":{}}`),
				ClientInfo: []byte(`{"name":"tenon check","version":"1"}`),
			})
			defer s.Close()
			s.Learn(ctx)
		})
	}
	wg.Wait()
}
