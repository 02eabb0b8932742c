package schema

import (
	"fmt"
	"math/big"
	"strings"
)

// wanted says what a schema asks for, in a few words.
func wanted(n *node, depth int) string {
	n = n.target()
	switch {
	case n.enum != nil:
		return wantedValues(n.enum)
	case n.types == 0 && n.logic != nil && depth < 3:
		if list := append(append([]*node{}, n.logic.any...), n.logic.one...); len(list) > 0 {
			return either(list, depth)
		}
	case n.types == 0 && n.object != nil:
		return wantedKind(n, object, depth)
	case n.types == 0 && n.array != nil:
		return wantedKind(n, array, depth)
	case n.types == 0:
		return "a value as its schema says"
	}
	var words []string
	for _, k := range kindNames {
		if n.types&k.kind != 0 && (k.kind != integer || n.types&number == 0) {
			words = append(words, wantedKind(n, k.kind, depth))
		}
	}
	if len(words) == 0 {
		return "a value as its schema says"
	}
	return strings.Join(words, " or ")
}

func either(list []*node, depth int) string {
	var words []string
	for _, n := range list {
		words = append(words, wanted(n, depth+1))
	}
	const most = 4
	if len(words) > most {
		words = append(words[:most:most], "one of other alternatives")
	}
	return strings.Join(words, " or ")
}

func wantedValues(enum []*value) string {
	const most = 20
	var words []string
	for i, v := range enum {
		if i == most {
			words = append(words, fmt.Sprintf("… (%d in all)", len(enum)))
			break
		}
		if v.kind == str {
			words = append(words, fmt.Sprintf("%q", clip(v.text, 60)))
		} else {
			words = append(words, clip(string(v.raw), 60))
		}
	}
	if len(words) == 1 {
		return words[0]
	}
	return "one of " + strings.Join(words, ", ")
}

func wantedKind(n *node, kind kinds, depth int) string {
	switch kind {
	case null:
		return "null"
	case boolean:
		return "true or false"
	case integer:
		return "an integer" + n.number.say()
	case number:
		return "a number" + n.number.say()
	case str:
		return "a string" + n.text.say(n.notes.format)
	case array:
		return wantedList(n.array, depth)
	case object:
	}
	var names []string
	if n.object != nil {
		for _, p := range n.object.list {
			if p.required {
				names = append(names, p.name)
			}
		}
	}
	if len(names) == 0 || len(names) > 8 {
		return "an object"
	}
	return "an object with " + strings.Join(names, ", ")
}

func wantedList(a *arrayRules, depth int) string {
	if a == nil {
		return "a list"
	}
	words := "a list"
	switch {
	case a.min > 0 && a.max >= 0:
		words += fmt.Sprintf(" of %d to %d", a.min, a.max)
	case a.min > 0:
		words += fmt.Sprintf(" of at least %d", a.min)
	case a.max >= 0:
		words += fmt.Sprintf(" of at most %d", a.max)
	}
	if a.rest != nil && !a.rest.never && depth < 2 {
		if inner := a.rest.target(); inner.types != 0 || inner.enum != nil {
			words += " whose items are each " + wanted(inner, depth+1)
		}
	}
	return words
}

func (t *textRules) say(format string) string {
	var words []string
	if t != nil {
		switch {
		case t.min > 0 && t.max >= 0:
			words = append(words, fmt.Sprintf("of %d to %d characters", t.min, t.max))
		case t.min == 1:
			words = append(words, "that is not empty")
		case t.min > 0:
			words = append(words, fmt.Sprintf("of at least %d characters", t.min))
		case t.max >= 0:
			words = append(words, fmt.Sprintf("of at most %d characters", t.max))
		}
		if t.pattern != nil {
			words = append(words, "that matches "+clip(t.pattern.String(), 120))
		}
	}
	if format != "" {
		words = append(words, fmt.Sprintf("(format: %s)", clip(format, 40)))
	}
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ")
}

func (t *numberRules) say() string {
	if t == nil {
		return ""
	}
	if t.isAnyWhole() {
		return ""
	}
	var words string
	switch {
	case t.min != nil && t.max != nil && !t.minOpen && !t.maxOpen:
		words = " from " + decimal(t.min) + " to " + decimal(t.max)
	default:
		if t.min != nil {
			words = map[bool]string{false: " of at least ", true: " greater than "}[t.minOpen] + decimal(t.min)
		}
		if t.max != nil {
			if words != "" {
				words += " and"
			}
			words += map[bool]string{false: " of at most ", true: " less than "}[t.maxOpen] + decimal(t.max)
		}
	}
	if t.multiple != nil {
		words += " that is a multiple of " + decimal(t.multiple)
	}
	return words
}

// isAnyWhole reports whether the bounds are those of the integers that JavaScript
// can tell apart, which generators add by themselves.
func (t *numberRules) isAnyWhole() bool {
	const most = 1<<53 - 1
	return t.whole && t.minWhole == -most && t.maxWhole == most
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return strings.TrimRight(r.FloatString(6), "0")
}
