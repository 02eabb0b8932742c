package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/terms"
	"github.com/tenon-mcp/tenon/tool"
)

// minLikeness is the least likeness of a name that is worth telling a model.
const minLikeness = 0.5

// NearServers returns at most n names of servers that are like name, most alike
// first.
func (s *Snapshot) NearServers(name string, n int) []string {
	l := newLikeness(name)
	var near []candidate[string]
	for i, p := range s.parts {
		if score := l.of(p.words); score >= minLikeness {
			near = append(near, candidate[string]{p.server, i, score})
		}
	}
	return nearest(near, n)
}

// NearTools returns at most n tools whose names are like name, most alike first.
// Of two names that are equally alike, the one whose server is more like the
// server given comes first; an empty server prefers none.
func (s *Snapshot) NearTools(server, name string, n int) []tool.ID {
	l := newLikeness(name)
	servers := newLikeness(server)
	var near []candidate[tool.ID]
	place := 0
	for _, p := range s.parts {
		bonus := 0.0
		if p.server == server {
			bonus = 0.2
		} else if server != "" {
			bonus = 0.1 * servers.of(p.words)
		}
		for i := range p.tools {
			place++
			if score := l.of(p.folded[i]); score >= minLikeness {
				near = append(near, candidate[tool.ID]{p.tools[i].ID, place, score + bonus})
			}
		}
	}
	return nearest(near, n)
}

type candidate[T any] struct {
	what  T
	place int // in the order of the configuration, which decides between equals
	score float64
}

func nearest[T any](near []candidate[T], n int) []T {
	slices.SortFunc(near, func(a, b candidate[T]) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.place, b.place))
	})
	near = near[:min(len(near), max(n, 0))]
	out := make([]T, len(near))
	for i, c := range near {
		out[i] = c.what
	}
	return out
}

// A likeness compares folded names with one name.
type likeness struct {
	words   []string
	letters int
	// at has, for each byte, a bit for each place in the name where it stands.
	at [256]uint64
}

// maxLetters bounds how much of a name is compared: one bit each in a word of
// the machine.
const maxLetters = 64

func newLikeness(name string) *likeness {
	l := &likeness{words: strings.Fields(terms.Fold(clip(name)))}
	for _, w := range l.words {
		for i := 0; i < len(w) && l.letters < maxLetters; i++ {
			l.at[w[i]] |= 1 << l.letters
			l.letters++
		}
	}
	return l
}

// of returns how alike the folded name is, from 0 to 1 (the same letters in the
// same order). Either spelling or whole words may tell: calendar_list and
// list_calendars have little else in common.
func (l *likeness) of(folded string) float64 {
	if l.letters == 0 || folded == "" {
		return 0
	}
	shared, words := 0, 0
	for w := range strings.SplitSeq(folded, " ") {
		words++
		if slices.Contains(l.words, w) {
			shared++
		}
	}
	byWord := 0.9 * 2 * float64(shared) / float64(words+len(l.words))
	return max(byWord, l.bySpelling(folded))
}

// bySpelling counts the edits between the two names, spaces left out, with the
// bit-parallel algorithm of G. Myers, "A fast bit-vector algorithm for
// approximate string matching based on dynamic programming" (1999): a column of
// the table of edit distances is one step, so that 5,000 names cost well under a
// millisecond.
func (l *likeness) bySpelling(folded string) float64 {
	distance, letters := l.letters, 0
	last := uint64(1) << (l.letters - 1)
	up, down := ^uint64(0), uint64(0) // where the column rises and falls by one
	for i := 0; i < len(folded) && letters < maxLetters; i++ {
		if folded[i] == ' ' {
			continue
		}
		letters++
		eq := l.at[folded[i]]
		diagonal := (((eq & up) + up) ^ up) | eq | down
		right := down | ^(diagonal | up)
		left := up & diagonal
		if right&last != 0 {
			distance++
		} else if left&last != 0 {
			distance--
		}
		right, left = right<<1|1, left<<1
		up = left | ^(diagonal | right)
		down = right & diagonal
	}
	return 1 - float64(distance)/float64(max(l.letters, letters))
}
