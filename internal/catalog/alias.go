package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// MCP clients see one flat list, so each tool has an alias: a name that model
// APIs accept, 1 to 64 characters of A-Z, a-z, 0-9, _ and -. Whoever keeps an
// alias must never reach another tool with it, whatever servers come and go, so
// it follows from the tool's ID alone:
//
//   - plain: server + "__" + name, where that fits and can be read back in one
//     way only: the first "__" ends the server's name;
//   - hashed: as much of the same as fits, other characters written _, then "_"
//     and 8 hexadecimal digits of the SHA-256 of the ID.
//
// Plain aliases differ, since they can be read back; a name that would make a
// plain alias look like a hashed one is hashed itself, so the two kinds never
// meet. Two hashed aliases are the same only where the tools' names begin alike
// and 32 bits agree. Then neither gets it: both take 32 digits.
const (
	maxAlias   = 64
	shortHash  = 8
	longHash   = 32
	aliasBreak = "__"
)

// hashed is a tool with the hashed alias that it has as long as no other tool
// has the same.
type hashed struct {
	tool  *tool.Tool
	alias string
}

// Alias returns the tool of that alias.
func (s *Snapshot) Alias(alias string) (*tool.Tool, bool) {
	if t, ok := s.aliases[alias]; ok {
		return t, true
	}
	server, name, _ := strings.Cut(alias, aliasBreak)
	id := tool.ID{Server: server, Name: name}
	if _, ok := plainAlias(id); !ok {
		return nil, false
	}
	return s.Find(id)
}

// AliasOf returns the alias of a tool of the snapshot, or "" for any other.
func (s *Snapshot) AliasOf(t *tool.Tool) string {
	if p, _ := s.at(t.ID); p == nil {
		return ""
	}
	if alias, ok := plainAlias(t.ID); ok {
		return alias
	}
	if alias, ok := s.long[t.ID]; ok {
		return alias
	}
	return hashedAlias(t.ID, shortHash)
}

// assignAliases fills in aliases and long.
func (s *Snapshot) assignAliases() {
	sharing := make(map[string][]*tool.Tool) // by short alias
	for _, p := range s.parts {
		for _, h := range p.hashed {
			sharing[h.alias] = append(sharing[h.alias], h.tool)
		}
	}
	for alias, tools := range sharing {
		if len(tools) == 1 {
			s.aliases[alias] = tools[0]
			continue
		}
		if s.long == nil {
			s.long = make(map[tool.ID]string)
		}
		for _, t := range tools {
			alias := hashedAlias(t.ID, longHash)
			s.aliases[alias], s.long[t.ID] = t, alias
		}
	}
}

// FlatName returns the name server__name of something that is no tool, by the rules for
// tools. One that cannot be written so has a hash at its end, and no two have the same.
func FlatName(id tool.ID) string {
	if alias, ok := plainAlias(id); ok {
		return alias
	}
	return hashedAlias(id, longHash)
}

// plainAlias returns the plain alias of a tool, if it has one.
func plainAlias(id tool.ID) (string, bool) {
	alias := id.Server + aliasBreak + id.Name
	return alias, len(alias) <= maxAlias &&
		strings.Index(alias, aliasBreak) == len(id.Server) &&
		allAliasBytes(alias) &&
		!endsInHash(alias, shortHash) && !endsInHash(alias, longHash)
}

func allAliasBytes(s string) bool {
	for i := range len(s) {
		if !isAliasByte(s[i]) {
			return false
		}
	}
	return true
}

func isAliasByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// endsInHash reports whether s could be a hashed alias of that many digits.
func endsInHash(s string, digits int) bool {
	i := len(s) - digits - 1
	if i < 0 || s[i] != '_' {
		return false
	}
	return strings.Trim(s[i+1:], "0123456789abcdef") == ""
}

func hashedAlias(id tool.ID, digits int) string {
	var b strings.Builder
	for _, r := range id.Server + aliasBreak + id.Name {
		if b.Len() == maxAlias-digits-1 {
			break
		}
		if r < 0x80 && isAliasByte(byte(r)) {
			b.WriteByte(byte(r))
			continue
		}
		b.WriteByte('_')
	}
	// Neither half can hold a control character, so the zero byte makes the ID
	// readable in one way only.
	sum := sha256.Sum256([]byte(id.Server + "\x00" + id.Name))
	b.WriteByte('_')
	b.WriteString(hex.EncodeToString(sum[:digits/2]))
	return b.String()
}
