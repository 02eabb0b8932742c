package schema

import (
	"bytes"
	"slices"
)

// Limits of mending.
const (
	maxRepairs    = 16
	maxFaults     = 64 // more of them are no slip of the pen
	maxCandidates = 64 // tried for one call
)

// A mender tries out repairs. Each is an edit of the text, after which all is
// parsed and checked anew: what counts is what the schema says of the whole.
type mender struct {
	schema  *Schema
	eval    *evaluation
	text    []byte
	value   *value
	faults  []fault
	repairs []string
	tried   int
}

// An edit puts with in the place of text[start:end].
type edit struct {
	start, end int
	with       []byte
}

// A candidate is one reading of what breaks a rule.
type candidate struct {
	edits []edit
	notes []string
}

// mend repairs one fault after the other, as long as one of them leaves one
// reading. Where some are left in the end, the arguments are not fit to be sent.
func (m *mender) mend() {
	for len(m.faults) > 0 && len(m.faults) <= maxFaults && len(m.repairs) < maxRepairs {
		if !slices.ContainsFunc(m.faults, m.repair) {
			return
		}
	}
}

// A reading is what a candidate leads to.
type reading struct {
	candidate
	text   []byte
	value  *value
	faults []fault
}

// repair mends one fault, where exactly one candidate does, and reports whether
// it did. A candidate that mends it whole comes before those that lead to faults
// further inside: these may be mended next.
func (m *mender) repair(f fault) bool {
	var whole, partly []reading
	for _, c := range m.candidates(&f) {
		r, ok := m.try(c)
		if !ok {
			return false
		}
		list := &partly
		switch m.judge(&f, r) {
		case mendsNothing:
			continue
		case mendsWhole:
			list = &whole
		case mendsPartly:
		}
		if !slices.ContainsFunc(*list, func(o reading) bool { return bytes.Equal(o.text, r.text) }) {
			*list = append(*list, r)
		}
	}
	if len(whole) == 0 {
		whole = partly
	}
	if len(whole) != 1 {
		return false
	}
	r := whole[0]
	m.text, m.value, m.faults = r.text, r.value, r.faults
	m.repairs = append(m.repairs, r.notes...)
	return true
}

// try applies a candidate. It reports false when enough has been tried.
func (m *mender) try(c candidate) (reading, bool) {
	m.tried++
	if m.tried > maxCandidates {
		return reading{}, false
	}
	r := reading{candidate: c, text: apply(m.text, c.edits)}
	v, err := parse(r.text)
	if err != nil || len(r.text) > maxMended {
		return reading{}, false
	}
	r.value = v
	r.faults = m.eval.root(m.schema.root, v)
	return r, !m.eval.over
}

// apply returns text with edits, which must not overlap.
func apply(text []byte, edits []edit) []byte {
	edits = slices.SortedFunc(slices.Values(edits), func(a, b edit) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		if e.start < at {
			continue // the same place twice: the first one counts
		}
		out = append(append(out, text[at:e.start]...), e.with...)
		at = e.end
	}
	return append(out, text[at:]...)
}

type verdict uint8

const (
	mendsNothing verdict = iota
	mendsPartly          // the fault is gone, and others have come to light within
	mendsWhole           // the fault is gone, and no other has come
)

func (m *mender) judge(f *fault, r reading) verdict {
	before := make(map[string]bool, len(m.faults))
	for i := range m.faults {
		before[m.faults[i].id()] = true
	}
	out := mendsWhole
	for i := range r.faults {
		g := &r.faults[i]
		switch id := g.id(); {
		case id == f.id():
			return mendsNothing
		case before[id]:
		case isWithin(g.path, f.path):
			out = mendsPartly
		default:
			return mendsNothing
		}
	}
	return out
}

// isWithin reports whether the value at path stands within that at outer.
func isWithin(path, outer []string) bool {
	return len(path) > len(outer) && slices.Equal(path[:len(outer)], outer)
}
