package policy

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// A Skill is an allowlist. Tools that only read come along with it, unless it is
// strict; one that lists nothing exposes nothing.
type Skill struct {
	Name string
	// Tools are the tools that it lists: "server/tool", "tool" on any server, or the
	// flat "server__tool" under which MCP clients know it. Each may be a pattern.
	Tools  []string
	Strict bool
}

// An allowlist is a skill with what was found out about tools.
type allowlist struct {
	Skill

	patterns []tool.ID // of entries with a slash, and of those without
	flat     []string  // of entries with __

	mu    sync.RWMutex
	names map[tool.ID]bool
}

func newAllowlist(s Skill) (*allowlist, error) {
	if s.Name == "" {
		return nil, errors.New("it has no name")
	}
	a := &allowlist{Skill: s, names: map[tool.ID]bool{}}
	for _, e := range s.Tools {
		id, err := ParseEntry(e)
		if err != nil {
			return nil, err
		}
		a.patterns = append(a.patterns, id)
		if isFlat(e) {
			a.flat = append(a.flat, e)
		}
	}
	return a, nil
}

// ParseEntry returns the pattern of an entry of an allowlist. The error says what
// is wrong with it.
func ParseEntry(entry string) (tool.ID, error) {
	server, name, ok := strings.Cut(entry, "/")
	if !ok {
		server, name = "*", entry
	}
	if server == "" || name == "" {
		return tool.ID{}, fmt.Errorf("%q names no tool", clip(entry))
	}
	if glob.Check(server) != nil || glob.Check(name) != nil {
		return tool.ID{}, fmt.Errorf("%q is no pattern: a [ is not closed", clip(entry))
	}
	return tool.ID{Server: server, Name: name}, nil
}

const flatBreak = "__"

func isFlat(entry string) bool {
	return !strings.Contains(entry, "/") && strings.Contains(entry, flatBreak)
}

// Covers reports whether an entry of an allowlist names the tool.
func Covers(entry string, id tool.ID) bool {
	pattern, err := ParseEntry(entry)
	return err == nil && (glob.MatchID(pattern, id) || isFlat(entry) && coversFlat(entry, id))
}

// coversFlat reports whether a flat entry names the tool. The first break ends the
// name of the server, as it does in the name that clients see.
func coversFlat(entry string, id tool.ID) bool {
	server, name, _ := strings.Cut(entry, flatBreak)
	return server != "" && name != "" && glob.Match(server, id.Server) && glob.Match(name, id.Name)
}

// lists reports whether the skill names the tool.
func (a *allowlist) lists(id tool.ID) bool {
	a.mu.RLock()
	found, ok := a.names[id]
	a.mu.RUnlock()
	if ok {
		return found
	}
	for _, p := range a.patterns {
		found = found || glob.MatchID(p, id)
	}
	for _, e := range a.flat {
		found = found || coversFlat(e, id)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.names) >= maxKnown {
		clear(a.names)
	}
	a.names[id] = found
	return found
}

// Reaches reports whether what a server has beside its tools, which is only read, is
// within reach: of those without a skill, and of those with one that is not strict and
// names a tool of the server.
func (pr *Profile) Reaches(server string) bool {
	a := pr.scope.skill
	if a == nil {
		return true
	}
	if a.Strict {
		return false
	}
	for _, p := range a.patterns {
		if glob.Match(p.Server, server) {
			return true
		}
	}
	for _, f := range a.flat {
		if strings.HasPrefix(f, server+"__") {
			return true
		}
	}
	return false
}
