package named

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/spelling"
)

// Suggest returns the hint for a word that is not among the known ones: the
// nearest, or all of them.
func Suggest(word string, known []string, list string) string {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	if best, ok := Nearest(word, known); ok {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return listing(known, list)
}

// listing names the known words, the first of them where there are many.
func listing(known []string, list string) string {
	const most = 40
	if len(known) == 0 {
		return ""
	}
	more := ""
	if len(known) > most {
		known, more = known[:most], fmt.Sprintf(" and %d more", len(known)-most)
	}
	return list + ": " + strings.Join(known, ", ") + more
}

// Nearest returns the known word with the fewest letters to change, if those are
// at most a third of the longer one.
func Nearest(word string, known []string) (string, bool) {
	best, least := "", -1
	for _, k := range known {
		if d := spelling.Distance(word, k); d <= max(1, max(len(word), len(k))/3) && (least < 0 || d < least) {
			best, least = k, d
		}
	}
	return best, least >= 0
}

// clip keeps what is quoted short.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
