package page

import (
	"strings"
	"unicode"
)

// A flow is text with the white space that is wanted in it.
type flow struct {
	buf    []byte
	gap    int    // line ends wanted before what comes next
	room   bool   // a space wanted before what comes next
	prefix string // of each line: quotes, and the indentation of lists
	flat   int    // elements around that must stay on one line
	marks  []mark
}

// A mark is emphasis or a bracket that is written only when text follows.
type mark struct {
	open    string
	written bool
}

// want wants at least so many line ends before what comes next.
func (w *flow) want(lines int) {
	if w.flat > 0 {
		w.room = true
		return
	}
	if w.gap < 0 {
		return // right behind a bullet
	}
	w.gap = max(w.gap, lines)
}

func (w *flow) lineBreak() {
	if w.flat > 0 {
		w.room = true
		return
	}
	if len(w.buf) > 0 && w.gap == 0 {
		w.gap = 1
		return
	}
	w.gap = max(w.gap, min(w.gap+1, 2))
}

// append writes right behind what was written before.
func (w *flow) append(s string) { w.buf = append(w.buf, s...) }

// word writes a word behind the white space and the marks that are wanted.
func (w *flow) word(s string) {
	w.space()
	for i := range w.marks {
		if !w.marks[i].written {
			w.marks[i].written = true
			w.append(w.marks[i].open)
		}
	}
	w.append(s)
}

// space writes the white space that is wanted.
func (w *flow) space() {
	switch {
	case w.gap > 0 && len(w.buf) > 0:
		w.buf = append(w.buf, '\n')
		if w.gap > 1 {
			w.buf = append(append(w.buf, strings.TrimRight(w.prefix, " ")...), '\n')
		}
		w.buf = append(w.buf, w.prefix...)
	case w.gap == 0 && w.room && len(w.buf) > 0:
		if last := w.buf[len(w.buf)-1]; last != '[' && last != ' ' && last != '\n' {
			w.buf = append(w.buf, ' ')
		}
	}
	w.gap, w.room = 0, false
}

func (w *flow) text(s string) {
	s = noWidth.Replace(s)
	for s != "" {
		i := strings.IndexFunc(s, unicode.IsSpace)
		if i != 0 {
			word := s
			if i > 0 {
				word = s[:i]
			}
			w.word(word)
			s = s[len(word):]
			continue
		}
		w.room = true
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
}

// noWidth takes out what would make a word of nothing.
var noWidth = strings.NewReplacer("\u200b", "", "\ufeff", "", "\u2060", "", "\u00ad", "")
