package source

import (
	"encoding/json"
	"slices"
	"strings"
)

// A Kind is what a node holds.
type Kind int

// The kinds. Bad is a value that could not be read: see Node.Wrong. Those from
// List on hold further nodes.
const (
	Null Kind = iota
	Bad
	Bool
	Int
	Float
	Text
	List
	Map
)

// String names the kind as an error does.
func (k Kind) String() string {
	switch k {
	case Null:
		return "nothing"
	case Bad:
		return "something unreadable"
	case Bool:
		return "true or false"
	case Int, Float:
		return "a number"
	case Text:
		return "a text"
	case List:
		return "a list"
	case Map:
		return "a map"
	}
	return "something else"
}

// A Node is a value of a file with its place.
type Node struct {
	File         *File
	Line, Column int // from 1, in characters; 0 for the whole file
	end          int // column behind a scalar that stands in one line, else 0
	Kind         Kind
	Text         string // of a scalar, as written; of a text, without its quotes
	Plain        string // of a number, true or false: as JSON writes it
	Items        []*Node
	Pairs        []Pair
	// Wrong are the mistakes of this node alone, for whoever reads it to report:
	// in a part that nobody reads they hurt nobody.
	Wrong []Mistake
}

// A Pair is one key of a map and its value.
type Pair struct {
	Key   *Node // a scalar
	Value *Node
}

// Mistake returns a mistake at the node's place.
func (n *Node) Mistake(text, hint string) Mistake {
	return n.File.MistakeAt(n.Line, n.Column, text, hint)
}

// Field returns the value of the first pair with that key, or nil.
func (n *Node) Field(key string) *Node {
	if p := n.Pair(key); p != nil {
		return p.Value
	}
	return nil
}

// Pair returns the first pair with that key, or nil.
func (n *Node) Pair(key string) *Pair {
	for i := range n.Pairs {
		if n.Pairs[i].Key.Text == key {
			return &n.Pairs[i]
		}
	}
	return nil
}

// Empty tells whether the node holds nothing: null, or a list or map without
// members.
func (n *Node) Empty() bool {
	return n.Kind == Null || n.Kind >= List && len(n.Items)+len(n.Pairs) == 0
}

// Before tells whether the node stands above or left of another of its file.
func (n *Node) Before(m *Node) bool {
	return n.Line < m.Line || n.Line == m.Line && n.Column < m.Column
}

// Locate returns the place of a text within a scalar, where the file's line
// shows it, else the scalar's own.
func (n *Node) Locate(text string) *Node {
	line := []rune(n.File.line(n.Line))
	if n.Column < 1 || n.Column > len(line) {
		return n
	}
	before, _, ok := strings.Cut(string(line[n.Column-1:]), text)
	if !ok {
		return n
	}
	return &Node{File: n.File, Line: n.Line, Column: n.Column + len([]rune(before))}
}

// Hide marks all scalars of the node, though not its keys, as secret: excerpts
// show them as dots.
func (n *Node) Hide() {
	if n.Kind < List {
		n.File.hide(n.Line, span{n.Column, n.end})
	}
	for _, item := range n.Items {
		item.Hide()
	}
	for _, p := range n.Pairs {
		p.Value.Hide()
	}
}

// Flaws returns the mistakes of the node and of all below it.
func (n *Node) Flaws() []Mistake {
	all := slices.Clone(n.Wrong)
	for _, item := range n.Items {
		all = append(all, item.Flaws()...)
	}
	for _, p := range n.Pairs {
		all = append(all, p.Value.Flaws()...)
	}
	return all
}

// JSON returns the node as JSON, with its texts as expand gives them.
func (n *Node) JSON(expand func(*Node) string) string {
	var b strings.Builder
	n.json(&b, expand)
	return b.String()
}

func (n *Node) json(b *strings.Builder, expand func(*Node) string) {
	switch n.Kind {
	case List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.json(b, expand)
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, p := range n.Pairs {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, p.Key.Text)
			b.WriteByte(':')
			p.Value.json(b, expand)
		}
		b.WriteByte('}')
	case Text:
		quote(b, expand(n))
	case Bool, Int, Float:
		b.WriteString(n.Plain)
	case Null, Bad:
		b.WriteString("null")
	}
}

func quote(b *strings.Builder, s string) {
	q, err := json.Marshal(s)
	if err != nil { // texts always marshal
		q = []byte(`""`)
	}
	b.Write(q)
}
