package kubernetes

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/answer"
)

// nearest returns at most n of the names that are most like the wanted one.
func nearest(want string, names []string, n int) []string {
	score := map[string]float64{}
	for _, name := range names {
		if sc := alike(want, name); sc > 0.3 && len(name) <= 253 {
			score[name] = sc
		}
	}
	found := slices.SortedFunc(maps.Keys(score), func(a, b string) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b))
	})
	return found[:min(n, len(found))]
}

// alike returns how much two names have in common, 0 to 1: pairs of letters.
func alike(a, b string) float64 {
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := map[string]int{}
	for i := range len(a) - 1 {
		pairs[a[i:i+2]]++
	}
	both := 0
	for i := range len(b) - 1 {
		if pairs[b[i:i+2]] > 0 {
			pairs[b[i:i+2]]--
			both++
		}
	}
	return 2 * float64(both) / float64(len(a)+len(b)-2)
}

// keys returns the names of what is in a map, on one line.
func keys(m map[string]any) string {
	return answer.Line(strings.Join(slices.Sorted(maps.Keys(m)), ", "), 400)
}
