package redact

import (
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// A text is what is searched, with its bytes by offset, whatever piece they are in.
type text struct {
	pieces tool.Bytes
	i, lo  int    // the piece that was read last, and its offset
	hidden int    // up to here a form has hidden all
	more   []span // beside the one that a form has returned
	// wordEnd is where the word ends that a value was looked for in last, and looks how
	// often that was.
	wordEnd, looks int
}

// none is the byte outside of the text.
const none = -1

// at returns the byte at an offset, or none.
func (t *text) at(i int) int {
	for t.i < len(t.pieces) {
		p := t.pieces[t.i]
		switch {
		case i < t.lo:
			if t.i == 0 {
				return none
			}
			t.i--
			t.lo -= len(t.pieces[t.i])
		case i < t.lo+len(p):
			return int(p[i-t.lo])
		case t.i+1 < len(t.pieces):
			t.lo += len(p)
			t.i++
		default:
			return none
		}
	}
	return none
}

// has reports whether s stands at an offset.
func (t *text) has(i int, s string) bool {
	for j := range len(s) {
		if t.at(i+j) != int(s[j]) {
			return false
		}
	}
	return true
}

// slice returns a copy of a short part.
func (t *text) slice(i, j int) string {
	var b strings.Builder
	for ; i < j; i++ {
		if c := t.at(i); c != none {
			b.WriteByte(byte(c))
		}
	}
	return b.String()
}

// run returns where the bytes of a set end that begin at i, at most so many.
func (t *text) run(i, most int, in func(int) bool) int {
	for end := i + most; i < end && in(t.at(i)); i++ {
	}
	return i
}

// begins reports whether a word can begin at i: the byte before it is no part of
// one. That of an escape such as \n or %3D is none.
func (t *text) begins(i int) bool {
	c := t.at(i - 1)
	switch {
	case !isWord(c):
		return true
	case t.at(i-2) == '\\' && strings.ContainsRune("nrtbf", rune(c)):
		return true
	case isHex(c) && t.at(i-3) == '%':
		return true
	}
	return isHex(c) && t.at(i-6) == '\\' && t.at(i-5) == 'u'
}

func isDigit(c int) bool { return c >= '0' && c <= '9' }
func isUpper(c int) bool { return c >= 'A' && c <= 'Z' }
func isLower(c int) bool { return c >= 'a' && c <= 'z' }
func isAlnum(c int) bool { return isDigit(c) || isUpper(c) || isLower(c) }
func isWord(c int) bool  { return isAlnum(c) || c == '_' }
func isHex(c int) bool   { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// isURL64 reports whether base64 for addresses has the byte.
func isURL64(c int) bool { return isWord(c) || c == '-' }

// is64 reports whether base64 has the byte.
func is64(c int) bool { return isAlnum(c) || c == '+' || c == '/' }
