package definitions

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

// characters looks for what is in a text and cannot be seen.
func (l *look) characters(place, s string) {
	control := -1
	ascii := true
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			ascii = false
			break
		}
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			control = i
			break
		}
	}
	if control >= 0 {
		l.control(place, s, control)
		return
	}
	if !ascii {
		l.unseen(place, s)
	}
}

func (l *look) control(place, s string, at int) {
	if s[at] == 0x1b {
		l.add(High, "terminal-escape", place, around(s, at, at+1), "a sequence that controls terminals hides or changes what a person sees")
		return
	}
	l.add(Warn, "invisible", place, around(s, at, at+1), fmt.Sprintf("the control character %U has no place in a text", rune(s[at])))
}

// unseen looks for invisible characters, and says what they spell.
func (l *look) unseen(place, s string) {
	var spelled []byte // by tags or variation selectors
	first, count, worst := -1, 0, Info
	rs := []rune(s)
	at := 0
	for i, r := range rs {
		size := utf8.RuneLen(r)
		if invisible(r) && !harmless(rs, i) {
			if first < 0 {
				first = at
			}
			count++
			switch {
			case r >= 0xe0000 && r <= 0xe007f:
				worst = High
				if r >= 0xe0020 {
					spelled = append(spelled, byte(r-0xe0000))
				}
			case r >= 0xe0100 && r <= 0xe01ef:
				worst = High
				spelled = append(spelled, byte(r-0xe0100+16))
			case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
				worst = High
			case worst == Info && r != 0x200b && r != 0x200c && r != 0x200d && r != 0xfeff && r != 0xad:
				worst = Warn
			}
		}
		at += size
	}
	if count == 0 {
		return
	}
	switch { // a few that break lines come with copied pages
	case count >= 8:
		worst = High
	case count > 3 && worst == Info:
		worst = Warn
	}
	why := fmt.Sprintf("%d characters that nobody sees, and a model reads", count)
	if text := strings.TrimSpace(strings.ToValidUTF8(string(spelled), "")); len(text) > 3 {
		why += fmt.Sprintf(": they spell %q", clip(Show(text, false), maxExcerpt))
	}
	l.add(worst, "invisible", place, around(s, first, first+1), why)
}

// invisible reports whether nobody sees a character. What parts words and lines is no
// secret.
func invisible(r rune) bool { return r != '\n' && r != '\t' && r != '\r' && unseen.Is(r) }

// harmless reports whether an invisible character stands where writing needs it.
func harmless(rs []rune, i int) bool {
	before, after := rune(0), rune(0)
	if i > 0 {
		before = rs[i-1]
	}
	if i+1 < len(rs) {
		after = rs[i+1]
	}
	switch r := rs[i]; {
	case r == 0xfeff:
		return i == 0
	case r == 0x200d || r == 0x200c: // joiners, within emoji and in scripts that join
		return joins(before) && joins(after) || r == 0x200d && pictured(before) && pictured(after)
	case r == 0x200e || r == 0x200f || r == 0x061c: // marks of direction beside letters that go the other way
		return rightToLeft(before) || rightToLeft(after) || near(rs, i, rightToLeft)
	case r == 0xad: // a place to break a word
		return unicode.IsLetter(before) && unicode.IsLetter(after)
	case r >= 0xe0020 && r <= 0xe007f: // a flag such as that of Scotland
		j := i
		for j > 0 && i-j < 8 && rs[j] >= 0xe0020 && rs[j] <= 0xe007f {
			j--
		}
		return rs[j] == 0x1f3f4
	case r == 0xfe0e || r == 0xfe0f: // a sign as text, or as a picture
		return before > 0x2000 && !invisible(before) || strings.ContainsRune("#*0123456789©®", before)
	case r >= 0xfe00 && r <= 0xfe0f: // another shape of the character before
		return before > 0x2000 && !invisible(before)
	case r >= 0xe0100 && r <= 0xe01ef:
		return unicode.Is(unicode.Han, before)
	case r >= 0x600 && r <= 0x605, r == 0x6dd: // signs of Arabic numbers
		return true
	}
	return false
}

func joins(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
		unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Mongolian, unicode.Syriac)
}

func pictured(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2190 && r <= 0x2bff || r == 0xfe0f || r >= 0x1f3fb && r <= 0x1f3ff
}

func rightToLeft(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Hebrew, unicode.Syriac, unicode.Thaana)
}

// near reports whether one of the characters beside a place is such.
func near(rs []rune, i int, is func(rune) bool) bool {
	for j := max(0, i-4); j < min(len(rs), i+5); j++ {
		if is(rs[j]) {
			return true
		}
	}
	return false
}

// around returns the part of a text with something in it and what stands beside it.
func around(s string, start, end int) string {
	const beside = 50
	from, to := max(0, start-beside), min(len(s), max(end, start)+beside)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	out := s[from:to]
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}

// lookalikes are letters of other scripts that look like ASCII ones.
var lookalikes = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'н': 'h',
	'о': 'o', 'р': 'p', 'ԛ': 'q', 'ѕ': 's', 'т': 't', 'у': 'y', 'ѵ': 'v', 'ԝ': 'w', 'х': 'x', 'ё': 'e', 'ї': 'i',
	'α': 'a', 'ο': 'o', 'ν': 'v', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'ι': 'i', 'κ': 'k', 'ϲ': 'c', 'ε': 'e', 'η': 'n', 'χ': 'x',
	'ı': 'i', 'ɡ': 'g', 'ɑ': 'a', 'ℓ': 'l', 'օ': 'o', 'ո': 'n', 'ս': 'u', 'հ': 'h',
}

// plain maps an accented or wide letter to the ASCII one under it.
func plain(r rune) rune {
	switch {
	case r < 0x80:
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	case r >= 0xff01 && r <= 0xff5e: // wide forms
		return plain(r - 0xfee0)
	case r >= 0x1d400 && r <= 0x1d6a3: // mathematical letters, in alphabets of 52
		n := (r - 0x1d400) % 52
		return 'a' + n%26
	}
	r = unicode.ToLower(r)
	const accents, under = "àáâãäåāăąçćčďđèéêëēěęìíîïłñńňòóôõöøōřśšßťùúûüūůýÿžźż", "aaaaaaaaacccddeeeeeeeiiiilnnnooooooorssstuuuuuuyyzzz"
	if r < 0x180 {
		if i := strings.IndexRune(accents, r); i >= 0 {
			return rune(under[utf8.RuneCountInString(accents[:i])])
		}
	}
	return r
}

// distinct reports whether a tool's name is no ordinary word, so that a text that
// has it means the tool.
func distinct(name string) bool {
	if len(name) < 6 {
		return false
	}
	for i := 1; i < len(name)-1; i++ {
		c := name[i]
		if c == '_' || c == '-' || c >= 'A' && c <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z' {
			return true
		}
	}
	return false
}

// skeleton returns a name as it looks at a glance.
func skeleton(name string) string {
	var b strings.Builder
	for _, r := range name {
		r = plain(r)
		if to, ok := lookalikes[r]; ok {
			r = to
		}
		switch r {
		case '0':
			r = 'o'
		case '1', 'i', '|', '!':
			r = 'l'
		case '5', '$':
			r = 's'
		}
		if !invisible(r) {
			b.WriteRune(r)
		}
	}
	return strings.NewReplacer("rn", "m", "vv", "w").Replace(b.String())
}

// name looks at the name of a tool: does it imitate another one's?
func (l *look) name(name string) {
	l.parameter("/name", name)
	for _, other := range l.skeletons[skeleton(name)] {
		if other.server != l.server && other.name != name && !strings.EqualFold(other.name, name) {
			l.add(High, "lookalike", "/name", name, fmt.Sprintf("it looks like %s of the server %s, and is another name", Show(other.name, false), other.server))
			return
		}
	}
	if mixed(name) {
		l.add(Warn, "lookalike", "/name", name, "it mixes letters of several scripts that look alike")
	}
}

// mixed reports whether a word has Latin letters beside lookalikes of another script.
func mixed(w string) bool {
	latin, other := false, false
	for _, r := range w {
		if r < 0x80 {
			latin = latin || unicode.IsLetter(r)
			continue
		}
		if _, ok := lookalikes[unicode.ToLower(r)]; ok && !unicode.Is(unicode.Latin, r) {
			other = true
		}
	}
	return latin && other
}
