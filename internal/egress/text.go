package egress

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// Plain returns foreign text fit for one line: without control characters and what
// nobody sees, and cut to at most limit characters.
func Plain(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch { // not unseen.Mark: signs as pictures stay, which Seen looks after
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return '?'
		}
		return r
	}, s)
	s, _ = answer.Seen(s) // selectors and fillers, which are no controls
	return Cut(s, limit)
}

// show returns a short foreign text for an error.
func show(s string) string { return Plain(s, 120) }

// Cut shortens s to at most limit characters.
func Cut(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
