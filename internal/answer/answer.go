// Package answer writes the texts of bundled servers' answers: foreign text made
// harmless, tables and pages that keep to a number of characters.
//
//	answer.Line("a\x1b[31mb\nc", 80)                  // a?[31mb c
//	answer.Table([]string{"name"}, [][]string{{"x"}}, 4000)
//	p := answer.NewPage(4000)
//	p.Line("## Pods")
//	shown := p.Rows(len(pods), func(i int) string { return row(pods[i]) })
//
// Lengths are in characters (runes).
package answer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

// Line returns foreign text fit for one line: without control and invisible
// characters, and cut to at most limit characters.
func Line(s string, limit int) string {
	if len(s) > 8*limit { // so that a long text costs no more than it shows
		s = s[:8*limit]
	}
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return unseen.Mark(r)
	}, s)
	return Cut(s, limit)
}

// Cut shortens s to at most limit characters.
func Cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:max(limit-1, 0)]) + "…"
}

// Cell returns foreign text for a cell of a table: a dash where there is none.
func Cell(s string, limit int) string {
	if s == "" {
		return "-"
	}
	return strings.NewReplacer("|", `\|`, "`", "'").Replace(Line(s, limit))
}

// Fence returns a fence of backticks that no line of the text can close.
func Fence(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// Table returns a Markdown table of at most limit characters: as many rows as fit,
// and a line that says how many did not.
func Table(head []string, rows [][]string, limit int) string {
	const reserve = 80 // for the line about the rows left out
	var b strings.Builder
	tableRow(&b, head)
	b.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	used := utf8.RuneCountInString(b.String())
	for i, row := range rows {
		var r strings.Builder
		tableRow(&r, row)
		n := utf8.RuneCountInString(r.String())
		if used+n > limit-reserve {
			fmt.Fprintf(&b, "\n%d more rows were left out to keep the answer short.\n", len(rows)-i)
			break
		}
		used += n
		b.WriteString(r.String())
	}
	return b.String()
}

func tableRow(b *strings.Builder, cells []string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}

// A Page is a Markdown text that never grows over its limit.
type Page struct {
	b     strings.Builder
	limit int
	used  int
}

// NewPage returns an empty page of at most limit characters.
func NewPage(limit int) *Page { return &Page{limit: limit} }

// reserve is what stays free of rows, for what is said at the end.
const reserve = 500

// Line adds a line, cut where it does not fit.
func (p *Page) Line(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if free := p.limit - p.used - 1; utf8.RuneCountInString(s) > free {
		if free < 2 {
			return
		}
		s = Cut(s, free)
	}
	p.b.WriteString(s)
	p.b.WriteByte('\n')
	p.used += utf8.RuneCountInString(s) + 1
}

// Row adds a line where it fits as a whole and leaves room for what is said at the
// end. It reports whether it did.
func (p *Page) Row(s string) bool {
	if p.used+utf8.RuneCountInString(s)+1+reserve > p.limit {
		return false
	}
	p.Line("%s", s)
	return true
}

// Rows adds as many of n lines as fit, and returns their number.
func (p *Page) Rows(n int, row func(i int) string) int {
	for i := range n {
		if !p.Row(row(i)) {
			return i
		}
	}
	return n
}

// Room returns how many characters of rows still fit.
func (p *Page) Room() int { return max(p.limit-p.used-reserve, 0) }

// String returns the text.
func (p *Page) String() string { return p.b.String() }
