package agent

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A found is what a tool gave, or what the model said between its calls.
type found struct {
	tool string // or nothing
	text string
}

// Found returns what there was when the work ended without an answer, in at most so many
// characters: all of it, or a like share of each piece. It is empty where there was nothing.
func (o *Outcome) Found(most int) string {
	pieces, sum := o.found, 0
	for _, f := range pieces {
		sum += utf8.RuneCountInString(f.text) + len(f.tool) + len(cutShort) + 10
	}
	share := most
	if sum > most { // the last pieces, where there are too many to say anything
		const least = 200
		pieces = pieces[max(0, len(pieces)-max(1, most/least)):]
		share = most / len(pieces)
	}
	var b strings.Builder
	for _, f := range pieces {
		head := "\n\n## The model said\n\n"
		if f.tool != "" {
			head = "\n\n## " + f.tool + "\n\n"
		}
		b.WriteString(head)
		b.WriteString(shorten(f.text, share-utf8.RuneCountInString(head)))
	}
	return strings.TrimLeft(b.String(), "\n")
}

const cutShort = "\n[cut]"

func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:max(0, most-len(cutShort))]) + cutShort
}

// Count returns a number of things: 1 call, 2 calls.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
