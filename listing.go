package tenon

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/tool"
)

// listingWait is how long a listing, or a correction, waits for servers that are
// still starting.
const listingWait = 15 * time.Second

// ListOptions narrow a listing.
type ListOptions struct {
	Server string // only this one; empty is all
}

// Tools returns what the pool offers, in the order of the configuration. It
// starts the servers that have not been started, and waits at most 15 s for
// those that are starting. A server that failed is in the list, with the reason.
// The error is a *tool.Error of kind NotFound for a server that is not
// configured, or the cause of ctx.
func (g *Gateway) Tools(ctx context.Context, o ListOptions) (tool.Listing, error) {
	p := g.pool.Load()
	members := p.members
	if o.Server != "" {
		m := p.byName[o.Server]
		if m == nil {
			return tool.Listing{}, p.noServer(o.Server)
		}
		members = []*member{m}
	}
	settle(ctx, members)
	if err := context.Cause(ctx); err != nil {
		return tool.Listing{}, err
	}
	snap := p.catalog.Snapshot()
	out := tool.Listing{Servers: make([]tool.ServerTools, 0, len(members))}
	for _, m := range members {
		st := m.status()
		tools, _ := snap.Server(m.name)
		if tools == nil {
			tools = []tool.Tool{}
		}
		out.Servers = append(out.Servers, tool.ServerTools{
			Name: m.name, State: st.State, Error: stateError(st), RememberedAt: st.RememberedAt, Tools: tools,
		})
	}
	return out, nil
}

func (p *pool) noServer(name string) error {
	text := fmt.Sprintf("There is no server %s.", name)
	if near := p.catalog.Snapshot().NearServers(name, 3); len(near) > 0 {
		text += " The nearest are: " + strings.Join(near, ", ") + "."
	}
	return &tool.Error{Kind: tool.NotFound, Text: text}
}

// settle starts members that have not been started and waits until none is
// starting any more; for each at most listingWait from its start. It does not wait
// for one whose tools are remembered, and starts one that is lazy only on its use.
func settle(ctx context.Context, members []*member) {
	var wg sync.WaitGroup
	for _, m := range members {
		remembered := m.recalled.Load() != nil
		if m.server == nil || remembered && m.lazy {
			continue
		}
		m.server.Ensure()
		if remembered {
			continue
		}
		st := m.server.Status()
		if st.State != tool.StateStarting && st.State != tool.StateInstalling {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithDeadline(ctx, st.Since.Add(listingWait))
			defer cancel()
			_ = m.server.Await(ctx) // who is late is listed as starting
		})
	}
	wg.Wait()
}

// Status returns the state of each server, in the order of the configuration. It
// starts nothing.
func (g *Gateway) Status() []tool.ServerStatus {
	p := g.pool.Load()
	out := make([]tool.ServerStatus, len(p.members))
	for i, m := range p.members {
		out[i] = m.status()
		out[i].Running, out[i].Queued = p.admission.Load(m.name)
	}
	return out
}

// A Match is a tool that a search found.
type Match struct {
	Server      string  `json:"server"`
	Name        string  `json:"name"`
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description"`
	Score       float64 `json:"score"` // comparable within one search only
}

// Find returns the tools that have most in common with words, best first, and at
// most limit of them. It waits for servers as Tools does.
func (g *Gateway) Find(ctx context.Context, words string, limit int) ([]Match, error) {
	p := g.pool.Load()
	settle(ctx, p.members)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	hits := p.catalog.Snapshot().Search(words, limit)
	out := make([]Match, len(hits))
	for i, h := range hits {
		out[i] = Match{h.Tool.Server, h.Tool.Name, h.Tool.Title, h.Tool.Description, h.Score}
	}
	return out, nil
}

// An Offer is all that the pool offers at one moment, under flat names of the
// form server__tool, as protocols without servers need them. It never changes.
type Offer struct {
	snap       *catalog.Snapshot
	own        *tool.Tool // reads long results
	remembered string     // names of servers, each on a line
}

// Offer returns the offer as it is now, after waiting for servers as Tools does.
func (g *Gateway) Offer(ctx context.Context) (Offer, error) {
	settle(ctx, g.pool.Load().members)
	return g.Offered(), context.Cause(ctx)
}

// Offered returns the offer as it is now, without waiting for anything.
func (g *Gateway) Offered() Offer {
	return Offer{g.pool.Load().catalog.Snapshot(), g.long.tool, g.memory.recalledNames()}
}

// Remembered returns the names of the servers whose tools in the offer are those
// of an earlier run, since they have not listed them in this one yet.
func (o Offer) Remembered() []string {
	if o.remembered == "" {
		return nil
	}
	return strings.Split(o.remembered, "\n")
}

// All calls yield for each tool with its flat name, in the order of the
// configuration, and at last for the one that reads long results, where there can
// be any. It is a range function.
func (o Offer) All(yield func(name string, t *tool.Tool) bool) {
	for _, t := range o.snap.Tools() {
		if !yield(o.snap.AliasOf(t), t) {
			return
		}
	}
	if canCut(o.snap) {
		yield(o.own.Name, o.own)
	}
}

// Lookup returns the tool of a flat name.
func (o Offer) Lookup(name string) (*tool.Tool, bool) {
	if name == o.own.Name {
		return o.own, true
	}
	return o.snap.Alias(name)
}
