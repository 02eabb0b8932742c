package tenon

import (
	"cmp"
	"context"
	"maps"
	"slices"

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

// A UsageSum is what one model took for the calls of one caller at one server.
type UsageSum struct {
	Caller string `json:"caller"` // a name, or of those without one how they came: cli, rest, mcp
	Server string `json:"server_name"`
	Calls  int64  `json:"calls"` // for which it was asked
	tool.Usage
}

// Bounds of a summary: how many sums it has, and how many calls are read at once.
const (
	maxSums  = 1000
	sumsPage = 1000
)

// Usage sums up what models took for the calls of a filter, the largest first. Where there
// are too many callers, servers and models, what is beyond is one sum without names.
func (r Record) Usage(ctx context.Context, f CallFilter) ([]UsageSum, error) {
	f.Usage, f.Details, f.Limit, f.Cursor = true, false, sumsPage, 0
	type key struct{ caller, server, provider, model string }
	sums := map[key]*UsageSum{}
	for {
		page, err := r.Calls(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, c := range page.Calls {
			if c.Usage == nil {
				continue
			}
			k := key{cmp.Or(c.Caller.Name, c.Caller.Via), c.Server, c.Usage.Provider, c.Usage.Model}
			if sums[k] == nil && len(sums) >= maxSums {
				k = key{}
			}
			if sums[k] == nil {
				sums[k] = &UsageSum{Caller: k.caller, Server: k.server}
			}
			sums[k].Calls++
			sums[k].Add(*c.Usage)
			sums[k].Provider, sums[k].Model = k.provider, k.model
		}
		if f.Cursor = page.Next; f.Cursor == 0 {
			break
		}
	}
	out := make([]UsageSum, 0, len(sums))
	for s := range maps.Values(sums) {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b UsageSum) int {
		return cmp.Or(cmp.Compare(b.Price(), a.Price()), cmp.Compare(b.Tokens(), a.Tokens()),
			cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Model, b.Model))
	})
	return out, nil
}
