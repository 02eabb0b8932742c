package named

import (
	"fmt"
	"slices"
	"strings"
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
		if d := distance(word, k); d <= max(1, max(len(word), len(k))/3) && (least < 0 || d < least) {
			best, least = k, d
		}
	}
	return best, least >= 0
}

// distance is the number of letters to insert, remove, replace or swap with
// their neighbour (optimal string alignment).
func distance(a, b string) int {
	const most = 64
	x, y := []rune(clip(a)), []rune(clip(b))
	if len(x) > most || len(y) > most {
		return most
	}
	var rows [3][most + 2]int // the row before the last, the last, and this one
	for j := range len(y) + 1 {
		rows[1][j] = j
	}
	for i := 1; i <= len(x); i++ {
		rows[2][0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			d := min(rows[1][j]+1, rows[2][j-1]+1, rows[1][j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, rows[0][j-2]+1)
			}
			rows[2][j] = d
		}
		rows[0], rows[1] = rows[1], rows[2]
	}
	return rows[1][len(y)]
}

// clip keeps what is quoted short.
func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
