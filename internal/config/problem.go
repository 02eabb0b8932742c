package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Problem is one mistake in one place.
type Problem struct {
	File   string
	Line   int // from 1; 0 where the whole file is meant
	Column int // from 1, in characters
	Text   string
	Hint   string // what to do, or empty
	// Excerpt is the line with a caret below the column, both indented, or empty.
	// Values of `env:` and `headers:` are dots in it.
	Excerpt string
}

// String returns "file:line:column: text (hint)".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.File != "" {
		b.WriteString(": ")
	}
	b.WriteString(p.Text)
	if p.Hint != "" {
		fmt.Fprintf(&b, " (%s)", p.Hint)
	}
	return b.String()
}

// An Error holds every mistake that was found, by place.
type Error struct{ Problems []Problem }

// Error returns the problems, one a line.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// A mistake is a Problem while the files are still being read: what must be
// hidden in its line is known only at the end.
type mistake struct {
	src          *source
	line, column int
	text, hint   string
}

// A source is one file that was read, or would have been.
type source struct {
	path   string   // as told to people
	order  int      // in which it was opened
	lines  []string // nil where nothing of it may be shown
	broken bool     // it could not be parsed, so what is a value is unknown
	// hide holds, by line, the spans of characters that excerpts show as dots.
	hide map[int][]span
}

// A span is a range of columns from 1; end 0 is the end of the line.
type span struct{ start, end int }

func (s *source) hideFrom(line, start, end int) {
	if s.hide == nil {
		s.hide = make(map[int][]span)
	}
	s.hide[line] = append(s.hide[line], span{start, end})
}

const maxExcerpt = 160 // characters of a line that an excerpt shows

// excerpt returns the line with a caret below the column.
func (s *source) excerpt(line, column int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	text := []rune(strings.TrimRight(s.lines[line-1], "\r"))
	if s.broken {
		// Nobody knows what is a secret here: leave the names and the shape.
		s.hideFrom(line, afterKey(text), 0)
	}
	for _, h := range s.hide[line] {
		end := h.end
		if end == 0 || end > len(text)+1 {
			end = len(text) + 1
		}
		for i := max(h.start, 1); i < end; i++ {
			if r := text[i-1]; unicode.IsLetter(r) || unicode.IsDigit(r) {
				text[i-1] = '•'
			}
		}
	}
	if column > maxExcerpt {
		return "" // a caret that far right helps nobody
	}
	if len(text) > maxExcerpt {
		text = append(text[:maxExcerpt], '…')
	}
	var pad strings.Builder
	for i := range column - 1 {
		if i < len(text) && text[i] == '\t' {
			pad.WriteRune('\t')
			continue
		}
		pad.WriteRune(' ')
	}
	return fmt.Sprintf("%5d | %s\n      | %s^", line, string(text), pad.String())
}

// afterKey returns the column behind the first colon, or 1.
func afterKey(text []rune) int {
	if i := slices.Index(text, ':'); i >= 0 {
		return i + 2
	}
	return 1
}

// problems turns mistakes into problems, by place.
func problems(all []mistake) []Problem {
	slices.SortStableFunc(all, func(a, b mistake) int {
		return cmp.Or(cmp.Compare(a.src.order, b.src.order), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	var out []Problem
	for _, m := range all {
		p := Problem{
			File: m.src.path, Line: m.line, Column: m.column,
			Text: m.text, Hint: m.hint, Excerpt: m.src.excerpt(m.line, m.column),
		}
		if !slices.Contains(out, p) { // an anchor that is used twice holds its mistake twice
			out = append(out, p)
		}
	}
	return out
}
