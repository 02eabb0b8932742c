package winlog

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/unseen"
	"github.com/tenon-mcp/tenon/servers/winlog/evtx"
)

var errNoLogs = errors.New("there are no Windows event logs here: this machine is no Windows, and no folder of .evtx files is configured. " +
	"The operator sets the option dir of the server winlog, or WINLOG_DIR in env: of its entry (or in the environment of tenon server winlog)")

// plain returns foreign text fit for one line of an answer: without control characters
// and what reorders or hides text, cut to limit characters.
func plain(s string, limit int) string {
	var b strings.Builder
	n, space := 0, true
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			if space {
				continue
			}
			r = ' '
		default:
			if r = unseen.Mark(r); r < 0 {
				continue
			}
		}
		space = r == ' '
		if n == limit {
			return strings.TrimSpace(b.String()) + "…"
		}
		b.WriteRune(r)
		n++
	}
	return strings.TrimSpace(b.String())
}

// raw returns foreign text as data: whole, but for control characters and its length.
func raw(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\t':
			return r
		case '\r':
			return -1
		}
		return unseen.Mark(r)
	}, s)
	if utf8.RuneCountInString(s) > limit {
		return string([]rune(s)[:limit]) + "…"
	}
	return s
}

// fit returns an answer that has room in limit characters.
func fit(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	const end = "\n… (cut here; narrow the question, or see the structured content)\n"
	r := []rune(s)[:limit-utf8.RuneCountInString(end)]
	i := len(r)
	for i > len(r)/2 && r[i-1] != '\n' {
		i--
	}
	return string(r[:i]) + end
}

// quoted returns a text of a call for an error.
func quoted(s string) string { return `"` + plain(s, 80) + `"` }

// shown is a cell of a table.
func shown(s string, limit int) string { return strings.ReplaceAll(plain(s, limit), "|", `\|`) }

// damageOf returns what is wrong with a file, if anything is.
func damageOf(file string, r *evtx.Report) (damage, bool) {
	if !r.Damaged() && r.BadChecksums == 0 && len(r.Problems) == 0 {
		return damage{}, false
	}
	const most = 5
	short := *r
	short.Problems = r.Problems[:min(len(r.Problems), most)]
	short.More += len(r.Problems) - len(short.Problems)
	return damage{plain(file, 200), plain(short.String(), 600), r.Damaged()}, true
}

// unread is a file that could not be read at all.
func unread(file string, err error) damage {
	return damage{plain(file, 200), "cannot be read: " + plain(err.Error(), 200), true}
}

// damageLines returns what is told of damages; an answer has no room for all of many.
func damageLines(list []damage) []string {
	const most = 5
	var lines []string
	for i, d := range list {
		if i == most {
			return append(lines, fmt.Sprintf("%d more files are damaged", len(list)-most))
		}
		lines = append(lines, d.String())
	}
	return lines
}

// writeDamages tells what of the files could not be read.
func writeDamages(b *strings.Builder, list []string) {
	for _, d := range list {
		b.WriteString("\nDamage: " + d + ".\n")
	}
}

func writeNotes(b *strings.Builder, notes []string) {
	for _, n := range notes {
		b.WriteString("\nNote: " + n + "\n")
	}
}
