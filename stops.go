package tenon

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/stops"
	"github.com/tenon-mcp/tenon/tool"
)

// A Stop keeps tools from being used until it is lifted.
type Stop = stops.Stop

// Stops are the stop switch: what is stopped for every gateway and every pool of
// one state folder.
type Stops = stops.Stops

// UnkeptStopError is the error of a change of the stops that could not be written: it is in
// force in this process alone, and ends with it unless its gateway can write it before.
type UnkeptStopError = stops.UnkeptError

// Stops returns the stop switch.
func (g *Gateway) Stops() *Stops { return g.stops }

// OpenStops returns the stop switch of the state folder, for those who open no pool.
// Gateways that run take a change within half a second. The error is of kind invalid
// where there is no folder; else the file cannot be read.
func OpenStops(o Options) (*Stops, error) {
	if o.StateDir == "" {
		return nil, &tool.Error{Kind: tool.Invalid, Text: "There is no place for stops: set $HOME or $XDG_STATE_HOME."}
	}
	return stops.Open(stops.Options{Path: filepath.Join(o.StateDir, stopsFile)})
}

// StopsFollowed is how long it takes until all gateways have taken a change of the
// stops.
const StopsFollowed = stops.Followed

// stopsFile is where stops are kept, in the state folder.
const stopsFile = "stops.json"

// openStops opens the stop switch.
func openStops(g *Gateway, o Options) {
	path := ""
	if o.StateDir != "" {
		path = filepath.Join(o.StateDir, stopsFile)
	}
	changed := func() { g.events.send(Event{Kind: ToolsChanged}) }
	g.stops, _ = stops.Open(stops.Options{Path: path, Changed: changed, Log: g.log}) // its error is in the log
	g.tasks.Go(func() { g.stops.Watch(g.leaving) })
}

// UnknownStop says where a stop names what the gateway does not have: a server that is
// not configured, or a tool that no such server lists. What servers have that have not
// listed yet nobody knows, so that passes.
func UnknownStop(g *Gateway, s Stop) error {
	p := g.enter()
	defer p.leave()
	g.offering.Lock()
	defer g.offering.Unlock()
	var servers []string
	for _, m := range p.members {
		servers = append(servers, m.name)
	}
	return unknownStop(s, servers, func(w *named.Watch) []named.Finding {
		for _, m := range p.members {
			if found := m.tellNames(w); len(found) > 0 {
				return found
			}
		}
		return nil
	})
}

// UnknownStopOf is UnknownStop for those who open no pool: of the tools it knows those
// of bundled servers. A configuration that cannot be read keeps nobody from a stop, and
// neither does none at all: the stop may be meant for the pool of another folder.
func UnknownStopOf(o Options, s Stop) error {
	cfg, err := o.load()
	if err != nil || o.Config == "" {
		return nil
	}
	var servers []string
	for _, s := range cfg.Servers {
		servers = append(servers, s.Name)
	}
	return unknownStop(s, servers, func(w *named.Watch) []named.Finding {
		for _, s := range cfg.Servers {
			for _, b := range o.Bundled {
				if b.Name != s.Bundled {
					continue
				}
				var tools []named.Tool
				for _, name := range slices.Concat(slices.Sorted(maps.Keys(b.Meta)), slices.Sorted(maps.Keys(b.Also))) {
					tools = append(tools, named.Tool{Name: name})
				}
				if found := w.Listed(s.Name, tools); len(found) > 0 {
					return found
				}
			}
		}
		return nil
	})
}

// unknownStop returns the error of a stop that names nothing of a pool. listed shows a
// watch the tools that are known, and returns what it finds.
func unknownStop(s Stop, servers []string, listed func(*named.Watch) []named.Finding) error {
	if glob.Match(s.Server, ownServer) || glob.Check(s.Server) != nil || glob.Check(s.Tool) != nil { // whoever stops says what is no pattern
		return nil
	}
	if !slices.ContainsFunc(servers, func(name string) bool { return glob.Match(s.Server, name) }) {
		text := fmt.Sprintf("There is no server %s.", s.Server)
		if near := named.Suggest(s.Server, servers, "There are"); near != "" {
			text += " " + strings.ToUpper(near[:1]) + near[1:]
		}
		return &tool.Error{Kind: tool.Invalid, Text: text}
	}
	if s.Tool == "" || s.Tool == "*" {
		return nil
	}
	id := tool.ID{Server: s.Server, Name: s.Tool}
	found := listed(named.NewWatch([]named.Name{{Text: id.String(), Patterns: []tool.ID{id}}}, servers, nil))
	if len(found) == 0 {
		return nil
	}
	text := found[0].Problem.Text
	if hint := found[0].Problem.Hint; hint != "" {
		text += "; " + hint
	}
	return &tool.Error{Kind: tool.Invalid, Text: text}
}
