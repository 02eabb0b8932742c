package dnstrace

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Told is a step as it is told.
type Told struct {
	Zone      string  `json:"zone" jsonschema:"zone whose server was asked"`
	Server    string  `json:"server" jsonschema:"name of that server"`
	Address   string  `json:"address,omitempty" jsonschema:"its address, where it was asked"`
	Says      string  `json:"says" jsonschema:"what it said, or why it did not"`
	ElapsedMS float64 `json:"elapsed_ms" jsonschema:"how long it took"`
	Failed    bool    `json:"failed,omitempty" jsonschema:"it was of no use, and another server of the zone was asked"`
}

// A Report is a trace as it is told.
type Report struct {
	Steps []Told `json:"steps" jsonschema:"the questions, from the root down"`
	End   string `json:"end" jsonschema:"what it comes to, a sentence"`
}

// Text prints the steps within a bound.
func (t *Report) Text(limit int) string {
	var b strings.Builder
	used := 0
	for i, s := range t.Steps {
		at := ""
		if s.Address != "" {
			at = " (" + s.Address + ")"
		}
		l := fmt.Sprintf("%d. %s at %s%s: %s, %.1f ms\n", i+1, s.Zone, s.Server, at, s.Says, s.ElapsedMS)
		if used += utf8.RuneCountInString(l); used > limit {
			fmt.Fprintf(&b, "%d more steps are in the structured answer\n", len(t.Steps)-i)
			break
		}
		b.WriteString(l)
	}
	return b.String()
}
