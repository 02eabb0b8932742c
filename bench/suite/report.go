package suite

import (
	"slices"
	"time"
)

// A Path is the way of a call, whose first hop is always the load generator's HTTP
// unless it says otherwise.
type Path string

// The paths, in the order of the report.
const (
	UpstreamHTTP  Path = "upstream alone, HTTP"
	UpstreamStdio Path = "upstream alone, stdio"
	GatewayStdio  Path = "gateway to stdio"
	GatewayHTTP   Path = "gateway to HTTP"
)

// A Report is what one run showed. Figures that could not be measured are nil.
type Report struct {
	Plan     string       `json:"plan"`
	Machine  string       `json:"machine"`
	Seconds  float64      `json:"seconds"`
	Load     []Row        `json:"load,omitempty"`
	List     *ListRow     `json:"list,omitempty"`
	Ready    []ReadyRow   `json:"ready,omitempty"`
	Builtin  *BuiltinRow  `json:"builtin,omitempty"`
	Sessions *SessionsRow `json:"sessions,omitempty"`
	Goals    []Goal       `json:"goals"`
	Problems []string     `json:"problems,omitempty"`
}

// A Row is calls of one size, by one number of callers, on one path: medians
// over the rounds. Times are in microseconds.
type Row struct {
	Size     int      `json:"size"`
	Callers  int      `json:"callers"`
	Path     Path     `json:"path"`
	Calls    int      `json:"calls"` // of all rounds
	Errors   int      `json:"errors"`
	Error    string   `json:"error,omitempty"` // the first
	Rate     float64  `json:"rate"`            // calls a second
	Ratio    float64  `json:"ratio,omitempty"` // of Rate to that of the upstream alone over HTTP
	P50      float64  `json:"p50_us"`
	P99      float64  `json:"p99_us"`
	AddedP50 *float64 `json:"added_p50_us,omitempty"` // over the upstream alone over HTTP
	AddedP99 *float64 `json:"added_p99_us,omitempty"`
	CPU      *float64 `json:"cpu_us,omitempty"`           // of the process that the client speaks to, for one call
	OwnCPU   *float64 `json:"generator_cpu_us,omitempty"` // of the load generator for one call
	PeakMiB  *float64 `json:"gateway_peak_mib,omitempty"` // resident memory of the gateway, largest of all rounds
}

// A ListRow is one tools/list of many tools. Times are in milliseconds.
type ListRow struct {
	Tools int      `json:"tools"`
	Pages int      `json:"pages"`
	Bytes int      `json:"bytes"`
	P50   float64  `json:"p50_ms"`
	CPU   *float64 `json:"gateway_cpu_ms,omitempty"`
}

// A ReadyRow is the start with some servers, in milliseconds.
type ReadyRow struct {
	Servers int     `json:"servers"`
	Alone   float64 `json:"alone_ms"`   // the servers alone, side by side
	Gateway float64 `json:"gateway_ms"` // until the gateway lists all their tools
	Over    float64 `json:"over_ms"`    // the second over the first
	Ratio   float64 `json:"ratio"`
}

// A BuiltinRow is the start without any configuration, in milliseconds.
type BuiltinRow struct {
	Tools  int     `json:"tools"`
	Readyz float64 `json:"readyz_ms"` // until /readyz says so
	Listed float64 `json:"listed_ms"` // until tools/list is answered
}

// A SessionsRow is the memory that sessions of clients take.
type SessionsRow struct {
	Sessions  int     `json:"sessions"`
	BeforeMiB float64 `json:"before_mib"`
	GrownMiB  float64 `json:"grown_mib"`
	EachKiB   float64 `json:"each_kib"`
}

// A Goal is a bound that a figure of the report should keep.
type Goal struct {
	Part    string   `json:"part"`
	Name    string   `json:"name"`
	Unit    string   `json:"unit,omitempty"`
	Bound   float64  `json:"bound"`
	AtLeast bool     `json:"at_least"` // the bound is a least value, else a largest
	Figure  *float64 `json:"figure"`   // nil: not measured in this run
	Met     bool     `json:"met"`
}

// Met reports whether every goal was measured and met, all calls were answered
// as they should be, and nothing else went wrong.
func (r *Report) Met() bool {
	return len(r.Problems) == 0 &&
		!slices.ContainsFunc(r.Goals, func(g Goal) bool { return !g.Met }) &&
		!slices.ContainsFunc(r.Load, func(row Row) bool { return row.Errors > 0 || row.Calls == 0 })
}

// goals returns the goals of some parts beside the figures of this run.
func (r *Report) goals(parts []string) []Goal {
	goals := slices.Concat(r.loadGoals(), r.readyGoals(), []Goal{
		atMost("list", "5,000 tools: CPU of one list", 2, "ms", figure(r.listRow(5000), func(r *ListRow) *float64 { return r.CPU })),
		atMost("builtin", "no configuration: tools listed", 300, "ms", figure(r.Builtin, func(r *BuiltinRow) *float64 { return &r.Listed })),
		atMost("sessions", "200 sessions: memory grown by", 25, "MiB", figure(r.sessionsRow(200), func(r *SessionsRow) *float64 { return &r.GrownMiB })),
	})
	return slices.DeleteFunc(goals, func(g Goal) bool { return !slices.Contains(parts, g.Part) })
}

// loadGoals returns the goals of calls. All are of the way from HTTP to stdio.
func (r *Report) loadGoals() []Goal {
	const part = "load"
	row := func(size, callers int) *Row { return r.row(size, callers, GatewayStdio) }
	cpu := func(r *Row) *float64 { return r.CPU }
	return []Goal{
		atLeast(part, "32 B, 64 callers: calls a second against the upstream alone", 0.66, "", figure(row(Small, 64), func(r *Row) *float64 { return &r.Ratio })),
		atMost(part, "32 B, 64 callers: CPU of one call", 45, "µs", figure(row(Small, 64), cpu)),
		atMost(part, "32 B, 16 callers: CPU of one call", 55, "µs", figure(row(Small, 16), cpu)),
		atMost(part, "32 B, 1 caller: added to p50", 80, "µs", figure(row(Small, 1), func(r *Row) *float64 { return r.AddedP50 })),
		atMost(part, "32 B, 1 caller: added to p99", 100, "µs", figure(row(Small, 1), func(r *Row) *float64 { return r.AddedP99 })),
		atLeast(part, "32 KiB, 16 callers: calls a second", 4500, "", figure(row(Medium, 16), func(r *Row) *float64 { return &r.Rate })),
		atMost(part, "32 KiB, 16 callers: CPU of one call", 150, "µs", figure(row(Medium, 16), cpu)),
		atMost(part, "20 MiB, 1 caller: CPU of one call", 60, "ms", figure(row(Large, 1), func(r *Row) *float64 {
			if r.CPU == nil {
				return nil
			}
			return new(*r.CPU / 1000)
		})),
		atMost(part, "20 MiB, 1 caller: peak memory", 64, "MiB", figure(row(Large, 1), func(r *Row) *float64 { return r.PeakMiB })),
	}
}

// readyGoals returns the goals of starts.
func (r *Report) readyGoals() []Goal {
	var goals []Goal
	for _, start := range []struct {
		servers int
		most    float64
	}{{1, 15}, {10, 50}, {50, 220}} {
		name := plural(start.servers, "server") + ": ready beyond their own start"
		over := figure(r.readyRow(start.servers), func(r *ReadyRow) *float64 { return &r.Over })
		goals = append(goals, atMost("ready", name, start.most, "ms", over))
	}
	return goals
}

// figure reads a figure of a row, where there is such a row.
func figure[T any](row *T, of func(*T) *float64) *float64 {
	if row == nil {
		return nil
	}
	return of(row)
}

func atMost(part, name string, bound float64, unit string, figure *float64) Goal {
	return Goal{Part: part, Name: name, Unit: unit, Bound: bound, Figure: figure, Met: figure != nil && *figure <= bound}
}

func atLeast(part, name string, bound float64, unit string, figure *float64) Goal {
	return Goal{Part: part, Name: name, Unit: unit, Bound: bound, AtLeast: true, Figure: figure, Met: figure != nil && *figure >= bound}
}

// row returns the row of calls like these, or nil.
func (r *Report) row(size, callers int, path Path) *Row {
	i := slices.IndexFunc(r.Load, func(row Row) bool { return row.Size == size && row.Callers == callers && row.Path == path })
	if i < 0 || r.Load[i].Calls == 0 {
		return nil
	}
	return &r.Load[i]
}

// listRow returns the row of a list of at least so many tools, or nil.
func (r *Report) listRow(tools int) *ListRow {
	if r.List == nil || r.List.Tools < tools {
		return nil
	}
	return r.List
}

// readyRow returns the row of a start with so many servers, or nil.
func (r *Report) readyRow(servers int) *ReadyRow {
	i := slices.IndexFunc(r.Ready, func(row ReadyRow) bool { return row.Servers == servers })
	if i < 0 {
		return nil
	}
	return &r.Ready[i]
}

// sessionsRow returns the row of so many sessions, or nil.
func (r *Report) sessionsRow(sessions int) *SessionsRow {
	if r.Sessions == nil || r.Sessions.Sessions != sessions {
		return nil
	}
	return r.Sessions
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func milli(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func mib(bytes int64) float64       { return float64(bytes) / (1 << 20) }

// microOf returns the median in microseconds, or nil of no values.
func microOf(values []time.Duration) *float64 {
	if len(values) == 0 {
		return nil
	}
	return new(micro(median(values)))
}
