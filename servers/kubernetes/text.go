package kubernetes

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
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

func (p *page) String() string { return p.b.String() }

// told returns what somebody wrote for people (a message, a line of a log) fit for
// an answer: without secrets, on one line.
func told(s string, limit int) string {
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	return plain(cmdmask.Text(s), limit)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// age returns how long ago a time was, in two units at most.
func age(now, t time.Time) string {
	d := max(now.Sub(t), 0)
	switch {
	case t.IsZero():
		return "-"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

func clamp(n, low, high int) int { return min(max(n, low), high) }
