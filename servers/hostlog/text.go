package hostlog

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/internal/unseen"
)

// plain returns foreign text fit for one line of an answer.
func plain(s string, limit int) string {
	return cut(strings.Join(strings.Fields(clean(s, 4*limit+64)), " "), limit)
}

// clean returns foreign text without escape sequences and control characters; line
// breaks and tabs stay. Of a long text only the beginning is looked at.
func clean(s string, bytes int) string {
	if len(s) > bytes {
		s = s[:bytes]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
	}
	s = strings.ToValidUTF8(s, "?")
	s = cmdmask.WithoutEscapes(s)
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\t':
			return r
		case '\r':
			return -1
		}
		return unseen.Mark(r)
	}, s)
}

// shown returns the text of an entry as an answer has it: clean, cut, and masked.
func shown(s string, limit int) string {
	return cut(strings.TrimRight(cmdmask.Text(clean(s, 4*limit+4096)), "\n\t "), limit)
}

// cut shortens s to at most limit characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == limit {
			if utf8.RuneCountInString(s[i:]) == 1 {
				return s
			}
			return s[:i] + "…"
		}
	}
	return s
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// size prints bytes in the unit that fits, of powers of 1024.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// stamp prints a time; zero is nothing.
func (s *server) stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(s.zone).Format("2006-01-02T15:04:05.000Z07:00")
}

// cell is a text within a row of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// notes prints what is to be said beside an answer.
func notes(list []string) string {
	var b strings.Builder
	for _, n := range list {
		b.WriteString("\nNote: " + n + "\n")
	}
	return b.String()
}

func clamp(n, fallback, high int) int {
	if n == 0 {
		n = fallback
	}
	return min(max(n, 1), high)
}
