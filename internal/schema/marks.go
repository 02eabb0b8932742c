package schema

import (
	"slices"
	"strconv"
	"strings"
)

// marks are the members and items of one value that some schema has looked at,
// for unevaluatedProperties and unevaluatedItems. A nil *marks takes none.
type marks struct{ seen []bool }

// wantsMarks reports whether n asks what others have looked at in v.
func wantsMarks(n *node, v *value) bool {
	return v.kind == object && n.object != nil && n.object.unevaluated != nil ||
		v.kind == array && n.array != nil && n.array.unevaluated != nil
}

func newMarks(v *value) *marks {
	return &marks{make([]bool, max(len(v.members), len(v.items)))}
}

func (m *marks) member(i int) { m.item(i) }

func (m *marks) item(i int) {
	if m != nil {
		m.seen[i] = true
	}
}

func (m *marks) merge(other *marks) {
	if m == nil {
		return
	}
	for i, seen := range other.seen {
		m.seen[i] = m.seen[i] || seen
	}
}

// unevaluated checks what nothing has looked at.
func (r *report) unevaluated() {
	if !wantsMarks(r.n, r.v) {
		return
	}
	if r.v.kind == array {
		for i, item := range r.v.items {
			if !r.marks.seen[i] {
				r.inner(r.n.array.unevaluated, item, strconv.Itoa(i))
				r.marks.item(i)
			}
		}
	} else {
		for i, m := range r.v.members {
			switch sub := r.n.object.unevaluated; {
			case r.marks.seen[i]:
			case sub.never:
				r.add(unknown, m.key)
			default:
				r.inner(sub, m.value, m.key)
			}
			r.marks.member(i)
		}
	}
	r.outer.merge(r.marks)
}

// canonical appends a form of v that is the same for equal values.
func canonical(dst []byte, v *value) []byte {
	switch v.kind &^ integer {
	case number:
		if r, ok := rat(v.text); ok {
			return append(append(dst, '#'), r.RatString()...)
		}
		return append(append(dst, '#'), v.text...)
	case str:
		return strconv.AppendQuote(dst, v.text)
	case array:
		dst = append(dst, '[')
		for _, item := range v.items {
			dst = append(canonical(dst, item), ',')
		}
		return append(dst, ']')
	case object:
		sorted := slices.SortedFunc(slices.Values(v.members), func(a, b member) int {
			return strings.Compare(a.key, b.key)
		})
		dst = append(dst, '{')
		for _, m := range sorted {
			dst = append(strconv.AppendQuote(dst, m.key), ':')
			dst = append(canonical(dst, m.value), ',')
		}
		return append(dst, '}')
	}
	return append(dst, v.text...)
}
