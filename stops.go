package tenon

import (
	"path/filepath"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/stops"
	"github.com/tenon-mcp/tenon/tool"
)

// A Stop keeps tools from being used until it is lifted.
type Stop = stops.Stop

// Stops are the stop switch: what is stopped for every gateway and every pool of
// one state folder.
type Stops = stops.Stops

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
	unreadable := func(err error) {
		g.log.Error("the file of stops cannot be read: every tool is stopped until it can be", "file", path, "error", err)
	}
	var err error
	g.stops, err = stops.Open(stops.Options{Path: path, Changed: func() { g.events.send(Event{Kind: ToolsChanged}) }})
	if err != nil {
		unreadable(err)
	}
	if path != "" {
		g.tasks.Go(func() { g.stops.Watch(g.leaving, unreadable) })
	}
}

// Servers returns the names of the servers that the configuration of o has, and those
// among them that a pattern names; both are nil where it cannot be read.
func Servers(o Options, pattern string) (all, named []string) {
	cfg, err := o.load()
	if err != nil {
		return nil, nil
	}
	for _, s := range cfg.Servers {
		all = append(all, s.Name)
		if glob.Match(pattern, s.Name) {
			named = append(named, s.Name)
		}
	}
	return all, named
}
