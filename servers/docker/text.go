package docker

import (
	"fmt"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

// command returns a command line with its secrets masked.
func command(args []string, limit int) string {
	if len(args) == 0 {
		return ""
	}
	args = args[:min(len(args), 200)]
	program := args[0][strings.LastIndexByte(args[0], '/')+1:]
	return answer.Line(cmdmask.Line(program, args), limit)
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

// times prints how often something happened.
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// plural prints a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
