package catalog

import (
	"sync"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/terms"
	"github.com/tenon-mcp/tenon/tool"
)

// A Snapshot is the whole offer of the pool at one moment. It never changes,
// and neither must the slices and tools that it returns.
type Snapshot struct {
	servers   []string
	place     map[string]int // of each server, in parts
	parts     []*part
	blacklist blacklist
	searched  *atomic.Bool // of the catalog

	tools   []*tool.Tool
	aliases map[string]*tool.Tool // the hashed ones; plain ones are read instead
	long    map[tool.ID]string    // of tools whose short alias was not unique
}

// A part is one server's share. It is made when the server's list arrives and
// stays the same in all snapshots until the next list, with everything that can
// be known from it alone.
type part struct {
	server string
	words  string // the server's name in lower-cased words
	tools  []tool.Tool
	place  map[string]int // of each tool, in tools
	folded []string       // each tool's name in lower-cased words
	hashed []hashed       // the tools that have no plain alias

	indexing sync.Mutex // held while the index is made, which only a search needs
	indexed  bool
	index    index
}

func newPart(server string, tools []tool.Tool) *part {
	p := &part{
		server: server, words: terms.Fold(server), tools: tools,
		place:  make(map[string]int, len(tools)),
		folded: make([]string, len(tools)),
	}
	for i := range tools {
		t := &tools[i]
		p.place[t.Name] = i
		p.folded[i] = terms.Fold(t.Name)
		if _, ok := plainAlias(t.ID); !ok {
			p.hashed = append(p.hashed, hashed{t, hashedAlias(t.ID, shortHash)})
		}
	}
	return p
}

func newSnapshot(c *Catalog, parts []*part) *Snapshot {
	n := 0
	for _, p := range parts {
		n += len(p.tools)
	}
	s := &Snapshot{
		servers: c.servers, place: c.place, parts: parts, blacklist: c.blacklist, searched: &c.searched,
		tools:   make([]*tool.Tool, 0, n),
		aliases: make(map[string]*tool.Tool),
	}
	for _, p := range parts {
		for i := range p.tools {
			s.tools = append(s.tools, &p.tools[i])
		}
	}
	s.assignAliases()
	return s
}

// Servers returns the names of all servers, in the order of the configuration.
func (s *Snapshot) Servers() []string { return s.servers }

// Server returns the tools of a server in its own order, without blacklisted
// ones, and whether there is such a server in the configuration. One that has
// not listed its tools yet has none.
func (s *Snapshot) Server(name string) ([]tool.Tool, bool) {
	i, ok := s.place[name]
	if !ok {
		return nil, false
	}
	return s.parts[i].tools, true
}

// Tools returns all tools, server by server in the order of the configuration.
func (s *Snapshot) Tools() []*tool.Tool { return s.tools }

// Find returns the tool of that exact name.
func (s *Snapshot) Find(id tool.ID) (*tool.Tool, bool) {
	p, i := s.at(id)
	if p == nil {
		return nil, false
	}
	return &p.tools[i], true
}

// at returns the place of a tool; the part is nil where there is none.
func (s *Snapshot) at(id tool.ID) (*part, int) {
	n, ok := s.place[id.Server]
	if !ok {
		return nil, 0
	}
	i, ok := s.parts[n].place[id.Name]
	if !ok {
		return nil, 0
	}
	return s.parts[n], i
}

// WithName returns the tools of that exact name on all servers, in the order of
// the configuration. It costs one look-up for each server.
func (s *Snapshot) WithName(name string) []*tool.Tool {
	var tools []*tool.Tool
	for _, p := range s.parts {
		if i, ok := p.place[name]; ok {
			tools = append(tools, &p.tools[i])
		}
	}
	return tools
}

// Blacklisted reports whether the blacklist covers id, whether or not there is
// such a tool.
func (s *Snapshot) Blacklisted(id tool.ID) bool { return s.blacklist.matches(id) }
