package clients

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A statement is one line of TOML, or the several that one value spans: the header
// of a table, or a key with its value.
type statement struct {
	path       []string
	header     bool
	start, end int // whole lines
}

// parseTOML reads TOML 1.0 into a tree: strings of all four kinds, tables, dotted
// keys, lists and tables in a line. Numbers and times are kept as they are written.
func parseTOML(path string, data []byte) (*node, error) {
	root, _, err := readTOML(path, data)
	return root, err
}

func readTOML(path string, data []byte) (root *node, all []statement, err error) {
	p := &tomlReader{path: path, data: data, root: &node{kind: table, end: len(data)}, closed: make(map[*node]bool), headed: make(map[*node]bool)}
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

// A tomlReader stands at a place in a text. Its methods panic with an *Error, which
// readTOML returns.
type tomlReader struct {
	path       string
	data       []byte
	pos        int
	root       *node
	statements []statement
	closed     map[*node]bool // written in one line, or by dotted keys: no header adds to it
	headed     map[*node]bool // has had its header
}

func (p *tomlReader) fail(at int, message string) {
	panic(errorAt(p.path, p.data, at, "is not valid TOML: "+message, "mend it, then try again; it was left as it is"))
}

func (p *tomlReader) peek() byte {
	if p.pos < len(p.data) {
		return p.data[p.pos]
	}
	return 0
}

func (p *tomlReader) blanks() {
	for p.peek() == ' ' || p.peek() == '\t' {
		p.pos++
	}
}

// gaps skips blanks, line ends and comments, within a list.
func (p *tomlReader) gaps() {
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

func (p *tomlReader) comment() {
	for p.pos < len(p.data) && p.data[p.pos] != '\n' {
		p.pos++
	}
}

// endLine wants nothing more on the line than a comment.
func (p *tomlReader) endLine() {
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

func (p *tomlReader) document() {
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
			p.statements = append(p.statements, statement{path, true, start, p.pos})
		default:
			path := p.assign(current, 0)
			p.endLine()
			p.statements = append(p.statements, statement{slices.Concat(prefix, path), false, start, p.pos})
		}
	}
}

// header reads [a.b] or [[a.b]] and returns its table.
func (p *tomlReader) header() (*node, []string) {
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
			old = &node{kind: list, start: at}
			parent.pairs = append(parent.pairs, pair{last, place, old})
		}
		if old.kind != list || p.closed[old] {
			p.fail(place, "is no list of tables")
		}
		t := &node{kind: table, start: at}
		old.items = append(old.items, t)
		return t, path
	}
	if old == nil {
		old = &node{kind: table, start: at}
		parent.pairs = append(parent.pairs, pair{last, place, old})
	}
	if old.kind != table || p.closed[old] || p.headed[old] {
		p.fail(place, "is defined twice")
	}
	p.headed[old] = true
	return old, path
}

// step goes into a table on the way of a header.
func (p *tomlReader) step(parent *node, key string, place int) *node {
	next := parent.field(key)
	switch {
	case next == nil:
		next = &node{kind: table, start: place}
		parent.pairs = append(parent.pairs, pair{key, place, next})
	case next.kind == list && len(next.items) > 0 && !p.closed[next]:
		next = next.items[len(next.items)-1]
	}
	if next.kind != table || p.closed[next] {
		p.fail(place, "is no table that can be added to")
	}
	return next
}

// assign reads KEY = VALUE into a table.
func (p *tomlReader) assign(to *node, depth int) []string {
	path, places := p.keys()
	if p.peek() != '=' {
		p.fail(p.pos, "wants =")
	}
	p.pos++
	p.blanks()
	for i, key := range path[:len(path)-1] {
		next := to.field(key)
		if next == nil {
			next = &node{kind: table, start: places[i]}
			to.pairs = append(to.pairs, pair{key, places[i], next})
		} else if next.kind != table || p.closed[next] || p.headed[next] {
			p.fail(places[i], "is defined twice")
		}
		to = next
	}
	last := path[len(path)-1]
	if to.field(last) != nil {
		p.fail(places[len(places)-1], "is defined twice")
	}
	value := p.value(depth)
	to.pairs = append(to.pairs, pair{last, places[len(places)-1], value})
	return path
}

// keys reads a key with its dots, and the blanks behind it.
func (p *tomlReader) keys() (path []string, places []int) {
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

func (p *tomlReader) value(depth int) *node {
	n := &node{start: p.pos}
	if depth > maxDepth {
		p.fail(p.pos, "is nested too deep")
	}
	switch p.peek() {
	case '"', '\'':
		n.kind, n.text = text, p.quoted(true)
	case '[':
		p.list(n, depth)
	case '{':
		p.table(n, depth)
	default:
		for p.pos < len(p.data) && !strings.ContainsRune(",]}#\r\n", rune(p.data[p.pos])) {
			p.pos++
		}
		n.text = strings.TrimRight(string(p.data[n.start:p.pos]), " \t")
		p.pos = n.start + len(n.text)
		switch {
		case n.text == "true" || n.text == "false":
			n.kind = boolean
		case isPlainTOML(n.text):
			n.kind = number
		default:
			p.fail(n.start, "wants a value") // which is not quoted: it may be a secret without its quotes
		}
	}
	n.end = p.pos
	return n
}

// isPlainTOML tells whether a text has the look of a number or a time.
func isPlainTOML(s string) bool {
	bare := strings.TrimLeft(s, "+-")
	if bare == "inf" || bare == "nan" {
		return true
	}
	if bare == "" || bare[0] < '0' || bare[0] > '9' {
		return false
	}
	return strings.Trim(bare, "0123456789abcdefABCDEFxoXO_.+-:TZtz eE") == ""
}

func (p *tomlReader) list(n *node, depth int) {
	n.kind = list
	p.closed[n] = true
	p.pos++
	for p.gaps(); p.peek() != ']'; p.gaps() {
		if p.pos >= len(p.data) {
			p.fail(n.start, "has a list without its end")
		}
		n.items = append(n.items, p.value(depth+1))
		p.gaps()
		if p.peek() == ',' {
			p.pos++
		} else if p.peek() != ']' {
			p.fail(p.pos, "wants , or ]")
		}
	}
	p.pos++
}

func (p *tomlReader) table(n *node, depth int) {
	n.kind = table
	p.pos++
	p.blanks()
	for p.peek() != '}' {
		p.assign(n, depth+1)
		p.blanks()
		switch p.peek() {
		case ',':
			p.pos++
			p.blanks()
			if p.peek() == '}' {
				p.fail(p.pos, "wants a key")
			}
		case '}':
		default:
			p.fail(p.pos, "wants , or }")
		}
	}
	p.pos++
	p.closed[n] = true
}

// quoted reads a string; with long, one in three quotes as well.
func (p *tomlReader) quoted(long bool) string {
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

func (p *tomlReader) escape(b *strings.Builder, many bool) {
	at := p.pos
	p.pos++
	c := p.peek()
	p.pos++
	if i := strings.IndexByte(`btnfr"\`, c); i >= 0 && c != 0 {
		b.WriteByte("\b\t\n\f\r\"\\"[i])
		return
	}
	if c == 'u' || c == 'U' {
		size := map[byte]int{'u': 4, 'U': 8}[c]
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

// tomlKey writes a key.
func tomlKey(key string) string {
	for i := range len(key) {
		if !isBareKey(key[i]) {
			return quote(key)
		}
	}
	if key == "" {
		return `""`
	}
	return key
}
