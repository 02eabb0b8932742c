package policy

// nearest returns the word that is most like name, or "" where none is much like it.
func nearest(name string, words []string) string {
	best, least := "", len([]rune(name))/2+1
	for _, w := range words {
		if d := distance(clip(name), w); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is how many characters must be changed, added or removed.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		last := row[0]
		row[0] = i + 1
		for j := range y {
			change := last
			if x[i] != y[j] {
				change++
			}
			last = row[j+1]
			row[j+1] = min(change, last+1, row[j]+1)
		}
	}
	return row[len(y)]
}
