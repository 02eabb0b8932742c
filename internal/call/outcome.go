package call

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// howToCheck says how to find out whether a call took effect whose answer was
// lost: with a tool of the same server that only reads and that speaks of the same
// thing, where there is one.
func (o *Options) howToCheck(t *tool.Tool) string {
	if o.Reader != nil {
		if name := o.Reader(t); name != "" {
			return fmt.Sprintf("Before calling it again, check that with a tool that only reads: %s of server %s may tell.", name, t.Server)
		}
	}
	return "Before calling it again, check that with a tool that only reads."
}

// brief returns a text on one line, at most 200 characters of it.
func brief(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return text
}
