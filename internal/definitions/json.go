package definitions

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/unseen"
)

// Bounds of one JSON text. What is beyond them is not taken apart.
const (
	maxDepth = 256
	maxNodes = 200_000
)

type kind byte

const (
	literal kind = iota // null, true, false
	number
	text
	list
	object
)

// A node is one value of a JSON text. Members of an object stay in their order, and
// one that is given twice is there twice: two readers may each take another one.
type node struct {
	kind  kind
	text  string // of a scalar; that of a text is decoded, that of a number is normal
	keys  []string
	items []*node
}

// member returns the first member of a name, or nil.
func (n *node) member(name string) *node {
	if n == nil || n.kind != object {
		return nil
	}
	if i := slices.Index(n.keys, name); i >= 0 {
		return n.items[i]
	}
	return nil
}

// str returns the text of a text, or "".
func (n *node) str() string {
	if n == nil || n.kind != text {
		return ""
	}
	return n.text
}

var errLarge = errors.New("it is too large or too deep to be looked at")

// A parser takes one JSON text apart that is known to be valid.
type parser struct {
	raw   []byte
	i     int
	left  int                 // nodes that there may still be
	slab  []node              // to take the next ones from
	clean func(string) string // of each text, names of members included; or nil
}

// parse takes raw apart. clean changes each of its texts, and may be nil.
func parse(raw []byte, nodes int, clean func(string) string) (*node, error) {
	if !json.Valid(raw) {
		return nil, errors.New("it is not valid JSON")
	}
	p := &parser{raw: raw, left: nodes, clean: clean}
	return p.value(0)
}

// node returns a new node.
func (p *parser) node(n node) *node {
	if len(p.slab) == 0 {
		p.slab = make([]node, 32)
	}
	out := &p.slab[0]
	p.slab = p.slab[1:]
	*out = n
	return out
}

func (p *parser) space() {
	for p.i < len(p.raw) && strings.IndexByte(" \t\r\n", p.raw[p.i]) >= 0 {
		p.i++
	}
}

func (p *parser) value(depth int) (*node, error) {
	if p.left--; p.left < 0 || depth > maxDepth {
		return nil, errLarge
	}
	p.space()
	switch p.raw[p.i] {
	case '"':
		return p.node(node{kind: text, text: p.string()}), nil
	case '{', '[':
		return p.container(depth)
	}
	start := p.i
	for p.i < len(p.raw) && strings.IndexByte(",]} \t\r\n", p.raw[p.i]) < 0 {
		p.i++
	}
	word := string(p.raw[start:p.i])
	if word[0] >= 'a' {
		return p.node(node{kind: literal, text: word}), nil
	}
	return p.node(node{kind: number, text: normal(word)}), nil
}

// container reads an object or a list.
func (p *parser) container(depth int) (*node, error) {
	n, end := p.node(node{kind: list}), byte(']')
	if p.raw[p.i] == '{' {
		n.kind, end = object, '}'
	}
	for p.i++; ; p.i++ { // past the bracket or a comma
		p.space()
		if p.raw[p.i] == end {
			p.i++
			return n, nil
		}
		if n.kind == object {
			n.keys = append(n.keys, p.string())
			p.space()
			p.i++ // past the colon
		}
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
		p.space()
		if p.raw[p.i] == end {
			p.i++
			return n, nil
		}
	}
}

func (p *parser) string() string {
	start, plain := p.i, true
	for p.i++; p.raw[p.i] != '"'; p.i++ {
		if p.raw[p.i] == '\\' {
			plain = false
			p.i++
		}
	}
	p.i++
	var s string
	if plain {
		s = strings.ToValidUTF8(string(p.raw[start+1:p.i-1]), "\ufffd")
	} else if json.Unmarshal(p.raw[start:p.i], &s) != nil {
		s = string(p.raw[start+1 : p.i-1]) // it is valid, so this does not happen
	}
	if p.clean != nil {
		return p.clean(s)
	}
	return s
}

// normal returns a number in its one spelling: 1.0, 1 and 10e-1 are 1. No digit is
// lost, however many there are.
func normal(s string) string {
	mantissa, exponent := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(s[i+1:]); err != nil || exponent > 1<<20 || exponent < -1<<20 {
			return s
		}
		mantissa = s[:i]
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	sign := ""
	if negative {
		sign = "-"
	}
	const plain = 30
	switch {
	case short == "":
		return "0"
	case exponent >= 0 && exponent+len(short) <= plain:
		return sign + short + strings.Repeat("0", exponent)
	case exponent < 0 && -exponent < len(short):
		return sign + short[:len(short)+exponent] + "." + short[len(short)+exponent:]
	case exponent < 0 && -exponent <= plain:
		return sign + "0." + strings.Repeat("0", -exponent-len(short)) + short
	}
	return sign + short + "e" + strconv.Itoa(exponent)
}

// canonical appends the value in its one spelling: without spaces, members by
// their names, as RFC 8785 has it but for numbers, which keep all their digits.
func (n *node) canonical(out []byte) []byte {
	switch n.kind {
	case literal, number:
		return append(out, n.text...)
	case text:
		return quote(out, n.text, false)
	case list, object:
	}
	if n.kind == list {
		out = append(out, '[')
		for i, item := range n.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.canonical(out)
		}
		return append(out, ']')
	}
	out = append(out, '{')
	for i, at := range n.sorted() {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(quote(out, n.keys[at], false), ':')
		out = n.items[at].canonical(out)
	}
	return append(out, '}')
}

// sorted returns the places of the members by their names. Equal names keep their
// order.
func (n *node) sorted() []int {
	places := make([]int, len(n.keys))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return strings.Compare(n.keys[a], n.keys[b]) })
	return places
}

// pretty appends the value for people to read, a member a line, with escapes for
// all that cannot be seen.
func (n *node) pretty(out []byte, indent string) []byte {
	switch {
	case n.kind < text:
		return append(out, n.text...)
	case n.kind == text:
		return quote(out, n.text, true)
	case len(n.items) == 0 && n.kind == list:
		return append(out, "[]"...)
	case len(n.items) == 0:
		return append(out, "{}"...)
	}
	brackets, places := "[]", []int(nil)
	if n.kind == object {
		brackets, places = "{}", n.sorted()
	}
	out = append(out, brackets[0])
	deeper := indent + "  "
	for i := range n.items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, '\n'), deeper...)
		at := i
		if places != nil {
			at = places[i]
			out = append(quote(out, n.keys[at], true), ": "...)
		}
		out = n.items[at].pretty(out, deeper)
	}
	return append(append(append(out, '\n'), indent...), brackets[1])
}

// quote appends s as a JSON text. With visible, whatever a person would not see is
// an escape.
func quote(out []byte, s string, visible bool) []byte {
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r < ' ':
			out = fmt.Appendf(out, `\u%04x`, r)
		case visible && !unicode.IsPrint(r):
			if r > 0xffff {
				high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			} else {
				out = fmt.Appendf(out, `\u%04x`, r)
			}
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}

// Show returns s for people: whatever cannot be seen, or would control a terminal,
// is an escape such as \u{200b}. Line ends and tabs stay where lines is set.
func Show(s string, lines bool) string {
	seen := func(r rune) bool {
		return unicode.IsPrint(r) && !unseen.Is(r) || lines && (r == '\n' || r == '\t')
	}
	if !strings.ContainsFunc(s, func(r rune) bool { return !seen(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case seen(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		default:
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// clip returns the first so many characters of s.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// pointer returns a JSON pointer with one more step.
func pointer(at, step string) string {
	if strings.ContainsAny(step, "~/") {
		step = strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
	}
	return at + "/" + step
}
