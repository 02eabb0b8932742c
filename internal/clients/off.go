package clients

import (
	"slices"
	"strings"
)

// Held of a server that a client says beside its entry not to start.
const (
	heldOff      = "it is switched off"
	heldExcluded = "the client is told to leave it out"
)

// A reach is which servers a list of names is about.
type reach int

const (
	all       reach = iota
	ofProject       // those of a file of the folder
	notNamed        // all that are not in the list, where it has any
)

// A veto is a list of names beside the entries, by which a client does not start servers.
type veto struct {
	paths []string // of the file, as in the table of clients; none is the file of the person's entries
	keys  []string // that lead to the list; . is the folder
	about reach
	held  string
}

// vetoes are those of the clients. A veto may be in a file that names no server.
var vetoes = map[string][]veto{
	"claude-code": { // code.claude.com/docs/en/settings and what /mcp writes
		{paths: []string{"$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"}, keys: []string{"projects", ".", "disabledMcpServers"}, held: heldOff},
		{paths: []string{"$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"}, keys: []string{"projects", ".", "disabledMcpjsonServers"}, about: ofProject, held: heldOff},
		{paths: []string{"$CLAUDE_CONFIG_DIR/settings.json", "~/.claude/settings.json"}, keys: []string{"disabledMcpjsonServers"}, about: ofProject, held: heldOff},
		{paths: []string{"./.claude/settings.json"}, keys: []string{"disabledMcpjsonServers"}, about: ofProject, held: heldOff},
		{paths: []string{"./.claude/settings.local.json"}, keys: []string{"disabledMcpjsonServers"}, about: ofProject, held: heldOff},
	},
	"gemini": { // geminicli.com/docs/reference/configuration, "mcp"; the flat keys until 0.3
		{paths: []string{"~/.gemini/settings.json"}, keys: []string{"mcp", "excluded"}, held: heldExcluded},
		{paths: []string{"./.gemini/settings.json"}, keys: []string{"mcp", "excluded"}, held: heldExcluded},
		{paths: []string{"~/.gemini/settings.json"}, keys: []string{"mcp", "allowed"}, about: notNamed, held: heldExcluded},
		{paths: []string{"./.gemini/settings.json"}, keys: []string{"mcp", "allowed"}, about: notNamed, held: heldExcluded},
		{paths: []string{"~/.gemini/settings.json"}, keys: []string{"excludeMCPServers"}, held: heldExcluded},
		{paths: []string{"./.gemini/settings.json"}, keys: []string{"excludeMCPServers"}, held: heldExcluded},
		{paths: []string{"~/.gemini/settings.json"}, keys: []string{"allowMCPServers"}, about: notNamed, held: heldExcluded},
		{paths: []string{"./.gemini/settings.json"}, keys: []string{"allowMCPServers"}, about: notNamed, held: heldExcluded},
		{paths: []string{"~/.gemini/mcp-server-enablement.json"}, keys: nil, held: heldOff}, // {"name": {"enabled": false}}
	},
}

// hold holds back the servers that the client does not start. A file that cannot be read
// is an error: it may be the one that says so.
func (s Settings) hold(servers []Server) error {
	if s.Client == nil || len(servers) == 0 {
		return nil
	}
	roots := map[string]*node{} // of the files: several vetoes are in one
	for _, v := range vetoes[s.Client.ID] {
		path := s.world.path(file{paths: v.paths})
		if path == "" {
			continue
		}
		at, ok := roots[path]
		if !ok {
			var err error
			if _, at, _, err = (Settings{Client: s.Client, Path: path, world: s.world}).load(); err != nil {
				return err
			}
			roots[path] = at
		}
		for _, key := range v.keys {
			if key == "." {
				key = s.world.Project
			}
			at = at.field(key)
		}
		for i := range servers {
			if servers[i].Held == "" && v.about.holds(at, &servers[i]) {
				servers[i].Held = v.held
			}
		}
	}
	return nil
}

// holds reports whether a list of names, or a map of states, keeps a server from running.
func (r reach) holds(at *node, s *Server) bool {
	if at == nil {
		return false
	}
	if at.kind == table {
		for _, p := range at.pairs {
			if off := p.value.field("enabled"); off != nil && off.text == "false" && strings.EqualFold(strings.TrimSpace(p.key), strings.TrimSpace(s.Name)) {
				return true
			}
		}
		return false
	}
	named := slices.ContainsFunc(at.items, func(n *node) bool { return n.text == s.Name })
	switch r {
	case ofProject:
		return named && s.Scope == Project
	case notNamed:
		return !named && len(at.items) > 0
	}
	return named
}
