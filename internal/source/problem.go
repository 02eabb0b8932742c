package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one mistake in one place, ready to be shown.
type Problem struct {
	File   string
	Line   int // from 1; 0 where the whole file is meant
	Column int // from 1, in characters
	Text   string
	Hint   string // what to do, or empty
	// Excerpt is the line with a caret below the column, both indented, or empty.
	// What was marked secret is dots in it.
	Excerpt string
}

// Place returns "file:line:column", or the file alone.
func (p Problem) Place() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// String returns "file:line:column: text (hint)".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Place())
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

// A Mistake is a Problem while files are still being read: what must be hidden
// in its line is known only at the end.
type Mistake struct {
	file         *File
	line, column int
	text, hint   string
}

// Problems turns mistakes into problems by place: files in the order of their
// reading, then lines, then columns. Of two equal ones it keeps one.
func Problems(all []Mistake) []Problem {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.file.order, b.file.order), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	var out []Problem
	seen := make(map[Problem]bool, len(all))
	for _, m := range all {
		p := Problem{
			File: m.file.Path, Line: m.line, Column: m.column,
			Text: m.text, Hint: m.hint, Excerpt: m.file.excerpt(m.line, m.column),
		}
		if !seen[p] { // an anchor that is used twice holds its mistake twice
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}
