package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// candidates returns the readings that could mend a fault.
func (m *mender) candidates(f *fault) []candidate {
	switch f.kind {
	case wrongType, wrongValue:
		return m.ofValue(f)
	case missing, unknown:
		return m.ofName(f)
	case noBranch:
		return m.ofBranches(f)
	case wrongLength, wrongPattern, outOfRange, notMultiple, wrongCount, itemTwice, lacksItem,
		wrongName, neverValid, manyBranches, excluded:
	}
	return nil
}

// ofBranches returns the readings of each alternative. One in which several
// things are wrong has a reading where each of them has just one.
func (m *mender) ofBranches(f *fault) []candidate {
	var out []candidate
	for _, faults := range f.branches {
		if len(faults) == 1 {
			out = append(out, m.candidates(&faults[0])...)
			continue
		}
		var all candidate
		for i := range faults {
			c := m.candidates(&faults[i])
			if len(c) != 1 {
				all.edits = nil
				break
			}
			all.edits = append(all.edits, c[0].edits...)
			all.notes = append(all.notes, c[0].notes...)
		}
		if all.edits != nil {
			out = append(out, all)
		}
	}
	return out
}

// ofValue returns the values that the one that came could stand for.
func (m *mender) ofValue(f *fault) []candidate {
	v, where := f.value, clip(pointer(f.path), maxPointer)
	if where == "" {
		where = "the arguments"
	}
	var out []candidate
	put := func(with []byte, format string, args ...any) {
		note := where + ": " + fmt.Sprintf(format, args...)
		out = append(out, candidate{[]edit{{v.start, v.end, with}}, []string{note}})
	}
	if v.kind == null {
		if e, ok := m.drop(f.path); ok {
			out = append(out, candidate{[]edit{e}, []string{where + ": null was left out"}})
		}
		return out
	}
	if f.kind == wrongValue {
		m.ofEnum(f, put)
		return out
	}
	want := f.node.types
	raw := v.raw
	switch v.kind &^ integer {
	case str:
		ofText(v.text, want, put)
	case number:
		if want&str != 0 && !strings.ContainsAny(v.text, "eE") {
			put(quoted(v.text), "a number was read as text")
		}
	case boolean:
		if want&str != 0 {
			put(quoted(v.text), "%s was read as text", v.text)
		}
	}
	if want&array != 0 && v.kind != array && mayBeItem(f.node, v) {
		put(slices.Concat([]byte{'['}, raw, []byte{']'}), "the value was put into a list")
	}
	return out
}

// mayBeItem reports whether a value may be the one item of a list. A text that
// could itself be a list has two readings.
func mayBeItem(n *node, v *value) bool {
	if v.kind != str {
		return true
	}
	if n.array != nil && n.array.rest != nil && n.array.rest.target().enum != nil {
		return true
	}
	return !strings.HasPrefix(strings.TrimSpace(v.text), "[") && !strings.ContainsAny(v.text, ",;\n")
}

// ofText puts what a text could stand for in the place of a value of the types
// wanted.
func ofText(text string, want kinds, put func(with []byte, format string, args ...any)) {
	text = strings.TrimSpace(text)
	if text == "" || !json.Valid([]byte(text)) {
		lower := strings.ToLower(text)
		if want&boolean != 0 && (lower == "true" || lower == "false") { // True, as Python writes it
			put([]byte(lower), "the text %q was read as %s", text, lower)
		}
		return
	}
	v, err := parse([]byte(text))
	if err != nil {
		return
	}
	switch kind := v.kind &^ integer; {
	case v.kind&integer != 0 && want&number == 0 && want&integer != 0:
		if r, ok := rat(text); ok && len(text) <= 64 {
			put([]byte(r.Num().String()), "the text %q was read as the number %s", text, r.Num())
		}
	case kind == number && want&number != 0 && len(text) <= 64:
		put([]byte(text), "the text %q was read as a number", text)
	case kind == boolean && want&boolean != 0, kind == null && want&null != 0:
		put([]byte(text), "the text %q was read as %s", text, text)
	case kind == object && want&object != 0, kind == array && want&array != 0:
		put([]byte(text), "the JSON in the text was read")
	}
}

// ofEnum puts the allowed value that differs least from the one that came: in
// its case, in its separators, or in its type.
func (m *mender) ofEnum(f *fault, put func(with []byte, format string, args ...any)) {
	v := f.value
	if v.kind == array || v.kind == object {
		return
	}
	for _, same := range []func(a, b *value) bool{
		func(a, b *value) bool { return a.kind == str && b.kind == str && strings.EqualFold(a.text, b.text) },
		func(a, b *value) bool { return a.kind == str && b.kind == str && folded(a.text) == folded(b.text) },
		func(a, b *value) bool { return a.kind != b.kind && strings.TrimSpace(a.text) == b.text },
	} {
		var found *value
		for _, x := range f.node.enum {
			if x.kind == array || x.kind == object || x.kind == null || !same(v, x) {
				continue
			}
			if found != nil {
				return // two readings
			}
			found = x
		}
		if found != nil {
			text := found.raw
			put(text, "the value was read as %s", clip(string(text), 60))
			return
		}
	}
}

// drop returns the edit that leaves out the member of an object.
func (m *mender) drop(path []string) (edit, bool) {
	if len(path) == 0 {
		return edit{}, false
	}
	parent := m.value.at(path[:len(path)-1])
	if parent == nil || parent.kind != object {
		return edit{}, false
	}
	i := parent.find(path[len(path)-1])
	if i < 0 {
		return edit{}, false
	}
	mine := parent.members[i]
	e := edit{start: mine.start, end: mine.value.end}
	switch {
	case i+1 < len(parent.members):
		e.end = parent.members[i+1].start
	case i > 0:
		e.start = parent.members[i-1].value.end
	}
	return e, true
}

// ofName returns the reading of a member whose name is nearly right.
func (m *mender) ofName(f *fault) []candidate {
	if f.value == nil || f.value.kind != object || f.node.object == nil {
		return nil
	}
	o := f.node.object
	var absent, given []string
	for i := range o.list {
		if f.value.get(o.list[i].name) == nil {
			absent = append(absent, o.list[i].name)
		}
	}
	if f.kind == missing && !slices.Contains(absent, f.name) {
		absent = append(absent, f.name)
	}
	for _, x := range f.value.members {
		if !o.declares(x.key) {
			given = append(given, x.key)
		}
	}
	open := o.rest == nil || !o.rest.never
	right, wrong := f.name, ""
	if f.kind == missing {
		wrong = onlyNear(right, given, open)
	} else {
		wrong = f.name
		right = onlyNear(wrong, absent, open)
	}
	if f.kind == missing && wrong == "" {
		return byDefault(f, o)
	}
	if right == "" || wrong == "" || onlyNear(right, given, open) != wrong || onlyNear(wrong, absent, open) != right {
		return nil
	}
	x := f.value.members[f.value.find(wrong)]
	at := func(name string) string { return clip(pointer(append(slices.Clone(f.path), name)), maxPointer) }
	note := fmt.Sprintf("%s was read as %s", at(wrong), at(right))
	return []candidate{{[]edit{{x.start, x.end, quoted(right)}}, []string{note}}}
}

// byDefault returns the reading of a member that is required and missing, where its
// schema names a default: libraries that write schemas of what a server reads, with its
// defaults filled in, call such a member required.
func byDefault(f *fault, o *objectRules) []candidate {
	i := slices.IndexFunc(o.list, func(p property) bool { return p.name == f.name })
	if i < 0 || o.list[i].node == nil {
		return nil
	}
	fallback := o.list[i].node.notes.fallback
	if fallback == nil {
		return nil
	}
	with := append(append(quoted(f.name), ':'), fallback.raw...)
	if len(f.value.members) > 0 {
		with = append(with, ',')
	}
	at := f.value.start + 1
	where := clip(pointer(append(slices.Clone(f.path), f.name)), maxPointer)
	note := fmt.Sprintf("%s was given its default, %s", where, clip(string(fallback.raw), maxPointer))
	return []candidate{{[]edit{{at, at, with}}, []string{note}}}
}

func quoted(s string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}
