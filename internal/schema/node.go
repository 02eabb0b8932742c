package schema

import (
	"math/big"
	"slices"
)

// A node is one schema within a schema. Rules that it does not have are nil. A
// value must keep all rules that are there and speak of its type.
type node struct {
	source *value // where it stands; for showing it
	never  bool   // the schema false
	types  kinds  // 0 is any
	enum   []*value
	ref    *node
	text   *textRules
	number *numberRules
	array  *arrayRules
	object *objectRules
	logic  *logicRules
	notes  annotations
	plain  bool // Accepts understands all of it
}

// annotations say nothing about validity.
type annotations struct {
	format   string
	fallback *value   // default
	examples []*value // examples
}

type textRules struct {
	min, max int // in characters; max -1 is no limit
	pattern  *pattern
}

type numberRules struct {
	min, max           *big.Rat
	minOpen, maxOpen   bool // the bound itself is not allowed
	multiple           *big.Rat
	minWhole, maxWhole int64 // the integers within, for Accepts; see wholeBounds
	whole              bool  // these two hold
}

type arrayRules struct {
	min, max                 int // items; max -1 is no limit
	unique                   bool
	prefix                   []*node
	rest                     *node // nil is any
	contains                 *node
	minContains, maxContains int // maxContains -1 is no limit
	unevaluated              *node
}

type objectRules struct {
	min, max     int // members; max -1 is no limit
	list         []property
	index        map[string]int // of list, where it is long
	patterns     []patternRule
	rest         *node // additionalProperties; nil is any
	names        *node // propertyNames
	dependencies []dependency
	unevaluated  *node
	required     [maxFastProperties / 64]uint64 // a bit for each of list
}

// maxFastProperties is how many properties Accepts keeps track of.
const maxFastProperties = 512

// A property is a name that the schema knows: declared with a schema of its own,
// or only demanded.
type property struct {
	name     string
	declared bool
	required bool
	node     *node // where declared
}

type patternRule struct {
	pattern *pattern
	node    *node
}

// A dependency holds where the object has the member key: then it must have the
// members of needs, and be valid against node.
type dependency struct {
	key   string
	needs []string
	node  *node
}

type logicRules struct {
	all, any, one        []*node
	not, cond, then, alt *node
}

// find returns the place of a property in list, or -1.
func (t *objectRules) find(name string) int {
	if t.index != nil {
		if i, ok := t.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range t.list {
		if t.list[i].name == name {
			return i
		}
	}
	return -1
}

// maxNameCost bounds the steps for the name of a member where none are counted.
const maxNameCost = 1000

// declares reports whether the schema has a schema for the member of that name
// beyond that for all others.
func (t *objectRules) declares(name string) bool {
	if i := t.find(name); i >= 0 && t.list[i].declared {
		return true
	}
	for _, p := range t.patterns {
		if p.pattern.cost(len(name)) <= maxNameCost && p.pattern.MatchString(name) {
			return true
		}
	}
	return false
}

// target follows references that stand alone.
func (n *node) target() *node {
	for range 32 {
		if n == nil || n.ref == nil {
			return n
		}
		n = n.ref
	}
	return n
}

// beside returns the nodes that speak of the same value as n does.
func (n *node) beside() []*node {
	var out []*node
	if n.ref != nil {
		out = append(out, n.ref)
	}
	if l := n.logic; l != nil {
		out = slices.Concat(out, l.all, l.any, l.one)
		for _, sub := range []*node{l.not, l.cond, l.then, l.alt} {
			if sub != nil {
				out = append(out, sub)
			}
		}
	}
	if n.object != nil {
		for _, d := range n.object.dependencies {
			if d.node != nil {
				out = append(out, d.node)
			}
		}
	}
	return out
}

// within returns the nodes that speak of values within the one that n speaks of.
func (n *node) within() []*node {
	var out []*node
	if a := n.array; a != nil {
		out = append(slices.Clone(a.prefix), a.rest, a.contains, a.unevaluated)
	}
	if o := n.object; o != nil {
		for i := range o.list {
			out = append(out, o.list[i].node)
		}
		for _, p := range o.patterns {
			out = append(out, p.node)
		}
		out = append(out, o.rest, o.names, o.unevaluated)
	}
	return slices.DeleteFunc(out, func(n *node) bool { return n == nil })
}

// goesInCircles reports whether a node below root leads back to itself without
// going into the value, so that no value could ever be checked.
func goesInCircles(root *node) bool {
	const (
		open = 1
		done = 2
	)
	state := map[*node]int{}
	var circle func(n *node) bool
	circle = func(n *node) bool {
		if state[n] != 0 {
			return state[n] == open
		}
		state[n] = open
		if slices.ContainsFunc(n.beside(), circle) {
			return true
		}
		state[n] = done
		return false
	}
	seen := map[*node]bool{root: true}
	for queue := []*node{root}; len(queue) > 0; queue = queue[1:] {
		if circle(queue[0]) {
			return true
		}
		for _, n := range slices.Concat(queue[0].beside(), queue[0].within()) {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	return false
}

// impossible returns the name of a member that the root asks for and does not
// allow, so that no call could ever be right, or "".
func impossible(root *node) string {
	o := root.target().object
	if o == nil || o.rest == nil || !o.rest.never {
		return ""
	}
	for i := range o.list {
		if p := &o.list[i]; p.required && !o.declares(p.name) {
			return p.name
		}
	}
	return ""
}
