package schema

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// example returns arguments that are valid: what is required, and what was wrong,
// and no more, with the defaults, examples and values that the schema itself
// names. It reports false where it finds none, or only long ones.
func (s *Schema) example(faults []fault) (string, bool) {
	x := exampler{eval: &evaluation{steps: maxSteps}}
	for i := range faults {
		if f := &faults[i]; f.kind != unknown && f.kind != wrongName && f.kind != neverValid {
			x.asked = append(x.asked, pointer(f.path)+"/")
		}
	}
	for range 2 {
		text := x.of(s.root, "/", 0)
		if text != "" && len(text) <= maxShown && text[0] == '{' && x.fits(s.root, text) {
			return text, true
		}
		if x.asked == nil {
			break
		}
		x.asked = nil // what is required alone may do
	}
	return "", false
}

// An exampler makes examples. asked are the places, each ending in a slash, that
// they are to have besides what is required.
type exampler struct {
	eval  *evaluation
	asked []string
}

func (x *exampler) isAsked(at string) bool {
	return slices.ContainsFunc(x.asked, func(path string) bool { return strings.HasPrefix(path, at) })
}

// fits reports whether a text is valid against n.
func (x *exampler) fits(n *node, text string) bool {
	v, err := parse([]byte(text))
	return err == nil && len(x.eval.root(n, v)) == 0 && !x.eval.over
}

const maxExampleDepth = 6

// of returns an example for the value at a place, or "" where none was found.
func (x *exampler) of(n *node, at string, depth int) string {
	if n == nil || n.never || depth > maxExampleDepth {
		return ""
	}
	n = n.target()
	for _, text := range x.named(n) {
		if len(text) <= maxShown && x.fits(n, text) {
			return text
		}
	}
	var tries []string
	switch kinds := n.kinds(); {
	case kinds&object != 0 && n.object != nil, kinds == object:
		tries = []string{x.object(n, at, depth)}
	case kinds&str != 0:
		tries = x.strings(n)
	case kinds&(integer|number) != 0:
		tries = x.numbers(n)
	case kinds&boolean != 0:
		tries = []string{"true", "false"}
	case kinds&array != 0:
		tries = []string{x.array(n, at, depth)}
	default:
		tries = []string{"null"}
	}
	for _, text := range tries {
		if text != "" && x.fits(n, text) {
			return text
		}
	}
	if n.logic != nil {
		for _, sub := range slices.Concat(n.logic.any, n.logic.one, n.logic.all) {
			if text := x.of(sub, at, depth+1); text != "" && x.fits(n, text) {
				return text
			}
		}
	}
	return ""
}

// kinds returns the types that a node is about.
func (n *node) kinds() kinds {
	switch {
	case n.types != 0:
		return n.types
	case n.object != nil:
		return object
	case n.array != nil:
		return array
	case n.number != nil:
		return number
	}
	return str
}

// named returns the values that the schema itself names.
func (x *exampler) named(n *node) []string {
	var out []string
	add := func(v *value) { out = append(out, string(v.raw)) }
	for _, v := range n.notes.examples {
		add(v)
	}
	if n.notes.fallback != nil && n.notes.fallback.kind != null {
		add(n.notes.fallback)
	}
	for _, v := range n.enum {
		if v.text != "" || v.kind == object || v.kind == array {
			add(v)
		}
	}
	return out
}

func (x *exampler) object(n *node, at string, depth int) string {
	var b strings.Builder
	b.WriteByte('{')
	if o := n.object; o != nil {
		for i := range o.list {
			p := &o.list[i]
			inner := at + strings.TrimPrefix(pointer([]string{p.name}), "/") + "/"
			if !p.required && !x.isAsked(inner) {
				continue
			}
			sub := p.node
			if sub == nil {
				sub = o.rest
			}
			text := `"…"`
			if sub != nil {
				text = x.of(sub, inner, depth+1)
			}
			if text == "" {
				return ""
			}
			if b.Len() > 1 {
				b.WriteString(", ")
			}
			b.Write(quoted(p.name))
			b.WriteString(": " + text)
		}
	}
	b.WriteByte('}')
	return b.String()
}

func (x *exampler) array(n *node, at string, depth int) string {
	a := n.array
	if a == nil || a.rest == nil && a.prefix == nil && a.min == 0 {
		return "[]"
	}
	var items []string
	for i := range max(a.min, len(a.prefix), 1) {
		sub := a.rest
		if i < len(a.prefix) {
			sub = a.prefix[i]
		}
		text := "1"
		if sub != nil {
			text = x.of(sub, at+strconv.Itoa(i)+"/", depth+1)
		}
		if text == "" || len(items) > 20 {
			break
		}
		items = append(items, text)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// usualTexts are strings that patterns often allow, by their format.
var usualTexts = []struct{ format, text string }{
	{"date-time", "2026-01-31T12:00:00Z"},
	{"date", "2026-01-31"},
	{"time", "12:00:00Z"},
	{"duration", "PT1H"},
	{"email", "user@example.com"},
	{"uri", "https://example.com/"},
	{"url", "https://example.com/"},
	{"hostname", "example.com"},
	{"ipv4", "192.0.2.1"},
	{"ipv6", "2001:db8::1"},
	{"uuid", "123e4567-e89b-12d3-a456-426614174000"},
	{"", "text"},
	{"", "1"},
	{"", "abc123"},
	{"", "12345678"},
	{"", "2026-01"},
	{"", "12:00"},
	{"", "1.0.0"},
	{"", "/path"},
	{"", "#336699"},
	{"", "ABC"},
	{"", "ABC-123"},
	{"", "a/b"},
	{"", "0123456789abcdef0123456789abcdef"},
}

func (x *exampler) strings(n *node) []string {
	first, rest := []string{}, []string{}
	for _, u := range usualTexts {
		if u.format == n.notes.format {
			first = append(first, strconv.Quote(u.text))
		} else {
			rest = append(rest, strconv.Quote(u.text))
		}
	}
	if t := n.text; t != nil && t.min > 4 && t.min <= maxShown {
		rest = append(rest, strconv.Quote(strings.Repeat("x", t.min)))
	}
	return append(first, rest...)
}

func (x *exampler) numbers(n *node) []string {
	tries := []string{"1", "0", "10", "0.5"}
	t := n.number
	if t == nil {
		return tries
	}
	for _, bound := range []*big.Rat{t.min, t.max, t.multiple} {
		if bound == nil {
			continue
		}
		tries = append(tries, decimal(bound))
		whole := floor(bound)
		for _, by := range []int64{-1, 0, 1} {
			tries = append(tries, new(big.Int).Add(whole, big.NewInt(by)).String())
		}
	}
	return tries
}
