package docker

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

// plain returns foreign text fit for one line of an answer: without control
// characters, and cut to at most limit characters.
func plain(s string, limit int) string {
	if len(s) > 8*limit { // so that a long text costs no more than it shows
		s = s[:8*limit]
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return '?'
		}
		return r
	}, s)
	return cut(s, limit)
}

// cut shortens s to at most limit characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

// command returns a command line with its secrets masked.
func command(args []string, limit int) string {
	if len(args) == 0 {
		return ""
	}
	args = args[:min(len(args), 200)]
	program := args[0][strings.LastIndexByte(args[0], '/')+1:]
	return plain(cmdmask.Line(program, args), limit)
}

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
			fmt.Fprintf(&b, "\n%d more were left out to keep the answer short.\n", len(rows)-i)
			return b.String()
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

// size prints bytes in the unit that fits, of powers of 1024.
func size[N int64 | uint64](n N) string {
	f, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if f < 1024 {
			break
		}
		f, unit = f/1024, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

// moment prints a time as the API gives it, shorter; "" for one that never was.
func moment(s string) string {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() < 1970 {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// ago prints how long ago a time was, in one unit.
func ago(t, now time.Time) string {
	d := now.Sub(t)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", max(0, int(d.Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

func clamp[N int | int64 | float64](n, low, high N) N { return min(max(n, low), high) }

// plural prints a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
