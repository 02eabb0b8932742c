package schema

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A faultKind says which rule a value breaks.
type faultKind uint8

const (
	wrongType    faultKind = iota
	wrongValue             // none of enum, or not the const
	wrongLength            // of a string
	wrongPattern           // of a string
	outOfRange             // a number
	notMultiple            // a number
	wrongCount             // of items or members
	itemTwice              // uniqueItems
	lacksItem              // contains
	missing                // a member; name is its key
	unknown                // a member that nothing allows; name is its key
	wrongName              // a member whose name is not allowed; name is its key
	neverValid             // the schema is false
	noBranch               // anyOf or oneOf: branches has the faults of each
	manyBranches           // oneOf: more than one fits
	excluded               // not
)

// A fault is one rule that a value breaks.
type fault struct {
	kind     faultKind
	path     []string // of the value that breaks it; of the object for missing and unknown
	node     *node    // the schema that has the rule
	value    *value
	name     string
	branches [][]fault
}

// id tells faults of one set of arguments apart.
func (f *fault) id() string {
	return strconv.Itoa(int(f.kind)) + " " + pointer(f.path) + " " + f.name
}

// pointer returns a path as a JSON pointer.
func pointer(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(token, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// A place is where a value stands, as a list from the inside out.
type place struct {
	outer *place
	token string
}

func (p *place) path() []string {
	var path []string
	for ; p != nil; p = p.outer {
		path = append(path, p.token)
	}
	slices.Reverse(path)
	return path
}

// An evaluation checks values against nodes, within a number of steps.
type evaluation struct {
	steps int
	depth int
	over  bool // the steps did not suffice, so nothing that was found counts
}

// match reports whether a text has the pattern, as far as the steps suffice to know it.
func (e *evaluation) match(p *pattern, text string) (found, known bool) {
	if e.steps -= p.cost(len(text)); e.steps < 0 {
		e.over = true
		return false, false
	}
	return p.MatchString(text), true
}

func (e *evaluation) root(n *node, v *value) []fault { return e.node(n, v, nil, nil) }

// maxNodes bounds the nodes within each other, above all references in a circle.
const maxNodes = 2000

// node returns what is wrong with v at place at. What it looked at is marked in
// m, where that is wanted.
func (e *evaluation) node(n *node, v *value, at *place, m *marks) []fault {
	e.steps -= 1 + len(n.enum)/8
	if e.steps < 0 || e.depth > maxNodes {
		e.over = true
	}
	if e.over {
		return nil
	}
	e.depth++
	defer func() { e.depth-- }()
	r := &report{e: e, n: n, v: v, at: at, outer: m, marks: m}
	if wantsMarks(n, v) {
		r.marks = newMarks(v)
	}
	switch {
	case n.never:
		r.add(neverValid, "")
		return r.faults
	case n.types != 0 && n.types&v.kind == 0:
		r.add(wrongType, "")
		return r.faults
	case n.enum != nil && !slices.ContainsFunc(n.enum, func(x *value) bool { return equal(x, v) }):
		r.add(wrongValue, "")
		return r.faults
	}
	if n.ref != nil {
		r.same(n.ref)
	}
	switch v.kind &^ integer {
	case str:
		r.text(n.text)
	case number:
		r.number(n.number)
	case array:
		r.array(n.array)
	case object:
		r.object(n.object)
	}
	if n.logic != nil {
		r.logic(n.logic)
	}
	r.unevaluated()
	return r.faults
}

// A report gathers the faults of one value against one node.
type report struct {
	e      *evaluation
	n      *node
	v      *value
	at     *place
	outer  *marks
	marks  *marks
	faults []fault
}

func (r *report) add(kind faultKind, name string) {
	r.faults = append(r.faults, fault{kind: kind, path: r.at.path(), node: r.n, value: r.v, name: name})
}

// same checks the value against another schema for it.
func (r *report) same(n *node) {
	r.faults = append(r.faults, r.try(n)...)
}

// try returns the faults of the value against another schema for it. Only one
// that fits marks what it looked at.
func (r *report) try(n *node) []fault {
	if r.marks == nil {
		return r.e.node(n, r.v, r.at, nil)
	}
	m := newMarks(r.v)
	faults := r.e.node(n, r.v, r.at, m)
	if len(faults) == 0 {
		r.marks.merge(m)
	}
	return faults
}

// inner checks a value within.
func (r *report) inner(n *node, v *value, token string) {
	r.faults = append(r.faults, r.e.node(n, v, &place{r.at, token}, nil)...)
}

func (r *report) text(t *textRules) {
	if t == nil {
		return
	}
	r.e.steps -= len(r.v.text) / 64
	if t.min > 0 || t.max >= 0 {
		if n := utf8.RuneCountInString(r.v.text); n < t.min || t.max >= 0 && n > t.max {
			r.add(wrongLength, "")
		}
	}
	if t.pattern != nil {
		if found, known := r.e.match(t.pattern, r.v.text); known && !found {
			r.add(wrongPattern, "")
		}
	}
}

func (r *report) number(t *numberRules) {
	if t == nil {
		return
	}
	x, ok := rat(r.v.text)
	if !ok {
		return
	}
	if !t.within(x) {
		r.add(outOfRange, "")
	}
	if t.multiple != nil && !new(big.Rat).Quo(x, t.multiple).IsInt() {
		r.add(notMultiple, "")
	}
}

func (t *numberRules) within(x *big.Rat) bool {
	if t.min != nil {
		if c := x.Cmp(t.min); c < 0 || c == 0 && t.minOpen {
			return false
		}
	}
	if t.max != nil {
		if c := x.Cmp(t.max); c > 0 || c == 0 && t.maxOpen {
			return false
		}
	}
	return true
}

func (r *report) array(t *arrayRules) {
	if t == nil {
		return
	}
	if n := len(r.v.items); n < t.min || t.max >= 0 && n > t.max {
		r.add(wrongCount, "")
	}
	if t.unique {
		r.e.steps -= len(r.v.raw) / 16
		if repeats(r.v.items) {
			r.add(itemTwice, "")
		}
	}
	for i, item := range r.v.items {
		sub := t.rest
		if i < len(t.prefix) {
			sub = t.prefix[i]
		}
		if sub != nil {
			r.inner(sub, item, strconv.Itoa(i))
			r.marks.item(i)
		}
	}
	if t.contains == nil {
		return
	}
	found := 0
	for i, item := range r.v.items {
		if len(r.e.node(t.contains, item, r.at, nil)) == 0 {
			found++
			r.marks.item(i)
		}
	}
	if found < t.minContains || t.maxContains >= 0 && found > t.maxContains {
		r.add(lacksItem, "")
	}
}

// repeats reports whether two items are equal.
func repeats(items []*value) bool {
	if len(items) < 2 {
		return false
	}
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		key := string(canonical(nil, item))
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

func (r *report) object(t *objectRules) {
	if t == nil {
		return
	}
	if n := len(r.v.members); n < t.min || t.max >= 0 && n > t.max {
		r.add(wrongCount, "")
	}
	for i := range t.list {
		if p := &t.list[i]; p.required && r.v.get(p.name) == nil {
			r.add(missing, p.name)
		}
	}
	for i := range r.v.members {
		if m := &r.v.members[i]; !r.v.twice || r.v.get(m.key) == m.value {
			r.member(t, i)
		}
	}
	for _, d := range t.dependencies {
		if r.v.get(d.key) == nil {
			continue
		}
		for _, name := range d.needs {
			if r.v.get(name) == nil {
				r.add(missing, name)
			}
		}
		if d.node != nil {
			r.same(d.node)
		}
	}
}

func (r *report) member(t *objectRules, i int) {
	m := &r.v.members[i]
	known := false
	if j := t.find(m.key); j >= 0 && t.list[j].declared {
		known = true
		r.inner(t.list[j].node, m.value, m.key)
	}
	for _, p := range t.patterns {
		if found, _ := r.e.match(p.pattern, m.key); found {
			known = true
			r.inner(p.node, m.value, m.key)
		}
	}
	switch {
	case known:
	case t.rest == nil:
	case t.rest.never:
		known = true
		r.add(unknown, m.key)
	default:
		known = true
		r.inner(t.rest, m.value, m.key)
	}
	if known {
		r.marks.member(i)
	}
	if t.names != nil && len(r.e.node(t.names, &value{kind: str, text: m.key}, nil, nil)) > 0 {
		r.add(wrongName, m.key)
	}
}

func (r *report) logic(t *logicRules) {
	for _, n := range t.all {
		r.same(n)
	}
	if t.any != nil {
		r.branches(t.any, len(t.any))
	}
	if t.one != nil {
		r.branches(t.one, 1)
	}
	if t.not != nil && len(r.e.node(t.not, r.v, r.at, nil)) == 0 {
		r.add(excluded, "")
	}
	if t.cond == nil {
		return
	}
	then := t.then
	if len(r.try(t.cond)) > 0 {
		then = t.alt
	}
	if then != nil {
		r.same(then)
	}
}

// branches checks that at least one of the schemas fits, and at most most.
func (r *report) branches(list []*node, most int) {
	var all [][]fault
	fit := 0
	for _, n := range list {
		faults := r.try(n)
		if len(faults) == 0 {
			fit++
			if most > 1 && r.marks == nil {
				return
			}
			continue
		}
		all = append(all, faults)
	}
	switch {
	case fit == 0:
		r.add(noBranch, "")
		r.faults[len(r.faults)-1].branches = all
	case fit > most:
		r.add(manyBranches, "")
	}
}
