package system

import (
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

// plain returns s fit for one line of an answer: without control characters,
// which a foreign name may hold, and cut in its middle to at most limit
// characters, so that both ends of a path can still be read.
func plain(s string, limit int) string {
	s = strings.Map(unseen.Mark, s)
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
