package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentences cuts prose into its sentences, and those that are longer than most
// characters between words, or where there are none between characters; never
// within a link, an image, code or a formula.
func sentences(text string, most int) []string {
	var pieces []string
	start, length := 0, 0 // of the piece
	space := -1           // behind the last white space of the piece
	spaceAt := 0          // the length there
	misses := 0           // marks that open nothing: looking for their ends costs time
	cut := func(at int) {
		if at > start {
			pieces = append(pieces, text[start:at])
		}
		start, length, space = at, 0, -1
	}
	for i := 0; i < len(text); {
		n := 0
		if misses < maxMisses && strings.IndexByte(opening, text[i]) >= 0 {
			if n = atom(text[i:]); n == 0 {
				misses++
			}
		}
		atomic := n > 0
		if !atomic {
			_, n = utf8.DecodeRuneInString(text[i:])
		}
		runes := utf8.RuneCountInString(text[i : i+n])
		if length+runes > most && length > 0 {
			if space > start {
				rest := length - spaceAt
				cut(space)
				length = rest
			} else {
				cut(i)
			}
		}
		end := i + n
		length += runes
		switch {
		case atomic:
		case sentenceEnds(text, i, end):
			cut(end)
		case n == 1 && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t'):
			space, spaceAt = end, length
		}
		i = end
	}
	cut(len(text))
	return pieces
}

// sentenceEnds reports whether a sentence ends with the rune from i to end: behind
// the white space that follows its mark, or behind a mark that needs none.
func sentenceEnds(text string, i, end int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	if strings.ContainsRune("。！？；", r) {
		return true
	}
	if r == '\n' {
		return item(text[end:]) // a list is cut between its items
	}
	if r != ' ' || i == 0 || !strings.ContainsRune(".!?;", rune(text[i-1])) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(text[end:])
	return !unicode.IsLower(next) && next != utf8.RuneError
}

// item reports whether an item of a list begins.
func item(s string) bool {
	s = strings.TrimLeft(s, " \t")
	if len(s) > 1 && strings.ContainsRune("-*+", rune(s[0])) && s[1] == ' ' {
		return true
	}
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	return digits > 0 && digits < 10 && len(s) > digits+1 && (s[digits] == '.' || s[digits] == ')') && s[digits+1] == ' '
}

const (
	// longest is how long what is not cut in a line may be, in bytes.
	longest = 2000
	// opening are the bytes that begin such a thing.
	opening = "`![<$h"
	// maxMisses is how many of them in a paragraph may begin nothing: then it is no
	// prose that a cut could harm.
	maxMisses = 2000
)

// atom returns the length of what begins s and may not be cut, or 0.
func atom(s string) int {
	limited := s[:min(len(s), longest)]
	switch s[0] {
	case '`':
		mark := limited[:len(limited)-len(strings.TrimLeft(limited, "`"))]
		return closed(limited, len(mark), mark)
	case '!':
		if strings.HasPrefix(limited, "![") {
			if n := link(limited[1:]); n > 0 {
				return n + 1
			}
		}
	case '[':
		return link(limited)
	case '<':
		if n := strings.IndexAny(limited, "> \n"); n > 0 && limited[n] == '>' {
			return n + 1
		}
	case '$':
		if len(limited) > 1 && limited[1] != ' ' && limited[1] != '$' && (limited[1] < '0' || limited[1] > '9') {
			return closed(limited, 1, "$")
		}
	case 'h':
		if strings.HasPrefix(limited, "http://") || strings.HasPrefix(limited, "https://") {
			if n := strings.IndexFunc(limited, func(r rune) bool { return unicode.IsSpace(r) || r == ')' || r == '>' || r == '"' || r > 0x2e80 }); n > 0 {
				return n
			}
			return len(strings.ToValidUTF8(limited, ""))
		}
	}
	return 0
}

// closed returns where the mark closes behind from, in the same paragraph, or 0.
func closed(s string, from int, mark string) int {
	if i := strings.Index(s[from:], mark); i > 0 && !strings.Contains(s[from:from+i], "\n\n") {
		return from + i + len(mark)
	}
	return 0
}

// link returns the length of [text](target), [text][ref] or 0.
func link(s string) int {
	end := matching(s, '[', ']')
	if end == 0 || end == len(s) {
		return 0
	}
	switch s[end] {
	case '(':
		if n := matching(s[end:], '(', ')'); n > 0 {
			return end + n
		}
	case '[':
		if n := matching(s[end:], '[', ']'); n > 0 {
			return end + n
		}
	}
	return 0
}

// matching returns the length up to the bracket that closes the first one, or 0.
func matching(s string, open, shut byte) int {
	if strings.IndexByte(s, shut) < 0 {
		return 0
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\n':
			if i+1 < len(s) && s[i+1] == '\n' {
				return 0
			}
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
