package catalog

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// A blacklist says which tools are never offered. Exact entries, which most
// are, cost one look-up however many there are.
type blacklist struct {
	exact    map[tool.ID]struct{}
	patterns []tool.ID
}

func newBlacklist(entries []tool.ID) (blacklist, error) {
	b := blacklist{exact: make(map[tool.ID]struct{}, len(entries))}
	var errs []error
	for _, e := range entries {
		for _, half := range []string{e.Server, e.Name} {
			if _, err := path.Match(half, ""); err != nil || half == "" {
				errs = append(errs, fmt.Errorf("blacklist entry %s: bad pattern %q", e, half))
			}
		}
		b.exact[e] = struct{}{}
		if isPattern(e.Server) || isPattern(e.Name) {
			b.patterns = append(b.patterns, e)
		}
	}
	return b, errors.Join(errs...)
}

func isPattern(s string) bool { return strings.ContainsAny(s, `*?[\`) }

func (b blacklist) matches(id tool.ID) bool {
	if _, ok := b.exact[id]; ok {
		return true
	}
	for _, p := range b.patterns {
		if matchHalf(p.Server, id.Server) && matchHalf(p.Name, id.Name) {
			return true
		}
	}
	return false
}

// matchHalf reports whether pattern covers name. path.Match stops * and ? at a
// slash, which in a tool's name is a character like any other, so the slashes
// are hidden from it; the plain match stays for classes that span the slash.
func matchHalf(pattern, name string) bool {
	if pattern == name {
		return true // a name that happens to look like a pattern
	}
	if ok, _ := path.Match(pattern, name); ok { // New has seen that it is well formed
		return true
	}
	hide := strings.NewReplacer("/", "\x00")
	ok, _ := path.Match(hide.Replace(pattern), hide.Replace(name))
	return ok
}
