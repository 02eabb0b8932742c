package config

import (
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// Limit is one entry of the part `limits:` of the section policy: how much is
// used. What is zero is not bounded.
type Limit struct {
	Name           string    // holds for those alone who are given it; empty is for all
	Per            string    // all, caller, session or tool
	Tools          []tool.ID // patterns of the tools that count; nil is all
	CallsPerMinute int
	Calls          int
	Bytes          int64
	Time           time.Duration
	Spend          float64
	Tokens         int64         `json:",omitempty"`
	Cost           float64       `json:",omitempty"`
	Every          time.Duration `json:",omitempty"` // what is used is given back so often; 0 is never
}

// Bounds of the numbers of a limit.
const (
	maxPerMinute = 10_000
	maxTotal     = 1 << 30
	maxLimits    = 200
)

// limits reads the part of that name.
func (s guards) limits(o *object) {
	for i, n := range o.list("limits") {
		if i == maxLimits {
			o.fail(n, "limits holds too many entries", "at most 200")
			return
		}
		in := newObject(n, o.ex, o.to)
		var l Limit
		in.text("name", &l.Name)
		if at := in.seen["name"]; at != nil && !isRuleName(l.Name) {
			in.fail(at, "name wants letters, digits, _, . and -, at most 64", "")
		}
		in.enum("per", words("all", "caller", "session", "tool"), []string{"all", "caller", "session", "tool"}, &l.Per)
		l.Tools = s.toolPatterns(in, "tools")
		bounds := []string{"calls_per_minute", "calls", "bytes", "time", "spend", "tokens", "cost"}
		in.integer(bounds[0], 1, maxPerMinute, &l.CallsPerMinute)
		in.integer(bounds[1], 1, maxTotal, &l.Calls)
		in.size(bounds[2], 1, 1<<50, &l.Bytes)
		in.duration(bounds[3], time.Second, 10_000*time.Hour, &l.Time)
		in.number(bounds[4], 0.000_001, maxTotal, &l.Spend)
		var tokens int
		in.integer(bounds[5], 1, 1<<40, &tokens)
		l.Tokens = int64(tokens)
		in.number(bounds[6], 0.000_001, maxTotal, &l.Cost)
		in.duration("every", time.Minute, 366*24*time.Hour, &l.Every)
		in.refuse()
		switch {
		case n.Kind != source.Map:
		case !in.has("per"):
			in.fail(n, "per is missing", "say who shares the limit: all, caller, session or tool")
		case !slices.ContainsFunc(bounds, in.has):
			in.fail(n, "the limit bounds nothing", "give it one of calls_per_minute, calls, bytes, time, spend, tokens and cost")
		}
		s.cfg.Policy.Limits = append(s.cfg.Policy.Limits, l)
	}
}
