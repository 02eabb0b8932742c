// Package toml reads TOML 1.0 and 1.1 into trees whose nodes know their place, so that a
// text can be edited without being written anew.
//
//	root, lines, err := toml.Parse([]byte("[servers.docs]\nurl = \"https://example.com\"\n"))
//	url := root.Pairs[0].Value.Pairs[0].Value.Pairs[0].Value.Text
//	start, end := lines[0].Start, lines[0].End // of the header, with its line end
//
// Strings of all four kinds, tables, dotted keys, lists and tables in one line are
// read; numbers and times are kept as they are written. No error quotes a value,
// which may be a secret.
package toml

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const maxDepth = 200

// A Kind is what a node holds.
type Kind int

// The kinds. Plain is a number or a time.
const (
	Text Kind = iota
	Bool
	Plain
	List
	Table
)

// A Node is a value with its place.
type Node struct {
	Kind       Kind
	Text       string // of a text, without quotes; of others, as written
	Items      []*Node
	Pairs      []Pair
	Start, End int // offsets
}

// A Pair is one key of a table and its value.
type Pair struct {
	Key   string
	At    int // offset of the key
	Value *Node
}

func (n *Node) field(key string) *Node {
	for _, p := range n.Pairs {
		if p.Key == key {
			return p.Value
		}
	}
	return nil
}

// An Error is a mistake with its place.
type Error struct {
	Offset int
	Text   string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Text) }

// A Statement is one line of TOML, or the several that one value spans: the header
// of a table, or a key with its value.
type Statement struct {
	Path       []string
	Header     bool
	Start, End int // whole lines
}

// Parse reads a text. The error is an *Error.
func Parse(data []byte) (root *Node, all []Statement, err error) {
	p := &reader{data: data, root: &Node{Kind: Table, End: len(data)}, closed: make(map[*Node]bool), headed: make(map[*Node]bool)}
	defer func() {
		if fault := recover(); fault != nil {
			e, ok := fault.(*Error)
			if !ok {
				panic(fault)
			}
			root, all, err = nil, nil, e
		}
	}()
	p.document()
	return p.root, p.statements, nil
}

// A reader stands at a place in a text. Its methods panic with an *Error, which
// Parse returns.
type reader struct {
	data       []byte
	pos        int
	root       *Node
	statements []Statement
	closed     map[*Node]bool // written in one line, or by dotted keys: no header adds to it
	headed     map[*Node]bool // has had its header
}

func (p *reader) fail(at int, message string) {
	panic(&Error{min(at, len(p.data)), message})
}

func (p *reader) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *reader) blanks() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.pos++
	}
}

// gaps skips blanks, line ends and comments, within a list.
func (p *reader) gaps() {
	for {
		p.blanks()
		switch p.peek() {
		case '\n', '\r':
			p.pos++
		case '#':
			p.comment()
		default:
			return
		}
	}
}

func (p *reader) comment() {
	for p.pos < len(p.data) && p.data[p.pos] != '\n' {
		p.pos++
	}
}

// endLine wants nothing more on the line than a comment.
func (p *reader) endLine() {
	p.blanks()
	if p.peek() == '#' {
		p.comment()
	}
	if p.peek() == '\r' {
		p.pos++
	}
	switch {
	case p.pos == len(p.data):
	case p.data[p.pos] == '\n':
		p.pos++
	default:
		p.fail(p.pos, "wants the end of the line")
	}
}

func (p *reader) document() {
	current, prefix := p.root, []string(nil)
	for p.pos < len(p.data) {
		start := p.pos
		p.blanks()
		switch c := p.peek(); c {
		case 0, '\n', '\r', '#':
			p.endLine()
			continue
		case '[':
			var path []string
			current, path = p.header()
			prefix = path
			p.endLine()
			p.statements = append(p.statements, Statement{path, true, start, p.pos})
		default:
			path := p.assign(current, 0)
			p.endLine()
			p.statements = append(p.statements, Statement{slices.Concat(prefix, path), false, start, p.pos})
		}
	}
}

// header reads [a.b] or [[a.b]] and returns its table.
func (p *reader) header() (*Node, []string) {
	at := p.pos
	p.pos++
	many := p.peek() == '['
	if many {
		p.pos++
	}
	p.blanks()
	path, places := p.keys()
	for range map[bool]int{false: 1, true: 2}[many] {
		if p.peek() != ']' {
			p.fail(p.pos, "wants ]")
		}
		p.pos++
	}
	parent := p.root
	for i, key := range path[:len(path)-1] {
		parent = p.step(parent, key, places[i])
	}
	last, place := path[len(path)-1], places[len(places)-1]
	old := parent.field(last)
	if many {
		if old == nil {
			old = &Node{Kind: List, Start: at}
			parent.Pairs = append(parent.Pairs, Pair{last, place, old})
		}
		if old.Kind != List || p.closed[old] {
			p.fail(place, "is no list of tables")
		}
		t := &Node{Kind: Table, Start: at}
		old.Items = append(old.Items, t)
		return t, path
	}
	if old == nil {
		old = &Node{Kind: Table, Start: at}
		parent.Pairs = append(parent.Pairs, Pair{last, place, old})
	}
	if old.Kind != Table || p.closed[old] || p.headed[old] {
		p.fail(place, "is defined twice")
	}
	p.headed[old] = true
	return old, path
}

// step goes into a table on the way of a header.
func (p *reader) step(parent *Node, key string, place int) *Node {
	next := parent.field(key)
	switch {
	case next == nil:
		next = &Node{Kind: Table, Start: place}
		parent.Pairs = append(parent.Pairs, Pair{key, place, next})
	case next.Kind == List && len(next.Items) > 0 && !p.closed[next]:
		next = next.Items[len(next.Items)-1]
	}
	if next.Kind != Table || p.closed[next] {
		p.fail(place, "is no table that can be added to")
	}
	return next
}

// assign reads KEY = VALUE into a table.
func (p *reader) assign(to *Node, depth int) []string {
	path, places := p.keys()
	if p.peek() != '=' {
		p.fail(p.pos, "wants =")
	}
	p.pos++
	p.blanks()
	for i, key := range path[:len(path)-1] {
		next := to.field(key)
		if next == nil {
			next = &Node{Kind: Table, Start: places[i]}
			to.Pairs = append(to.Pairs, Pair{key, places[i], next})
		} else if next.Kind != Table || p.closed[next] || p.headed[next] {
			p.fail(places[i], "is defined twice")
		}
		to = next
	}
	last := path[len(path)-1]
	if to.field(last) != nil {
		p.fail(places[len(places)-1], "is defined twice")
	}
	value := p.value(depth)
	to.Pairs = append(to.Pairs, Pair{last, places[len(places)-1], value})
	return path
}

// keys reads a key with its dots, and the blanks behind it.
func (p *reader) keys() (path []string, places []int) {
	for {
		at := p.pos
		var key string
		switch p.peek() {
		case '"', '\'':
			key = p.quoted(false)
		default:
			for isBareKey(p.peek()) {
				p.pos++
			}
			if key = string(p.data[at:p.pos]); key == "" {
				p.fail(at, "wants a key")
			}
		}
		path, places = append(path, key), append(places, at)
		p.blanks()
		if p.peek() != '.' {
			return path, places
		}
		p.pos++
		p.blanks()
	}
}

func isBareKey(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func (p *reader) value(depth int) *Node {
	n := &Node{Start: p.pos}
	if depth > maxDepth {
		p.fail(p.pos, "is nested too deep")
	}
	switch p.peek() {
	case '"', '\'':
		n.Kind, n.Text = Text, p.quoted(true)
	case '[':
		p.list(n, depth)
	case '{':
		p.table(n, depth)
	default:
		for p.pos < len(p.data) && !strings.ContainsRune(",]}#\r\n", rune(p.data[p.pos])) {
			p.pos++
		}
		n.Text = strings.TrimRight(string(p.data[n.Start:p.pos]), " \t")
		p.pos = n.Start + len(n.Text)
		switch {
		case n.Text == "true" || n.Text == "false":
			n.Kind = Bool
		case isPlain(n.Text):
			n.Kind = Plain
		default:
			p.fail(n.Start, "wants a value") // which is not quoted: it may be a secret without its quotes
		}
	}
	n.End = p.pos
	return n
}

// isPlain tells whether a text has the look of a number or a time.
func isPlain(s string) bool {
	bare := strings.TrimLeft(s, "+-")
	if bare == "inf" || bare == "nan" {
		return true
	}
	if bare == "" || bare[0] < '0' || bare[0] > '9' {
		return false
	}
	if date, time, ok := strings.Cut(bare, " "); ok { // the two of a time may have a space between
		return len(date) == len("2006-01-02") && date[4] == '-' && isPlain(time)
	}
	return strings.Trim(bare, "0123456789abcdefABCDEFxoXO_.+-:TZtz") == ""
}

func (p *reader) list(n *Node, depth int) {
	n.Kind = List
	p.closed[n] = true
	p.pos++
	for p.gaps(); p.peek() != ']'; p.gaps() {
		if p.pos >= len(p.data) {
			p.fail(n.Start, "has a list without its end")
		}
		n.Items = append(n.Items, p.value(depth+1))
		p.gaps()
		if p.peek() == ',' {
			p.pos++
		} else if p.peek() != ']' {
			p.fail(p.pos, "wants , or ]")
		}
	}
	p.pos++
}

func (p *reader) table(n *Node, depth int) {
	n.Kind = Table
	p.pos++
	for p.gaps(); p.peek() != '}'; p.gaps() {
		if p.pos >= len(p.data) {
			p.fail(n.Start, "has a table without its end")
		}
		p.assign(n, depth+1)
		p.gaps()
		if p.peek() == ',' {
			p.pos++
		} else if p.peek() != '}' {
			p.fail(p.pos, "wants , or }")
		}
	}
	p.pos++
	p.closed[n] = true
}

// quoted reads a string; with long, one in three quotes as well.
func (p *reader) quoted(long bool) string {
	at, q := p.pos, p.data[p.pos]
	fence := strings.Repeat(string(rune(q)), 3)
	many := long && strings.HasPrefix(string(p.data[p.pos:min(p.pos+3, len(p.data))]), fence)
	if many {
		p.pos += 3
		if p.peek() == '\r' {
			p.pos++
		}
		if p.peek() == '\n' {
			p.pos++
		}
	} else {
		p.pos++
	}
	var b strings.Builder
	for {
		switch {
		case p.pos >= len(p.data), !many && (p.peek() == '\n' || p.peek() == '\r'):
			p.fail(at, "has a text without its end")
		case !many && p.peek() == q:
			p.pos++
			return b.String()
		case many && strings.HasPrefix(string(p.data[p.pos:min(p.pos+3, len(p.data))]), fence):
			p.pos += 3
			for range 2 { // up to two more belong to the text
				if p.peek() == q {
					b.WriteByte(q)
					p.pos++
				}
			}
			return b.String()
		case q == '"' && p.peek() == '\\':
			p.escape(&b, many)
		default:
			b.WriteByte(p.data[p.pos])
			p.pos++
		}
	}
}

func (p *reader) escape(b *strings.Builder, many bool) {
	at := p.pos
	p.pos++
	c := p.peek()
	p.pos++
	if i := strings.IndexByte(`btnfre"\`, c); i >= 0 && c != 0 {
		b.WriteByte("\b\t\n\f\r\x1b\"\\"[i])
		return
	}
	if size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; size > 0 {
		digits := string(p.data[min(p.pos, len(p.data)):min(p.pos+size, len(p.data))])
		if r, err := strconv.ParseUint(digits, 16, 32); err == nil && len(digits) == size && utf8.ValidRune(rune(r)) {
			b.WriteRune(rune(r))
			p.pos += size
			return
		}
	}
	if many && strings.IndexByte(" \t\r\n", c) >= 0 && c != 0 {
		end := p.pos - 1
		for end < len(p.data) && strings.IndexByte(" \t\r\n", p.data[end]) >= 0 {
			end++
		}
		if strings.Contains(string(p.data[p.pos-1:end]), "\n") {
			p.pos = end
			return
		}
	}
	p.fail(at, "has an unknown escape")
}
