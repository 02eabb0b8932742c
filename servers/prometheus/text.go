package prometheus

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// plain returns foreign text fit for one line of an answer: without control
// characters, and cut to at most limit characters.
func plain(s string, limit int) string {
	if len(s) > 8*limit { // nobody walks through a megabyte for a line
		s = s[:8*limit]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return '?'
		}
		return r
	}, s)
	return cut(s, limit)
}

// cut shortens s to at most limit characters.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	r := []rune(s)
	return string(r[:limit-1]) + "…"
}

// cell returns foreign text for a cell of a Markdown table.
func cell(s string, limit int) string {
	if s == "" {
		return "-"
	}
	return strings.NewReplacer("|", `\|`, "`", "'").Replace(plain(s, limit))
}

// A page is a Markdown text that never grows over its limit.
type page struct {
	b     strings.Builder
	limit int // characters
	used  int
}

// reserve is what stays free of table rows, for what is said at the end.
const reserve = 500

// line adds a line, cut where it does not fit.
func (p *page) line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if free := p.limit - p.used - 1; utf8.RuneCountInString(s) > free {
		if free < 2 {
			return
		}
		s = cut(s, free)
	}
	p.b.WriteString(s)
	p.b.WriteByte('\n')
	p.used += utf8.RuneCountInString(s) + 1
}

// row adds a line where it fits as a whole and leaves the reserve.
func (p *page) row(s string) bool {
	if p.used+utf8.RuneCountInString(s)+1+reserve > p.limit {
		return false
	}
	p.line("%s", s)
	return true
}

// rows adds as many lines as fit and returns their number.
func (p *page) rows(n int, row func(i int) string) int {
	for i := range n {
		if !p.row(row(i)) {
			return i
		}
	}
	return n
}

// notes adds what the API said beside the answer.
func (p *page) notes(n notes) {
	for _, w := range n.Warnings {
		p.line("- warning: %s", w)
	}
	for _, i := range n.Infos {
		p.line("- info: %s", i)
	}
}

func (p *page) String() string { return p.b.String() }

// title adds the heading of an answer to a query.
func (p *page) title(promql string) {
	p.line("## PromQL: `%s`", strings.ReplaceAll(plain(promql, 300), "`", "'"))
	p.line("")
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
		out[plain(k, 100)] = plain(l[k], 200)
	}
	return out
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

func clamp[N int | float64](n, low, high N) N { return min(max(n, low), high) }
