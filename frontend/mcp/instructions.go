package mcp

import (
	"strings"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// Bounds of what the instructions of the pool say, in characters.
const (
	maxReason       = 200  // of one failed server
	maxInstructions = 2000 // of one server's own
	allInstructions = 8000 // of all of those
	maxGap          = 300  // of one thing that a client of this era does not have
	maxGaps         = 8    // of those
)

// instructions tell a model what the pool is, what of it is missing, and what its
// servers say of themselves. What a client of its era does not have is missing too.
func (h *handler) instructions(v tenon.Viewer, modern bool) string {
	var b strings.Builder
	b.WriteString("This is a pool of tool servers. Each tool is named server__tool. " +
		"When a call fails, its text says what to do next.")
	for _, st := range h.gw.Status() {
		if st.State == tool.StateFailed && (st.NextTry == nil || time.Now().Before(*st.NextTry)) { // else the next call has it tried
			b.WriteString("\nServer " + st.Name + " is not available: " + trimmed(st.Reason, maxReason))
			if st.NextTry != nil {
				b.WriteString(" (it is tried again in " + max(time.Until(*st.NextTry).Round(time.Second), time.Second).String() + "; until then use other tools)")
			}
		}
	}
	lost := h.shows.Lost(v, modern)
	for _, g := range lost[:min(len(lost), maxGaps)] {
		b.WriteString("\nOf server " + g.Server + " this client lacks something: " + trimmed(g.Text, maxGap))
	}
	left := allInstructions
	for _, said := range h.shows.Instructions(v) {
		text := trimmed(said.Text, min(maxInstructions, left))
		if left -= len([]rune(text)); text == "" || left <= 0 {
			continue
		}
		b.WriteString("\n\nServer " + said.Server + " says of itself:\n" + text)
	}
	return b.String()
}

// trimmed returns text on at most so many characters.
func trimmed(text string, most int) string {
	text = strings.TrimSpace(text)
	if r := []rune(text); len(r) > most {
		return string(r[:max(most-1, 0)]) + "…"
	}
	return text
}
