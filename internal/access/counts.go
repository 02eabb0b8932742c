package access

import (
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Counts reports whether the key of a grant still counts: it has not been revoked,
// removed or expired since its bearer came in. A call that has waited is asked
// about it before it goes on. Of a grant without a key that is kept here, such as
// that of an identity provider, nothing else is known than that it counted.
func (a *Access) Counts(g *tool.Grant) bool {
	if g == nil || !isID(g.Key) {
		return true
	}
	table := a.settings.Load().keys
	if table == nil {
		return false
	}
	now := table.load()
	k := now.byID[g.Key]
	return now.err == "" && k != nil && k.ended == "" && (k.expires.IsZero() || time.Now().Before(k.expires))
}
