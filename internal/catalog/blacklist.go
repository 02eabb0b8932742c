package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/glob"
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
			if glob.Check(half) != nil || half == "" {
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
		if glob.MatchID(p, id) {
			return true
		}
	}
	return false
}
