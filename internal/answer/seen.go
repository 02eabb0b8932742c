package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Seen returns foreign text without the characters that nobody sees, but a model reads:
// controls, tags, what turns text around, marks of no width. It returns their number
// too, of which soft hyphens and the signs of formulas are none. Line ends and tabs stay, joiners where a script or a
// picture needs one, and what parts lines or paragraphs becomes a space.
func Seen(s string) (text string, hidden int) {
	var e Eye
	text = e.Seen(s)
	return text, e.Hidden
}

// An Eye is Seen for a text that comes in pieces.
type Eye struct {
	Hidden int // so far
	last   rune
}

// Seen returns what is seen of the next piece.
func (e *Eye) Seen(s string) string {
	if s == "" {
		return s
	}
	at := suspect(s)
	if at < 0 {
		e.last, _ = utf8.DecodeLastRuneInString(s)
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	b.WriteString(s[:at])
	if at > 0 {
		e.last, _ = utf8.DecodeLastRuneInString(s[:at])
	}
	for _, r := range s[at:] {
		switch {
		case r == 0x85 || r == 0x2028 || r == 0x2029:
			r = ' '
		case hides(r) && !e.needed(r):
			if r != 0xad && (r < 0x2061 || r > 0x2064) {
				e.Hidden++
			}
			continue
		}
		b.WriteRune(r)
		e.last = r
	}
	return b.String()
}

// suspect returns the position of the first character that may not be seen, or -1.
func suspect(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f:
			return i
		case c < utf8.RuneSelf:
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if hides(r) || r == 0x2028 || r == 0x2029 {
			return i
		}
		i += size - 1
	}
	return -1
}

// hides reports whether a character has no shape of its own. It is not unseen.Is: texts of
// documents have signs of Arabic numbers, private characters with a font of their own, and
// places for pictures, which are to stay.
func hides(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r < 0x300:
		return r < ' ' || r >= 0x7f && r <= 0x9f || r == 0xad
	case r < 0x2000:
		switch r {
		case 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180e, 0x180f:
			return true
		}
		return false
	case r < 0x3000:
		return r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f
	case r < 0x10000:
		return r == 0x3164 || r >= 0xfe00 && r <= 0xfe0f || r == 0xfeff || r == 0xffa0 || r >= 0xfff0 && r <= 0xfffb
	}
	return r >= 0x1bca0 && r <= 0x1bca3 || r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0000 && r <= 0xe0fff
}

// joined are the scripts whose letters a joiner of no width parts or joins.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mandaic, unicode.Mongolian, unicode.Phags_Pa, unicode.Adlam,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese, unicode.Javanese,
}

// needed reports whether a character without a shape means something where it stands:
// one joiner behind a letter of a script that has them, or within a picture, and the
// mark behind a sign which says that it is a picture.
func (e *Eye) needed(r rune) bool {
	switch r {
	case 0x200c:
		return unicode.In(e.last, joined...)
	case 0x200d:
		return unicode.In(e.last, joined...) || pictured(e.last) || e.last == 0xfe0f
	case 0xfe0e, 0xfe0f:
		return pictured(e.last) || e.last == '#' || e.last == '*' || e.last >= '0' && e.last <= '9'
	case 0x180b, 0x180c, 0x180d, 0x180e, 0x180f:
		return unicode.Is(unicode.Mongolian, e.last) && unicode.IsLetter(e.last)
	}
	return false
}

// pictured reports whether a character is a sign, or the colour of one's skin.
func pictured(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sm) || r >= 0x1f3fb && r <= 0x1f3ff || r == 0x203c || r == 0x2049
}
