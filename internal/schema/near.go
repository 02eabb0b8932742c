package schema

import (
	"slices"
	"strings"
	"unicode"
)

// How near two names are.
const (
	sameWords = 1 // they differ in case and separators alone
	oneLetter = 2 // they differ in one letter, or two that changed places
	notNear   = 3
)

// onlyNear returns the one of names that is near to name, or "" where none is or
// where several are equally near. open says that a name which differs could mean
// something else to the server, so that more of it must be alike.
func onlyNear(name string, names []string, open bool) string {
	best, found := notNear, ""
	for _, other := range names {
		d := distance(name, other, open)
		switch {
		case d < best:
			best, found = d, other
		case d == best:
			found = ""
		}
	}
	return found
}

func distance(a, b string, open bool) int {
	x, y := []rune(folded(a)), []rune(folded(b))
	if slices.Equal(x, y) {
		return sameWords
	}
	least := 4
	if open {
		least = 6
	}
	// A first letter or a number that differs makes another word: latitude and
	// altitude, address1 and address2.
	if len(x) == 0 || len(y) == 0 || x[0] != y[0] || max(len(x), len(y)) < least || digits(x) != digits(y) {
		return notNear
	}
	if within1(x, y) {
		return oneLetter
	}
	return notNear
}

// folded returns the letters and digits of a name in lower case.
func folded(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', ' ', '.':
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

func digits(name []rune) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, string(name))
}

// within1 reports whether one insertion, removal, exchange or transposition
// makes a of b.
func within1(a, b []rune) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return slices.Equal(a[i:], b[i+1:])
	}
	if i == len(a) || slices.Equal(a[i+1:], b[i+1:]) {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && slices.Equal(a[i+2:], b[i+2:])
}

// nearest returns at most n names that a model could have meant, best first.
func nearest(name string, names []string, n int) []string {
	type scored struct {
		name  string
		score int
	}
	var all []scored
	for _, other := range names {
		x, y := folded(name), folded(other)
		score := 0
		switch {
		case x == y:
			score = 4
		case within1([]rune(x), []rune(y)):
			score = 3
		case x != "" && y != "" && (strings.Contains(x, y) || strings.Contains(y, x)):
			score = 2
		case len(x) > 2 && len(y) > 2 && x[:3] == y[:3]:
			score = 1
		}
		if score > 0 {
			all = append(all, scored{other, score})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return b.score - a.score })
	var out []string
	for _, s := range all[:min(n, len(all))] {
		out = append(out, s.name)
	}
	return out
}
