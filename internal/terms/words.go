package terms

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold returns name in lower-cased words with single spaces between them,
// so that list-calendars, listCalendars and list_calendars are the same.
func Fold(name string) string {
	var b strings.Builder
	for w := range Split(name) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToLower(w))
	}
	return b.String()
}

// Split yields the runs of letters and digits in s, cut where a capital
// begins a new word: fetchHTTPPage is fetch, HTTP, Page.
func Split(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1 // of the current word, or -1 between words
		var last rune
		for i, r := range s {
			switch {
			case !isWordRune(r):
				if start >= 0 && !yield(s[start:i]) {
					return
				}
				start = -1
			case start < 0:
				start = i
			case unicode.IsUpper(r) && (!unicode.IsUpper(last) || lowerFollows(s[i:])):
				if !yield(s[start:i]) {
					return
				}
				start = i
			}
			last = r
		}
		if start >= 0 {
			yield(s[start:])
		}
	}
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// lowerFollows reports whether the second rune of s is a lower-case letter that
// begins a word together with the first, as in Page. A lone s is a plural: URLs.
func lowerFollows(s string) bool {
	_, n := utf8.DecodeRuneInString(s)
	r, m := utf8.DecodeRuneInString(s[n:])
	if !unicode.IsLower(r) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[n+m:])
	return r != 's' || unicode.IsLower(next)
}

// IsCJK reports whether r belongs to a script that is written without spaces.
func IsCJK(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
