package system

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table returns a Markdown table of at most limit characters: as many rows as
// fit, and a line that says how many did not.
func table(head []string, rows [][]string, limit int) string {
	const reserve = 80 // for the line about the rows left out
	var b strings.Builder
	line(&b, head)
	b.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	used := utf8.RuneCountInString(b.String())
	for i, row := range rows {
		var r strings.Builder
		line(&r, row)
		n := utf8.RuneCountInString(r.String())
		if used+n > limit-reserve {
			fmt.Fprintf(&b, "\n%d more rows were left out to keep the answer short.\n", len(rows)-i)
			break
		}
		used += n
		b.WriteString(r.String())
	}
	return b.String()
}

func line(b *strings.Builder, cells []string) {
	for _, c := range cells {
		b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}

// plain returns s fit for one line of an answer: without control characters,
// which a foreign name may hold, and cut in its middle to at most limit
// characters, so that both ends of a path can still be read.
func plain(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '?'
		}
		return r
	}, s)
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	half := (limit - 1) / 2
	return string(r[:half]) + "…" + string(r[len(r)-(limit-1-half):])
}

const gib = 1 << 30

// gb prints bytes as gigabytes of 1024³ with two decimals.
func gb(n uint64) string { return fmt.Sprintf("%.2f GB", float64(n)/gib) }

// size prints bytes in the unit that fits, of powers of 1024.
func size(n uint64) string {
	switch {
	case n >= gib:
		return gb(n)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// clamp brings n to between 1 and high.
func clamp(n, high int) int { return min(max(n, 1), high) }
