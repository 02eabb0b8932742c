package cmdmask

import (
	"strings"
	"unicode/utf8"
)

// WithoutEscapes returns s without the sequences that color terminals and move
// cursors, also where a log has written them out (\u001b[31m, \x1b[31m, #033[31m,
// ^[[31m). A name and its value are one text only without them.
func WithoutEscapes(s string) string {
	if strings.IndexByte(s, 0x1b) >= 0 || strings.Contains(s, "\u009b") {
		s = withoutEscapes(strings.ReplaceAll(s, "\u009b", "\x1b["))
	}
	if strings.Contains(s, "b[") || strings.Contains(s, "B[") || strings.Contains(s, "33[") || strings.Contains(s, "^[[") || strings.Contains(s, `\e[`) {
		s = withoutWritten(s)
	}
	return s
}

func withoutEscapes(s string) string {
	var b strings.Builder
	for {
		text, rest, ok := strings.Cut(s, "\x1b")
		b.WriteString(text)
		if !ok {
			return b.String()
		}
		s = rest
		switch {
		case strings.HasPrefix(rest, "["):
			i := 1
			for i < len(rest) && rest[i] >= ' ' && rest[i] <= '?' {
				i++
			}
			if i < len(rest) && rest[i] >= '@' && rest[i] <= '~' {
				i++
			}
			s = rest[i:]
		case strings.HasPrefix(rest, "]"): // a title, or a link; it ends with a bell or an escape
			if i := strings.IndexAny(rest, "\a\x1b"); i >= 0 && rest[i] == '\a' {
				s = rest[i+1:]
			} else if i >= 0 {
				s = strings.TrimPrefix(rest[i+1:], "\\")
			} else {
				return b.String()
			}
		case rest != "":
			_, n := utf8.DecodeRuneInString(rest)
			s = rest[n:]
		}
	}
}

// written are the ways in which logs write the escape sign out, and the bracket.
var written = []string{`\u001b[`, `\u001B[`, `\x1b[`, `\x1B[`, `\033[`, `#033[`, `\e[`, `^[[`}

func withoutWritten(s string) string {
	var b strings.Builder
	done := 0
next:
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' && s[i] != '#' && s[i] != '^' {
			continue
		}
		for _, w := range written {
			if !strings.HasPrefix(s[i:], w) {
				continue
			}
			j := i + len(w)
			for j < len(s) && j < i+40 && (s[j] >= '0' && s[j] <= '9' || s[j] == ';' || s[j] == '?') {
				j++
			}
			if j < len(s) && (s[j] >= 'A' && s[j] <= 'Z' || s[j] >= 'a' && s[j] <= 'z') {
				b.WriteString(s[done:i])
				done, i = j+1, j
				continue next
			}
		}
	}
	return b.String() + s[done:]
}
