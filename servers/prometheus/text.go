package prometheus

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

// notes adds what the API said beside the answer.
func addNotes(p *answer.Page, n notes) {
	for _, w := range n.Warnings {
		p.Line("- warning: %s", w)
	}
	for _, i := range n.Infos {
		p.Line("- info: %s", i)
	}
}

// title adds the heading of an answer to a query.
func addTitle(p *answer.Page, promql string) {
	p.Line("## PromQL: `%s`", strings.ReplaceAll(answer.Line(promql, 300), "`", "'"))
	p.Line("")
}

// labels is a set of labels.
type labels map[string]string

// String returns the set as PromQL writes it.
func (l labels) String() string {
	var b strings.Builder
	name := l["__name__"]
	b.WriteString(name)
	n := 0
	for _, k := range slices.Sorted(maps.Keys(l)) {
		if k == "__name__" {
			continue
		}
		if n == 0 {
			b.WriteByte('{')
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%s", k, strconv.Quote(l[k]))
		n++
	}
	if n > 0 || name == "" {
		if n == 0 {
			b.WriteByte('{')
		}
		b.WriteByte('}')
	}
	return b.String()
}

// bounded returns the set with values and names of bounded length.
func (l labels) bounded() labels {
	out := make(labels, len(l))
	for i, k := range slices.Sorted(maps.Keys(l)) {
		if i == 40 {
			out["…"] = fmt.Sprintf("%d more labels left out", len(l)-40)
			break
		}
		out[answer.Line(k, 100)] = answer.Line(l[k], 200)
	}
	return out
}

// masked is bounded without what looks like a secret: whoever writes a rule can quote
// anything in the annotations of its alerts.
func (l labels) masked() labels {
	out := make(labels, len(l))
	for k, v := range l {
		out[k] = cmdmask.Text(answer.Cut(v, 1000))
	}
	return out.bounded()
}

// plainNumber returns a value of the API without an exponent, as queries have it.
func plainNumber(s string) string {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || math.Abs(v) >= 1e15 || v != 0 && math.Abs(v) < 1e-9 {
		return s
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// first returns the value of the first of the labels that is there.
func (l labels) first(names ...string) string {
	for _, n := range names {
		if v := l[n]; v != "" {
			return v
		}
	}
	return ""
}

// moment returns a time of the API, which are seconds.
func moment(seconds float64) time.Time {
	if math.IsNaN(seconds) || math.Abs(seconds) > 1e11 {
		return time.Time{}
	}
	return time.UnixMilli(int64(seconds * 1000)).UTC()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// since returns how long ago a time was, in two units at most.
func since(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

// number returns a number for reading: six digits are enough to see what is up.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// rounded returns a value of the API without digits that only rounding has made; the
// structured answer has them.
func rounded(s string) string {
	if v, err := strconv.ParseFloat(s, 64); err == nil && len(s) > 12 && strings.Contains(s, ".") && !math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', 10, 64)
	}
	return s
}

func clamp[N int | float64](n, low, high N) N { return min(max(n, low), high) }
