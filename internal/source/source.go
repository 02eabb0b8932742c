// Package source reads YAML and JSON into trees whose nodes know their place, so
// that every mistake in a configuration can be shown with its file, line and
// column, and shows those places without showing secrets.
//
// It is not for decoding into structs: a decoder stops at the first mistake, or
// loses the place of the others.
//
//	f := source.NewFile("tenon.yaml", 1)
//	root, bad := f.Parse(data)
//	if bad != nil {
//		return &source.Error{Problems: source.Problems([]source.Mistake{*bad})}
//	}
//	if n := root.Field("version"); n != nil && n.Kind != source.Int {
//		all = append(all, n.Mistake("version wants a number", "write version: 1"))
//	}
//
// JSON may hold comments and trailing commas. YAML is read in its core schema:
// on, off, yes and no are texts.
package source

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is parsed. They are far above any real configuration and keep a
// file that somebody else wrote from taking the process with it.
const (
	MaxBytes = 256 << 10
	maxLines = 10_000
	maxNodes = 100_000 // with aliases expanded
	maxDepth = 100
)

const (
	maxExcerpt = 160  // characters of a line that an excerpt shows
	maxShown   = 4096 // bytes of a line of which anything is shown: no person wrote a longer one
)

// A File is one file that was read, or would have been. It is not safe for
// concurrent use.
type File struct {
	Path   string // as told to people
	order  int
	lines  []string // nil where nothing of it may be shown
	broken bool     // it could not be parsed, so what is a value is unknown
	// hidden holds, by line, the spans of characters that excerpts show as dots.
	hidden map[int][]span
}

// A span is a range of columns from 1; end 0 is the end of the line.
type span struct{ start, end int }

// NewFile returns a file. Problems come in the order of their files.
func NewFile(path string, order int) *File { return &File{Path: path, order: order} }

// Mistake returns a mistake of the file as a whole.
func (f *File) Mistake(text, hint string) Mistake { return f.MistakeAt(0, 0, text, hint) }

// MistakeAt returns a mistake at a line and column, both from 1.
func (f *File) MistakeAt(line, column int, text, hint string) Mistake {
	return Mistake{f, line, column, text, hint}
}

// Parse reads the file's text as YAML, or as JSON where its name ends so. An
// empty text is a null. Mistakes that a tree can be read past stay on its nodes;
// the one that is returned makes the text unreadable.
func (f *File) Parse(data []byte) (*Node, *Mistake) {
	// A line ends where YAML says so, with \n, \r\n or \r.
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(data), "\ufeff"))
	data = []byte(text)
	bad := bounded(data)
	var root *Node
	if bad == nil {
		f.lines = strings.Split(text, "\n")
		if f.IsJSON() {
			root, bad = parseJSON(f, data)
		} else {
			root, bad = parseYAML(f, data)
		}
	}
	if bad != nil {
		f.broken = true
		m := f.MistakeAt(bad.line, bad.column, bad.text, bad.hint)
		return nil, &m
	}
	return root, nil
}

// IsJSON tells whether the file's name says that it holds JSON.
func (f *File) IsJSON() bool {
	path := strings.ToLower(f.Path)
	return strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".jsonc")
}

// A syntaxError is why a text is no YAML or no JSON, or too much of it.
type syntaxError struct {
	line, column int
	text, hint   string
}

// bounded refuses what is no text, and more lines than a parser handles in a
// moment.
func bounded(data []byte) *syntaxError {
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		if line > maxLines {
			return &syntaxError{line, 1, fmt.Sprintf("has more than %d lines", maxLines), ""}
		}
		if !utf8.ValidString(text) {
			return &syntaxError{line, 1, "is not UTF-8 text", ""}
		}
	}
	return nil
}

// tooDeep is what both parsers say of a text that is nested too deep.
func tooDeep(line, column int) *syntaxError {
	return &syntaxError{line, column, fmt.Sprintf("nested deeper than %d", maxDepth), ""}
}

// hide marks columns of a line as secret.
func (f *File) hide(line int, s span) {
	if f.hidden == nil {
		f.hidden = make(map[int][]span)
	}
	f.hidden[line] = append(f.hidden[line], s)
}

// line returns a line that may be shown, or "".
func (f *File) line(n int) string {
	if n < 1 || n > len(f.lines) || len(f.lines[n-1]) > maxShown {
		return ""
	}
	return f.lines[n-1]
}

// excerpt returns a line with a caret below the column.
func (f *File) excerpt(line, column int) string {
	whole := f.line(line)
	if whole == "" || column > maxExcerpt {
		return "" // a caret that far right helps nobody
	}
	text := []rune(whole)
	spans := f.hidden[line]
	if f.broken {
		// Nobody knows what is a secret here: leave the first name and the shape.
		spans = []span{{start: afterKey(text)}}
	}
	for _, s := range spans {
		end := s.end
		if end == 0 || end > len(text)+1 {
			end = len(text) + 1
		}
		for i := max(s.start, 1); i < end; i++ {
			if r := text[i-1]; unicode.IsLetter(r) || unicode.IsDigit(r) {
				text[i-1] = '•'
			}
		}
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
