package argglob

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

// ends are what a part of a path, of an address or of an option can end with, and what
// looks like it: some program replaces it by that.
const ends = `/\?#;:=&` + "∕⁄⧸╱⟋∖⧵⧹╲⟍¥￥₩￦"

// climbs reports whether a text that is a path leaves the folder that it names, as it
// stands or once its escapes are read, however some program reads them.
func climbs(text string) bool {
	all, ok := readings(text)
	for _, r := range all {
		for s := range strings.FieldsFuncSeq(r, isEnd) {
			if isUp(s) {
				return true
			}
		}
	}
	return !ok
}

// readings returns a text as it stands, and as it is once its escapes are read, and once
// more: each time by programs that keep bytes apart that are no character, and by those
// that do not. It is not ok where it is escaped more often than anybody does by chance.
func readings(text string) (all []string, ok bool) {
	all = []string{text}
	for range 3 {
		plain := unescape(text)
		if plain == text {
			return all, true
		}
		all = append(all, strings.ToValidUTF8(string(percent(text)), string(utf8.RuneError)), plain)
		text = plain
	}
	return all, false
}

func isEnd(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(ends, r) }

// isUp reports whether a part of a path is two dots, or what some program takes for them.
func isUp(s string) bool {
	if !strings.Contains(s, ".") {
		return false
	}
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unseen.Is(r) || unicode.In(r, unicode.Mn, unicode.Me) {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s) == ".." || strings.HasPrefix(s, "..") && strings.Trim(s, ". +") == ""
}

// unescape reads %2e and %u002e, and what is no ASCII where some program puts ASCII in
// its place: full width, a leader of two dots, bytes that are longer than they may be.
func unescape(text string) string {
	b := percent(text)
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			r, size = overlong(b)
		}
		b = b[size:]
		switch {
		case r < utf8.RuneSelf:
			out.WriteByte(byte(r))
		case r == '。' || r == '｡': // within names of hosts they are dots
			out.WriteByte('.')
		default:
			out.WriteString(ascii(r))
		}
	}
	return out.String()
}

// percent reads the escapes of addresses, also those of browsers of old.
func percent(text string) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out = append(out, text[i])
			continue
		}
		if n, ok := hex(text, i+1, 2); ok {
			out = append(out, byte(n))
			i += 2
		} else if n, ok := hex(text, i+2, 4); ok && (text[i+1] == 'u' || text[i+1] == 'U') {
			out = utf8.AppendRune(out, n)
			i += 5
		} else {
			out = append(out, '%')
		}
	}
	return out
}

func hex(s string, i, digits int) (rune, bool) {
	if i+digits > len(s) {
		return 0, false
	}
	n := rune(0)
	for _, c := range []byte(s[i : i+digits]) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// overlong reads a character that is written in more bytes than it needs, as programs do
// that do not look: %c0%ae is a dot for them, and so is %c0%2e.
func overlong(b []byte) (rune, int) {
	more, lead := 0, b[0]
	for lead&0x40 != 0 && b[0] >= 0xc0 && more < 5 {
		more++
		lead <<= 1
	}
	if more == 0 || len(b) <= more {
		return utf8.RuneError, 1
	}
	r := rune(b[0]) & (0x3f >> more)
	for _, c := range b[1 : 1+more] {
		if c&0xc0 != 0x80 && b[0] > 0xc1 {
			return utf8.RuneError, 1
		}
		r = r<<6 | rune(c&0x3f)
	}
	if r < 0 || r > unicode.MaxRune {
		return utf8.RuneError, 1
	}
	return r, 1 + more
}

// Plain returns a text as programs read it that put ASCII in the place of what stands for
// it, such as letters and signs in full width.
func Plain(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		out.WriteString(ascii(r))
	}
	return out.String()
}

// ascii returns what stands for a character in texts without its like, where that is
// ASCII, and else the character.
func ascii(r rune) string {
	s := string(r)
	to := norm.NFKC.PropertiesString(s).Decomposition()
	for _, c := range to {
		if c >= utf8.RuneSelf {
			return s
		}
	}
	if len(to) == 0 {
		return s
	}
	return string(to)
}
