// Package catalog knows every tool of the pool: which server has it, under
// which names it can be asked for, and which tool comes nearest to some words.
// It knows nothing of running servers and decides nothing about permissions,
// except for the blacklist, which takes a tool out of the catalog altogether.
//
// A [Catalog] is filled server by server, as their lists arrive. What callers
// read is a [Snapshot]: an immutable value, replaced whole, so that a call
// which began with one sees the same tools until its end and no reader ever
// waits for a writer.
//
//	c, err := catalog.New(catalog.Options{Servers: []string{"files", "web"}})
//	…
//	t, err := catalog.Parse(raw) // one member of a server's tools/list
//	…
//	dropped, changed := c.Set("files", []tool.Tool{t})
//	…
//	s := c.Snapshot()
//	t, ok := s.Find(tool.ID{Server: "files", Name: "read_file"})
//
// The order is always that of the configuration, then that of the server's own
// list. Nothing depends on when a server answered, so the same lists give the
// same snapshot.
package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/tool"
)

// Options describes the pool. The zero value is a pool without servers.
type Options struct {
	// Servers are the names of all servers, in the order of the configuration.
	Servers []string
	// Blacklist names the tools that are left out. Both halves of an entry may be
	// patterns of path.Match, but that * and ? match a slash too: a tool cannot
	// escape by the form of its name.
	Blacklist []tool.ID
	// Meta returns what is declared of t, whose Server is set. It must depend on
	// nothing but t. It is called once for each tool of a list. Nil declares
	// nothing: every tool gets tool.DefaultMeta.
	Meta func(t *tool.Tool) tool.Meta
}

// A Catalog holds the current snapshot. All methods may be called at any time
// from any goroutine.
type Catalog struct {
	servers   []string
	place     map[string]int // of each server, in servers
	blacklist blacklist
	meta      func(t *tool.Tool) tool.Meta

	current  atomic.Pointer[Snapshot]
	searched atomic.Bool
	setting  sync.Mutex // held while a snapshot is made from the one before
}

// A Dropped is a tool that a server listed and that cannot be offered.
type Dropped struct {
	Index  int    // in the list given to Set
	Name   string // as it was listed
	Reason string // for the log
}

// New returns a catalog whose servers have no tools yet. The error names every
// server and every blacklist entry that is wrong.
func New(o Options) (*Catalog, error) {
	c := &Catalog{
		servers: slices.Clone(o.Servers),
		place:   make(map[string]int, len(o.Servers)),
		meta:    o.Meta,
	}
	if c.meta == nil {
		c.meta = func(*tool.Tool) tool.Meta { return tool.DefaultMeta() }
	}
	var errs []error
	for i, name := range c.servers {
		if err := checkName(name); err != nil {
			errs = append(errs, fmt.Errorf("server %q: %w", name, err))
		}
		if _, twice := c.place[name]; twice {
			errs = append(errs, fmt.Errorf("server %q stands twice", name))
		}
		c.place[name] = i
	}
	var err error
	if c.blacklist, err = newBlacklist(o.Blacklist); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	parts := make([]*part, len(c.servers))
	for i, name := range c.servers {
		parts[i] = newPart(name, nil)
	}
	c.current.Store(newSnapshot(c, parts))
	return c, nil
}

// Snapshot returns the catalog as it is now.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// Set replaces the tools of one server by those given, as Parse returned them;
// their Server and Meta are filled in, and the bytes that they alias must not be
// changed afterwards. It returns the tools that had to be left out, not counting
// blacklisted ones, and whether the offer is now another one: a list that is
// byte for byte the same leaves the snapshot in place.
func (c *Catalog) Set(server string, tools []tool.Tool) (dropped []Dropped, changed bool) {
	i, known := c.place[server]
	if !known {
		return dropAll(tools, "server "+server+" is not in the configuration"), false
	}
	kept, dropped := c.accept(server, tools)

	c.setting.Lock()
	defer c.setting.Unlock()
	old := c.current.Load()
	if sameTools(old.parts[i].tools, kept) {
		return dropped, false
	}
	parts := slices.Clone(old.parts)
	parts[i] = newPart(server, kept)
	c.current.Store(newSnapshot(c, parts))
	return dropped, true
}

// accept returns the tools that can be offered, with Server and Meta set.
func (c *Catalog) accept(server string, tools []tool.Tool) (kept []tool.Tool, dropped []Dropped) {
	kept = make([]tool.Tool, 0, len(tools))
	seen := make(map[string]struct{}, len(tools))
	for i, t := range tools {
		if err := checkName(t.Name); err != nil {
			dropped = append(dropped, Dropped{i, t.Name, err.Error()})
			continue
		}
		if _, twice := seen[t.Name]; twice {
			dropped = append(dropped, Dropped{i, t.Name, "the server has listed another tool of this name before"})
			continue
		}
		seen[t.Name] = struct{}{}
		t.Server = server
		if c.blacklist.matches(t.ID) {
			continue
		}
		t.Meta = c.meta(&t)
		kept = append(kept, t)
	}
	return slices.Clip(kept), dropped
}

func dropAll(tools []tool.Tool, reason string) []Dropped {
	dropped := make([]Dropped, len(tools))
	for i, t := range tools {
		dropped[i] = Dropped{i, t.Name, reason}
	}
	return dropped
}

// sameTools compares what is listed. Meta follows from the rest.
func sameTools(a, b []tool.Tool) bool {
	return slices.EqualFunc(a, b, func(a, b tool.Tool) bool {
		return a.ID == b.ID && a.Held == b.Held && a.Needs == b.Needs && bytes.Equal(a.Raw, b.Raw) &&
			a.Title == b.Title && a.Description == b.Description &&
			bytes.Equal(a.Schema, b.Schema) && bytes.Equal(a.Output, b.Output) &&
			bytes.Equal(a.Annotations, b.Annotations)
	})
}
