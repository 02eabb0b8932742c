package kubernetes

import (
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/cmdmask"
)

// told returns what somebody wrote for people (a message, a line of a log) fit for
// an answer: without secrets, on one line.
func told(s string, limit int) string {
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	return answer.Line(cmdmask.Text(s), limit)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// age returns how long ago a time was, in two units at most.
func age(now, t time.Time) string {
	d := max(now.Sub(t), 0)
	switch {
	case t.IsZero():
		return "-"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
}

func clamp(n, low, high int) int { return min(max(n, low), high) }
