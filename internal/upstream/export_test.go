package upstream

import (
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/tool"
)

// IsRunner reports whether a command may have to download what it runs.
func IsRunner(c *proc.Command) bool { return isRunner(c) }

// Backoff returns how long to wait after so many failures.
func Backoff(failures int) time.Duration { return backoff(failures) }

// Leads returns where an event leads from a state; the same state where it means
// nothing.
func Leads(from tool.State, e string) tool.State {
	s := status{state: from}
	s.on(event(e))
	return s.state
}

// Events are the names of all events.
func Events() []string {
	var out []string
	for e := range transitions {
		out = append(out, string(e))
	}
	slices.Sort(out)
	return out
}
