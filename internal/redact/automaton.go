package redact

import "slices"

// maxAnchor is how much of what is looked for stands in the automaton. The rest
// is compared where that part was found, so its size does not grow with the
// length of the secrets.
const maxAnchor = 8

// An automaton finds many short texts at once, in one step for each byte, whatever
// the bytes are (Aho and Corasick). It does not tell upper from lower case: who
// looks closer does. It is immutable once built.
type automaton struct {
	class [256]uint32 // bytes that no text has are one class, 0
	width uint32      // number of classes
	// next holds a row for each state, and states are offsets of rows. The highest bit
	// says that something ends there.
	next []uint32
	ends map[uint32][]*rule // by state
}

const found = 1 << 31

func fold(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// newAutomaton returns the automaton for the anchors of these rules.
func newAutomaton(rules []*rule) *automaton {
	a := &automaton{width: 1}
	for _, r := range rules {
		for i := range len(r.anchor) {
			if c := fold(r.anchor[i]); a.class[c] == 0 {
				a.class[c] = a.width
				a.width++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		a.class[c] = a.class[fold(c)]
	}
	a.next = make([]uint32, a.width)
	ends := map[uint32][]*rule{}
	for _, r := range rules {
		s := uint32(0)
		for i := range len(r.anchor) {
			at := s + a.class[r.anchor[i]]
			if a.next[at] == 0 {
				a.next[at] = uint32(len(a.next))
				a.next = append(a.next, make([]uint32, a.width)...)
			}
			s = a.next[at]
		}
		ends[s] = append(ends[s], r)
	}
	a.ends = ends
	a.complete()
	return a
}

// complete fills in where to go on from each state with each byte: where the text
// that was read goes on as none does, the longest end of it that begins one.
func (a *automaton) complete() {
	fail := make([]uint32, len(a.next)/int(a.width))
	var queue []uint32
	for _, s := range a.next[:a.width] {
		if s != 0 {
			queue = append(queue, s)
		}
	}
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		back := fail[s/a.width]
		if shorter := a.ends[back]; len(shorter) > 0 {
			a.ends[s] = slices.Concat(a.ends[s], shorter)
		}
		for c := range a.width {
			switch to := a.next[s+c]; to {
			case 0:
				a.next[s+c] = a.next[back+c]
			default:
				fail[to/a.width] = a.next[back+c]
				queue = append(queue, to)
			}
		}
	}
	ending := make([]bool, len(fail))
	for s, rules := range a.ends {
		ending[s/a.width] = len(rules) > 0
	}
	for i, s := range a.next {
		if ending[s/a.width] {
			a.next[i] |= found
		}
	}
}
