package tenon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/policy"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// listingWait is how long a listing, or a correction, waits for servers that are
// still starting.
const listingWait = 15 * time.Second

// ListOptions narrow a listing.
type ListOptions struct {
	Viewer        // who looks
	Server string // only this one; empty is all
	// Withheld names also the tools that are kept from who looks, with the reason: for
	// the one who decides on the policy, never for a caller.
	Withheld bool
}

// Tools returns what the pool offers, in the order of the configuration. It
// starts the servers that have not been started, and waits at most 15 s for
// those that are starting. A server that failed is in the list, with the reason.
// The error is a *tool.Error of kind NotFound for a server that is not
// configured, of kind Invalid or Denied for a scope that is not possible, or the
// cause of ctx.
func (g *Gateway) Tools(ctx context.Context, o ListOptions) (tool.Listing, error) {
	p := g.pool.Load()
	sees, err := view{g, p}.as(o.subject())
	if err != nil {
		return tool.Listing{}, err
	}
	members := p.members
	if o.Server != "" {
		m := p.byName[o.Server]
		if m == nil {
			return tool.Listing{}, noServer(view{g, p}, o.Server)
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
		listed := tool.ServerTools{
			Name: m.name, State: st.State, Error: stateError(st), RememberedAt: st.RememberedAt, Tools: sees.show(tools),
		}
		if o.Withheld {
			listed.Withheld = sees.withheld(tools)
		}
		out.Servers = append(out.Servers, listed)
	}
	return out, nil
}

// withheld returns those of a server's tools that are denied to these callers.
func (s *scoped) withheld(tools []tool.Tool) []tool.Withheld {
	var out []tool.Withheld
	for i := range tools {
		if d := s.seen(&tools[i]); d.Behavior == tool.Deny {
			out = append(out, tool.Withheld{Name: tools[i].Name, Reason: d.Reason, Rule: d.ReasonType, Opens: opens(d, &tools[i])})
		}
	}
	return out
}

// declaration says how a server that comes with Tenon, by whatever of its names, is declared;
// "" for all others.
func declaration(list []Bundled, name string) string {
	const how = "is not declared in this pool: whoever runs Tenon adds %s under servers in its configuration (tenon.yaml)."
	for _, b := range list {
		if b.Name == name || slices.Contains(b.Aliases, name) {
			return fmt.Sprintf("It comes with Tenon, but "+how, name+": {bundled: "+b.Name+"}")
		}
	}
	if name == "playwright" || name == "browser" {
		return fmt.Sprintf("A browser "+how, "playwright: {browser: {}}")
	}
	return ""
}

func noServer(v view, name string) error {
	text := fmt.Sprintf("There is no server %s.", name)
	if how := declaration(v.o.Bundled, name); how != "" {
		text += " " + how
	} else if near := v.catalog.Snapshot().NearServers(name, 3); len(near) > 0 {
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
		if !upstream.IsStarting(m.server) {
			continue
		}
		since := time.Now()
		if st := m.server.Status(); st.State == tool.StateStarting || st.State == tool.StateInstalling {
			since = st.Since
		}
		wg.Go(func() {
			ctx, cancel := context.WithDeadline(ctx, since.Add(listingWait))
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

// FindOptions say what to search for.
type FindOptions struct {
	Viewer // who looks
	Words  string
	Limit  int // how many to give at most; 0 is all
}

// Find returns the tools that have most in common with words, best first. It waits
// for servers, and fails, as Tools does.
func (g *Gateway) Find(ctx context.Context, o FindOptions) ([]Match, error) {
	p := g.pool.Load()
	sees, err := view{g, p}.as(o.subject())
	if err != nil {
		return nil, err
	}
	settle(ctx, p.members)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	out := []Match{}
	for _, h := range p.catalog.Snapshot().Search(o.Words, 0) {
		if o.Limit > 0 && len(out) == o.Limit {
			break
		}
		if !sees.hides(h.Tool) {
			out = append(out, Match{h.Tool.Server, h.Tool.Name, h.Tool.Title, h.Tool.Description, h.Score})
		}
	}
	return out, nil
}

// An Offer is all that the pool offers to somebody at one moment, under flat names
// of the form server__tool, as protocols without servers need them. It never
// changes, and equal offers are the same one.
type Offer struct {
	*look
	own        ownTools
	remembered string // names of servers, each on a line
	mode       LazyMode
	lazy       bool
}

// Offer returns the offer as it is now, after waiting for servers, and fails, as
// Tools does.
func (g *Gateway) Offer(ctx context.Context, s Viewer) (Offer, error) {
	settle(ctx, g.pool.Load().members)
	if err := context.Cause(ctx); err != nil {
		return Offer{}, err
	}
	return g.Offered(s)
}

// Offered returns the offer as it is now, without waiting for anything.
func (g *Gateway) Offered(s Viewer) (Offer, error) {
	sees, err := view{g, g.pool.Load()}.as(s.subject())
	if err != nil {
		return Offer{}, err
	}
	o := Offer{look: sees.look(), own: g.own, remembered: g.memory.recalledNames()}
	o.mode, err = sees.lazyMode(s.Lazy)
	o.lazy = o.mode == LazyOn || o.mode == LazyAuto && o.long
	return o, err
}

// Named returns the server and the name of a tool with this flat name, whoever may
// use it: the call of a tool that is not allowed is denied as such.
func (g *Gateway) Named(flat string) (tool.ID, bool) {
	return view{g, g.pool.Load()}.named(flat)
}

// flat returns the flat name of a tool, or "" where there is none.
func (v view) flat(id tool.ID) string {
	snap := v.catalog.Snapshot()
	t, ok := snap.Find(id)
	if !ok {
		return ""
	}
	return snap.AliasOf(t)
}

func (v view) named(flat string) (tool.ID, bool) {
	if own := v.own.of(tool.ID{Server: ownServer, Name: flat}); own != nil {
		return own.ID, true
	}
	if t, ok := v.catalog.Snapshot().Alias(flat); ok {
		return t.ID, true
	}
	server, name, _ := strings.Cut(flat, "__")
	id := tool.ID{Server: server, Name: name}
	return id, listedAs(v, id) != nil
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
// configuration, and at last for the gateway's own: where the offer is lazy those that
// stand in place of the tools that are not pinned, and the one that reads long results
// where there can be any. It is a range function.
func (o Offer) All(yield func(name string, t *tool.Tool) bool) {
	shown := o.tools
	if o.lazy {
		shown = o.pinned
	}
	for _, t := range shown {
		if !yield(o.snap.AliasOf(t), t) {
			return
		}
	}
	for _, t := range o.ownTools() {
		if !yield(t.Name, t) {
			return
		}
	}
}

// A look is what some callers see of a snapshot.
type look struct {
	snap  *catalog.Snapshot
	stops any // the version of the stops
	tools []*tool.Tool

	pinned []*tool.Tool // in lazy lists too
	long   bool         // the list is long enough for lazy: auto
}

// looks are the looks of a pool that are the latest for each scope.
type looks struct {
	views     sync.Map // *policy.Profile → *scoped
	viewCount atomic.Int64

	looksMu sync.Mutex
	latest  map[*policy.Scope]*look
}

// look returns what these callers see now. While that is the same it is the same
// one.
func (s *scoped) look() *look {
	snap, stops := s.catalog.Snapshot(), s.stops.Version()
	scope := s.profile.Scope()
	s.looksMu.Lock()
	defer s.looksMu.Unlock()
	if l := s.latest[scope]; l != nil && l.snap == snap && l.stops == stops {
		return l
	}
	if len(s.latest) >= maxScoped || s.latest == nil {
		s.latest = map[*policy.Scope]*look{}
	}
	l := &look{snap: snap, stops: stops, tools: snap.Tools()}
	if i := slices.IndexFunc(l.tools, s.denies); i >= 0 {
		l.tools = slices.DeleteFunc(slices.Clone(l.tools), s.denies)
	}
	s.measure(l)
	s.latest[scope] = l
	return l
}

// show returns those of a server's tools that these callers see.
func (s *scoped) show(tools []tool.Tool) []tool.Tool {
	out := make([]tool.Tool, 0, len(tools))
	for i := range tools {
		if !s.hides(&tools[i]) {
			out = append(out, tools[i])
		}
	}
	return out
}
