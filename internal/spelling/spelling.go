// Package spelling tells how far words are from each other, for hints to who has
// misspelled one.
//
//	spelling.Distance("docker_lsit", "docker_list")                          // 1: two letters have changed places
//	spelling.Nearest("node_cpu_second", metrics, 5)                          // those that are most like it
//
// Both are bounded, whatever the words are.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// most is how many letters of a word count.
const most = 128

// Distance is the number of letters to insert, remove, replace or swap with their neighbour
// that make b of a (optimal string alignment), within the first 128 letters of both.
func Distance(a, b string) int {
	x, y := letters(a), letters(b)
	var rows [3][most + 1]int // the row before the last, the last, and this one
	two, last, this := &rows[0], &rows[1], &rows[2]
	for j := range len(y) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		this[0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			d := min(last[j]+1, this[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, two[j-2]+1)
			}
			this[j] = d
		}
		two, last, this = last, this, two
	}
	return last[len(y)]
}

func letters(s string) []rune {
	r := []rune(s[:min(len(s), 4*most)])
	return r[:min(len(r), most)]
}

// longest is how long a name may be that is compared by its pairs of letters.
const longest = 253

// Nearest returns at most n of the names that are most like the wanted one, whatever their
// case, by their pairs of letters, which stand a swap of words and a slip of a letter.
func Nearest(want string, names []string, n int) []string {
	type scored struct {
		name  string
		score float64
	}
	want = strings.ToLower(want[:min(len(want), longest)])
	var found []scored
	for _, name := range names {
		if len(name) > longest {
			continue
		}
		if score := alike(want, strings.ToLower(name)); score > 0.3 {
			found = append(found, scored{name, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

// alike returns how much two names have in common, 0 to 1.
func alike(a, b string) float64 {
	if a == b {
		return 1
	}
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
