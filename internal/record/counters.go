package record

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// maxCounters bounds how many counters there are. Whoever makes up names must
// not be able to fill the memory with them.
const maxCounters = 20_000

// A Counter holds the totals of the calls of one tool that ended in one way.
//
// Server and Tool are empty in the counters of names that do not exist, and of
// names that came when there were too many counters already.
type Counter struct {
	Server   string
	Tool     string
	Kind     tool.Kind // empty for success
	Calls    int64
	Attempts int64
	Bytes    int64
	Elapsed  time.Duration
	Input    int64 // tokens that models read
	Output   int64 // tokens that models wrote
	Cost     float64
}

type counterKey struct {
	server, tool string
	kind         tool.Kind
}

type counters map[counterKey]*Counter

func (c counters) add(e *Entry) {
	key := counterKey{e.Server, e.Tool, e.Kind}
	if e.Kind == tool.NotFound {
		key.server, key.tool = "", ""
	}
	n, ok := c[key]
	if !ok && len(c) >= maxCounters {
		key.server, key.tool = "", ""
		n, ok = c[key]
	}
	if !ok {
		n = &Counter{Server: key.server, Tool: key.tool, Kind: key.kind}
		c[key] = n
	}
	n.Calls++
	n.Attempts += int64(e.Attempts)
	n.Bytes += int64(e.Bytes)
	n.Elapsed += e.Elapsed
	if u := e.Usage; u != nil {
		n.Input += int64(u.Input)
		n.Output += int64(u.Output)
		n.Cost += u.Price()
	}
}

// Counters returns the totals of all calls since the record was made, forgotten
// ones included, ordered by server, tool and kind.
func (r *Record) Counters() []Counter {
	r.mu.Lock()
	all := make([]Counter, 0, len(r.counters))
	for n := range maps.Values(r.counters) {
		all = append(all, *n)
	}
	r.mu.Unlock()
	slices.SortFunc(all, func(a, b Counter) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}
