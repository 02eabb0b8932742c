package tenon

import (
	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// usageOf returns what a result says that models have taken for it. It counts for the
// call that it is the result of and for nothing else, and only where its server is
// believed: one that comes with this program, or whose entry says trust_usage. Any other
// one could use up the limits of its callers by a number. An agent says what its model
// took while it works, and what its tools took counts for their calls.
func (p *pool) usageOf(r *call.Request, raw tool.Bytes) (tool.Usage, bool) {
	m := p.byName[r.Target.Server]
	if m == nil || m.entry == nil || m.entry.Bundled == "" && !m.entry.TrustUsage {
		return tool.Usage{}, false
	}
	var meta, said [1]jsonrpc.Span
	if jsonrpc.Members(raw, []string{"_meta"}, meta[:]) != nil || !meta[0].Found() {
		return tool.Usage{}, false
	}
	b := meta[0].In(raw)
	if jsonrpc.Members(b, []string{tool.UsageKey}, said[:]) != nil || !said[0].Found() {
		return tool.Usage{}, false
	}
	return tool.ParseUsage(said[0].In(b).Join())
}
