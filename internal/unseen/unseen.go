// Package unseen tells which characters a person does not see. A text can hold as many
// of them as it likes: whoever looks at it believes that it is another one, and a
// program or a model reads them all.
//
//	unseen.Is('\u200b')          // true: it has no width
//	unseen.Is('\ufe0f')          // true: it chooses a shape for what stands before it
//	unseen.Is('\u3164')          // true: a letter that is drawn as nothing
//	unseen.Is('é')               // false
//	unseen.In("emoji ❤\ufe0f") // '\ufe0f', true
//
//	strings.Map(unseen.Mark, "a\u202eb") // "a?b": fit for an answer of one line
//
// Spaces, of whatever width, are seen as a gap and are none of them.
package unseen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Is reports whether nobody sees a character: controls, tabs and line ends included;
// what has no width, turns the direction of text, or chooses a shape for a neighbor;
// what Unicode says is to be ignored, given to a character or not; what has a place and
// no ink; and what no two programs draw alike, private characters and those that are
// none.
func Is(r rune) bool {
	switch {
	case r < 0x7f:
		return r < ' '
	case r < 0xa0:
		return true
	case r < 0x300:
		return r == 0xad
	}
	switch r {
	case 0x2800, // a cell of Braille without dots
		0xfffc,                                      // a place for something that is not there
		0x1107f, 0x16fe4, 0x1d159, 0x13441, 0x13442: // a joiner, a filler, a note without a head, two blanks
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector, unicode.Noncharacter_Code_Point)
}

// In returns the first character of a text that nobody sees.
func In(s string) (rune, bool) {
	if i := strings.IndexFunc(s, Is); i >= 0 {
		for _, r := range s[i:] {
			return r, true
		}
	}
	return 0, false
}

// Mark returns what stands in a line for a character that somebody else wrote: itself,
// or a question mark for one that nobody sees or that is none. What only chooses a shape
// for the character before it, as behind many emoji, is left out.
func Mark(r rune) rune {
	switch {
	case r == utf8.RuneError:
		return '?'
	case r < 0x7f && r >= ' ' || !Is(r):
		return r
	case unicode.Is(unicode.Variation_Selector, r):
		return -1
	}
	return '?'
}
