package schema

import (
	"bytes"
	"unicode/utf8"
)

// Accepts reports whether arguments, which must be valid JSON, are valid for
// certain. False says nothing: Check knows. It reads the text once, decodes
// nothing and allocates nothing.
func (s *Schema) Accepts(args []byte) bool {
	if s.root == nil {
		return false
	}
	sc := scan{text: args, steps: maxRescans + len(args), matching: maxSteps / 4}
	if !sc.value(s.root, 0) {
		return false
	}
	sc.space()
	return sc.at == len(args)
}

// maxRescans bounds what alternatives within alternatives cost: one is paid for
// each look at a value, and for eight bytes that are read again. The bytes of the
// text pay for the first look at each of its values.
const maxRescans = 1 << 16

// isPlain reports whether Accepts understands the node, not counting those
// within. It is asked once, after compiling.
func (n *node) isPlain() bool {
	if n.never || n.logic != nil && !n.logic.isPlain() {
		return false
	}
	if a := n.array; a != nil && (a.prefix != nil || a.contains != nil || a.unevaluated != nil) {
		return false
	}
	if n.number != nil && !n.number.whole {
		return false
	}
	for _, v := range n.enum {
		if v.kind == array || v.kind == object {
			return false
		}
	}
	o := n.object
	if o == nil {
		return true
	}
	if o.names != nil && !o.names.isAnyName() {
		return false
	}
	return o.min == 0 && o.max < 0 && o.patterns == nil && o.dependencies == nil && o.unevaluated == nil &&
		len(o.list) <= maxFastProperties
}

// isAnyName reports whether the node allows every string.
func (n *node) isAnyName() bool {
	return !n.never && (n.types == 0 || n.types&str != 0) && n.enum == nil && n.ref == nil && n.text == nil && n.logic == nil
}

func (l *logicRules) isPlain() bool {
	if l.not != nil || l.cond != nil {
		return false
	}
	// One of oneOf is certain where no two of them take the same type.
	var taken kinds
	for _, n := range l.one {
		t := n.target()
		if t == nil || t.types == 0 || taken&t.types != 0 {
			return false
		}
		taken |= t.types
	}
	return true
}

// A scan reads JSON text once from the start to the end. All its methods report
// false where the text is not plainly what they want.
type scan struct {
	text     []byte
	at       int
	steps    int
	matching int // steps that are left for patterns
}

func (s *scan) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// take skips white space and then c.
func (s *scan) take(c byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value reads one value that is valid for certain. A nil node allows any.
func (s *scan) value(n *node, depth int) bool {
	s.space()
	s.steps--
	if s.at >= len(s.text) || depth > maxDepth || s.steps < 0 {
		return false
	}
	if n == nil {
		return s.skip(depth)
	}
	if !n.plain {
		return false
	}
	if n.ref != nil || n.logic != nil {
		return s.alternatives(n, depth)
	}
	return s.kind(n, depth)
}

// alternatives reads a value that must fit several nodes: it is read again for
// each of them.
func (s *scan) alternatives(n *node, depth int) bool {
	from := s.at
	if n.ref != nil {
		// A circle of references has no end but this one.
		if !s.value(n.ref, depth+1) {
			return false
		}
		s.back(from)
	}
	if l := n.logic; l != nil {
		for _, sub := range l.all {
			if !s.value(sub, depth+1) {
				return false
			}
			s.back(from)
		}
		for _, list := range [...][]*node{l.any, l.one} {
			if list != nil && !s.one(list, depth) {
				return false
			}
			s.back(from)
		}
	}
	return s.kind(n, depth)
}

// one reads a value that fits one of the nodes.
func (s *scan) one(list []*node, depth int) bool {
	from := s.at
	kind := kindOf(s.text[from])
	for _, n := range list {
		if t := n.target(); t != nil && t.types != 0 && t.types&kind == 0 {
			continue
		}
		if s.value(n, depth+1) {
			return true
		}
		s.back(from)
	}
	return false
}

// back goes back to read a value again.
func (s *scan) back(to int) {
	s.steps -= (s.at - to) / 8
	s.at = to
}

// kindOf returns the type of the value that begins with c.
func kindOf(c byte) kinds {
	switch c {
	case '{':
		return object
	case '[':
		return array
	case '"':
		return str
	case 'n':
		return null
	case 't', 'f':
		return boolean
	}
	return number | integer
}

// kind reads a value that fits what n says of its type.
func (s *scan) kind(n *node, depth int) bool {
	kind := kindOf(s.text[s.at])
	if n.types != 0 && n.types&kind == 0 {
		return false
	}
	switch kind {
	case object:
		if n.enum != nil {
			return false
		}
		if n.object == nil {
			return s.skip(depth)
		}
		return s.object(n.object, depth)
	case array:
		if n.enum != nil {
			return false
		}
		if n.array == nil {
			return s.skip(depth)
		}
		return s.array(n.array, depth)
	case str:
		raw, plain, ok := s.string()
		return ok && (n.text == nil || n.text.takes(s, raw, plain)) && (n.enum == nil || plain && n.lists(raw, str))
	case null, boolean:
		raw := s.literal()
		return len(raw) > 0 && (n.enum == nil || n.lists(raw, kind))
	}
	raw := s.literal()
	if len(raw) == 0 || n.enum != nil && !n.lists(raw, number) {
		return false
	}
	if n.types&number == 0 && n.types != 0 && !isWhole(raw) {
		return false // 5.0 is an integer; Check reckons
	}
	return n.number == nil || n.number.takes(raw)
}

// lists reports whether the enum has this string or literal, spelled like it.
func (n *node) lists(raw []byte, kind kinds) bool {
	for _, v := range n.enum {
		if v.kind&kind != 0 && v.text == string(raw) {
			return true
		}
	}
	return false
}

// takes reports whether a string fits for certain. plain is a string without
// escapes, whose raw text is what it says.
func (t *textRules) takes(s *scan, raw []byte, plain bool) bool {
	if !plain {
		// An escape stands for at least one byte in twelve, and at most all of them.
		return t.pattern == nil && (t.max < 0 || len(raw) <= t.max) && len(raw) >= 12*t.min
	}
	if t.max >= 0 && len(raw) > t.max || len(raw) < 4*t.min {
		if n := utf8.RuneCount(raw); n < t.min || t.max >= 0 && n > t.max {
			return false
		}
	}
	if t.pattern == nil {
		return true
	}
	s.matching -= t.pattern.cost(len(raw))
	return s.matching >= 0 && t.pattern.Match(raw)
}

// isWhole reports whether a number is written as an integer.
func isWhole(raw []byte) bool {
	for _, c := range raw {
		if c != '-' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// takes reports whether a number lies within the bounds for certain.
func (t *numberRules) takes(raw []byte) bool {
	if !t.whole || len(raw) > 18 {
		return false
	}
	digits, sign := raw, int64(1)
	if raw[0] == '-' {
		digits, sign = raw[1:], -1
	}
	var n int64
	fraction := false
	for i, c := range digits {
		if c == '.' && i > 0 && isWhole(digits[i+1:]) {
			fraction = true
			break
		}
		if c < '0' || c > '9' {
			return false
		}
		n = n*10 + int64(c-'0')
	}
	n *= sign
	low, high := n, n
	switch {
	case fraction && sign > 0:
		high++
	case fraction:
		low--
	}
	return low >= t.minWhole && high <= t.maxWhole
}

func (s *scan) array(t *arrayRules, depth int) bool {
	if !s.take('[') {
		return false
	}
	n := 0
	for !s.take(']') {
		if n > 0 && !s.take(',') || !s.value(t.rest, depth+1) {
			return false
		}
		n++
	}
	return n >= t.min && (t.max < 0 || n <= t.max) && (!t.unique || n < 2)
}

func (s *scan) object(t *objectRules, depth int) bool {
	if !s.take('{') {
		return false
	}
	var seen [maxFastProperties / 64]uint64
	first := true
	for !s.take('}') {
		if !first && !s.take(',') {
			return false
		}
		first = false
		s.space()
		key, plain, ok := s.string()
		if !ok || !plain || !s.take(':') {
			return false
		}
		sub := t.rest
		if i := t.place(key); i >= 0 {
			seen[i/64] |= 1 << (i % 64) // one that stands twice is checked twice
			if t.list[i].declared {
				sub = t.list[i].node
			}
		}
		if !s.value(sub, depth+1) {
			return false
		}
	}
	for i := 0; i*64 < len(t.list); i++ {
		if seen[i]&t.required[i] != t.required[i] {
			return false
		}
	}
	return true
}

// place returns the place of a property in list, or -1.
func (t *objectRules) place(key []byte) int {
	if t.index != nil {
		if i, ok := t.index[string(key)]; ok {
			return i
		}
		return -1
	}
	for i := range t.list {
		if t.list[i].name == string(key) {
			return i
		}
	}
	return -1
}

// string reads a string. raw is what stands between its quotes; plain is set
// where that has no escapes.
func (s *scan) string() (raw []byte, plain, ok bool) {
	if s.at >= len(s.text) || s.text[s.at] != '"' {
		return nil, false, false
	}
	from := s.at + 1
	end := from
	for {
		j := bytes.IndexByte(s.text[end:], '"')
		if j < 0 {
			return nil, false, false
		}
		end += j
		k := end
		for k > from && s.text[k-1] == '\\' {
			k--
		}
		if (end-k)%2 == 0 {
			break
		}
		end++
	}
	s.at = end + 1
	raw = s.text[from:end]
	return raw, bytes.IndexByte(raw, '\\') < 0, true
}

// literal reads a number, true, false or null.
func (s *scan) literal() []byte {
	from := s.at
	for s.at < len(s.text) && !endsLiteral(s.text[s.at]) {
		s.at++
	}
	return s.text[from:s.at]
}

// skip reads any value.
func (s *scan) skip(depth int) bool {
	open := depth
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			if _, _, ok := s.string(); !ok {
				return false
			}
		case '{', '[':
			if open++; open > maxDepth {
				return false
			}
			s.at++
			continue
		case '}', ']':
			open--
			s.at++
		case ' ', '\t', '\r', '\n', ',', ':':
			s.at++
			continue
		default:
			s.literal()
		}
		if open == depth {
			return true
		}
	}
	return false
}
