package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what is said to a model.
const (
	maxMistakes = 5
	maxLine     = 800 // bytes of one of them
	maxPointer  = 200 // bytes of a place
	maxShown    = 600 // bytes of the schema, and of the example
	maxNames    = 30
)

// explain says what is wrong with arguments, for the model that sent them.
func (s *Schema) explain(faults []fault) string {
	var b strings.Builder
	var lines []string
	said := 0
	for ; said < len(faults) && len(lines) < maxMistakes; said++ {
		for _, line := range sayFault(&faults[said]) {
			if line = clip(line, maxLine); !slices.Contains(lines, line) && len(lines) < maxMistakes {
				lines = append(lines, line)
				b.WriteString("- " + line + "\n")
			}
		}
	}
	if n := len(faults) - said; n > 0 {
		fmt.Fprintf(&b, "- and %d more\n", n)
	}
	where, n := subject(&faults[0])
	if n != nil && n.source != nil {
		if where == "" {
			where = "the arguments"
		}
		fmt.Fprintf(&b, "Schema of %s: %s\n", clip(where, maxPointer), showNode(n))
	}
	if example, ok := s.example(faults); ok {
		fmt.Fprintf(&b, "Valid arguments look like this: %s\n", example)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// subject returns the part of the schema that a fault is about, and of what
// value it speaks.
func subject(f *fault) (string, *node) {
	if f.kind == missing && f.node.object != nil {
		if i := f.node.object.find(f.name); i >= 0 && f.node.object.list[i].declared {
			return pointer(append(slices.Clone(f.path), f.name)), f.node.object.list[i].node
		}
	}
	if f.kind == noBranch {
		if in := likeliest(f); in != nil {
			return subject(&in[0])
		}
	}
	return pointer(f.path), f.node
}

// likeliest returns the faults of the one alternative that is of the type that
// came, or nil where there is no such.
func likeliest(f *fault) []fault {
	var found []fault
	for _, faults := range f.branches {
		same := func(g fault) bool {
			return (g.kind == wrongType || g.kind == wrongValue) && len(g.path) == len(f.path)
		}
		if slices.ContainsFunc(faults, same) {
			continue
		}
		if found != nil {
			return nil
		}
		found = faults
	}
	return found
}

// sayFault says what is wrong in a line, or in several for what an alternative
// asks for.
func sayFault(f *fault) []string {
	where := clip(pointer(f.path), maxPointer)
	member := clip(pointer(append(slices.Clone(f.path), f.name)), maxPointer)
	if where == "" {
		where = "the arguments"
	}
	say := func(where, format string, args ...any) []string {
		return []string{where + ": " + fmt.Sprintf(format, args...)}
	}
	switch f.kind {
	case missing:
		return say(member, "is missing; expected %s", wantedMember(f.node, f.name))
	case unknown:
		return say(member, "is not known here%s", knownMembers(f))
	case wrongName:
		return say(member, "a member must not have this name")
	case noBranch:
		if in := likeliest(f); in != nil {
			var lines []string
			for i := range in {
				lines = append(lines, sayFault(&in[i])...)
			}
			return lines
		}
	case manyBranches:
		return say(where, "fits several of the alternatives in the schema, and must fit exactly one")
	case neverValid:
		return say(where, "nothing is allowed here; leave it out")
	case excluded:
		return say(where, "%s is excluded here", came(f.value))
	case itemTwice:
		return say(where, "expected a list whose items are all different; an item stands in it twice")
	case lacksItem:
		return say(where, "expected a list with %s", containing(f.node.array))
	case wrongType, wrongValue, wrongLength, wrongPattern, outOfRange, notMultiple, wrongCount:
	}
	return say(where, "expected %s; got %s", wanted(f.node, 0), came(f.value))
}

func containing(a *arrayRules) string {
	count := fmt.Sprintf("at least %d", a.minContains)
	if a.maxContains >= 0 {
		count += fmt.Sprintf(" and at most %d", a.maxContains)
	}
	return count + " of " + wanted(a.contains, 1)
}

// wantedMember says what a member must be.
func wantedMember(n *node, name string) string {
	if o := n.object; o != nil {
		if i := o.find(name); i >= 0 && o.list[i].declared {
			return wanted(o.list[i].node, 0)
		}
	}
	return "a value"
}

// knownMembers says which members an object may have.
func knownMembers(f *fault) string {
	o := f.node.object
	var names, absent []string
	for i := range o.list {
		if !o.list[i].declared {
			continue
		}
		names = append(names, o.list[i].name)
		if f.value.get(o.list[i].name) == nil {
			absent = append(absent, o.list[i].name)
		}
	}
	near := nearest(f.name, absent, 3)
	switch {
	case len(near) > 0:
		return "; the nearest names are " + strings.Join(near, ", ")
	case len(names) == 0:
		return "; leave it out"
	case len(names) > maxNames:
		names = append(names[:maxNames:maxNames], "…")
	}
	return "; known are " + strings.Join(names, ", ")
}

// came says what a value is, shortened.
func came(v *value) string {
	switch v.kind &^ integer {
	case str:
		if n := utf8.RuneCountInString(v.text); n > 60 {
			return fmt.Sprintf("a string of %d characters that begins %q", n, clip(v.text, 40))
		}
		return fmt.Sprintf("the string %q", v.text)
	case number:
		return "the number " + clip(v.text, 60)
	case array:
		return fmt.Sprintf("a list of %d", len(v.items))
	case object:
		return "an object"
	}
	return v.text
}

// showNode returns the text of a schema, without its prose where that is too long.
func showNode(n *node) string {
	n = n.target()
	var b bytes.Buffer
	raw := n.source.raw
	if len(raw) <= 4*maxShown && json.Compact(&b, raw) == nil && b.Len() <= maxShown {
		return b.String()
	}
	for depth := 6; depth > 0; depth-- {
		if out := outline(nil, n.source, depth); len(out) <= maxShown {
			return string(out)
		}
	}
	return clip(string(outline(nil, n.source, 1)), maxShown)
}

// outline appends a schema without prose and without what is nested deeper than
// depth.
func outline(dst []byte, v *value, depth int) []byte {
	sep := byte(0)
	next := func() {
		if sep != 0 {
			dst = append(dst, sep)
		}
		sep = ','
	}
	switch {
	case v.kind != object && v.kind != array:
		return append(dst, v.raw...)
	case depth == 0 && v.kind == object:
		return append(dst, "{…}"...)
	case depth == 0:
		return append(dst, "[…]"...)
	case v.kind == array:
		dst = append(dst, '[')
		for _, item := range v.items {
			next()
			dst = outline(dst, item, depth-1)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for _, m := range v.members {
		prose := m.value.kind == str && (m.key == "description" || m.key == "title" || m.key == "$schema" || m.key == "$comment")
		if prose || m.key == "examples" || m.key == "$defs" || m.key == "definitions" {
			continue
		}
		next()
		dst = append(append(dst, quoted(m.key)...), ':')
		dst = outline(dst, m.value, depth-1)
	}
	return append(dst, '}')
}

// clip returns at most n bytes of s, and says so where there were more.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
