package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kinds is a set of JSON types. A number that is an integer is both.
type kinds uint8

const (
	null kinds = 1 << iota
	boolean
	integer
	number
	str
	array
	object
)

var kindNames = []struct {
	kind kinds
	name string
}{
	{null, "null"},
	{boolean, "boolean"},
	{integer, "integer"},
	{number, "number"},
	{str, "string"},
	{array, "array"},
	{object, "object"},
}

// A value is a JSON value and its place in the text that it was parsed from.
type value struct {
	kind       kinds  // one of them; integer never alone but for number
	start, end int    // in the text
	raw        []byte // the text from start to end
	text       string
	members    []member       // of an object
	index      map[string]int // of members, where there are many; the last of a key
	items      []*value       // of an array
	twice      bool           // a key stands twice in it or within
}

// A member is one member of an object. start and end are those of its key.
type member struct {
	key        string
	start, end int
	value      *value
}

// get returns the member of that key, the last one where there are several.
func (v *value) get(key string) *value {
	if i := v.find(key); i >= 0 {
		return v.members[i].value
	}
	return nil
}

func (v *value) find(key string) int {
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return i
		}
		return -1
	}
	for i, m := range slices.Backward(v.members) {
		if m.key == key {
			return i
		}
	}
	return -1
}

// at returns the value at a path within v, or nil.
func (v *value) at(path []string) *value {
	for _, token := range path {
		if v == nil {
			return nil
		}
		switch v.kind {
		case object:
			v = v.get(token)
		case array:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil
			}
			v = v.items[i]
		default:
			return nil
		}
	}
	return v
}

type depthError struct{}

func (depthError) Error() string { return fmt.Sprintf("nested deeper than %d levels", maxDepth) }

// parse returns the value of a text that is valid JSON. The error is a
// depthError.
func parse(text []byte) (*value, error) {
	p := parser{text: text}
	v := p.value(0)
	if p.deep {
		return nil, depthError{}
	}
	return v, nil
}

func endsLiteral(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ']', '}':
		return true
	}
	return false
}

type parser struct {
	text []byte
	at   int
	deep bool
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\r', '\n', ',', ':': // the text is valid: these only part tokens
			p.at++
		default:
			return
		}
	}
}

func (p *parser) value(depth int) *value {
	p.space()
	v := &value{start: p.at}
	if depth > maxDepth || p.at >= len(p.text) {
		p.deep, p.at = true, len(p.text)
		return v
	}
	switch c := p.text[p.at]; c {
	case '{':
		p.object(v, depth)
	case '[':
		v.kind = array
		p.at++
		for p.more(']') {
			item := p.value(depth + 1)
			v.items = append(v.items, item)
			v.twice = v.twice || item.twice
		}
		p.at++
	case '"':
		v.kind = str
		v.text = p.string()
	default:
		end := p.at
		for end < len(p.text) && !endsLiteral(p.text[end]) {
			end++
		}
		v.text = string(p.text[p.at:end])
		p.at = end
		switch c {
		case 'n':
			v.kind = null
		case 't', 'f':
			v.kind = boolean
		default:
			v.kind = number
			if isIntegral(v.text) {
				v.kind |= integer
			}
		}
	}
	v.end = min(p.at, len(p.text))
	v.raw = p.text[v.start:v.end]
	return v
}

func (p *parser) object(v *value, depth int) {
	v.kind = object
	p.at++
	for p.more('}') {
		m := member{start: p.at}
		m.key = p.string()
		m.end = p.at
		m.value = p.value(depth + 1)
		v.twice = v.twice || m.value.twice || v.find(m.key) >= 0
		v.members = append(v.members, m)
		if v.index != nil {
			v.index[m.key] = len(v.members) - 1
		} else if len(v.members) == 16 {
			v.index = make(map[string]int, 64)
			for i, o := range v.members {
				v.index[o.key] = i
			}
		}
	}
	p.at++
}

// more reports whether another element comes before the closing bracket.
func (p *parser) more(closing byte) bool {
	p.space()
	return p.at < len(p.text) && p.text[p.at] != closing
}

// string reads a string and returns what it says.
func (p *parser) string() string {
	s := scan{text: p.text, at: p.at}
	raw, plain, ok := s.string()
	p.at = s.at
	if !ok {
		p.deep, p.at = true, len(p.text) // cannot happen in valid JSON
		return ""
	}
	if plain && utf8.Valid(raw) {
		return string(raw)
	}
	var out string
	_ = json.Unmarshal(p.text[s.at-len(raw)-2:s.at], &out) // the text is valid
	return out
}

// maxExponent bounds the numbers that are reckoned with: 1e1000000000 takes ten
// bytes to write, and all memory to hold.
const maxExponent = 400

// rat returns the number that a JSON literal says; ok is false for one that is
// too large or too small to reckon with.
func rat(literal string) (r *big.Rat, ok bool) {
	if len(literal) > 2*maxExponent {
		return nil, false
	}
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		exp := strings.TrimLeft(literal[i+1:], "+-0")
		if len(exp) > 3 || len(exp) == 3 && exp > "400" {
			return nil, false
		}
	}
	return new(big.Rat).SetString(literal)
}

// isIntegral reports whether a literal says an integer: 5, 5.0 and 5e3 do.
func isIntegral(literal string) bool {
	if !strings.ContainsAny(literal, ".eE") {
		return true
	}
	r, ok := rat(literal)
	return ok && r.IsInt()
}

// equal reports whether two values are the same, as JSON Schema says it: numbers
// by what they are worth, objects whatever their order.
func equal(a, b *value) bool {
	if a.kind&^integer != b.kind&^integer {
		return false
	}
	switch a.kind &^ integer {
	case number:
		if a.text == b.text {
			return true
		}
		x, ok1 := rat(a.text)
		y, ok2 := rat(b.text)
		return ok1 && ok2 && x.Cmp(y) == 0
	case array:
		if len(a.items) != len(b.items) {
			return false
		}
		for i := range a.items {
			if !equal(a.items[i], b.items[i]) {
				return false
			}
		}
		return true
	case object:
		if len(a.members) != len(b.members) {
			return false
		}
		for _, m := range a.members {
			other := b.get(m.key)
			if other == nil || !equal(m.value, other) {
				return false
			}
		}
		return true
	}
	return a.text == b.text
}
