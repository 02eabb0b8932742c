package evtx

import (
	"strings"
	"unicode/utf8"
)

// A Kind says what a Node is.
type Kind byte

// The kinds of nodes.
const (
	Element Kind = iota
	Text
	CDATA
	Instruction
)

// A Node is a part of an event as XML.
type Node struct {
	Kind     Kind
	Name     string // of an element, or the target of an instruction
	Text     string // of anything but an element
	Attrs    []Attr
	Children []*Node

	// While the element is read:
	rows   []string // an array that it is made of
	absent bool     // a value that it may go without is not there
}

// An Attr is an attribute.
type Attr struct{ Name, Value string }

// child returns the first element of that name below n, or nil.
func (n *Node) child(name string) *Node {
	if n == nil {
		return nil
	}
	for _, c := range n.Children {
		if c.Kind == Element && c.Name == name {
			return c
		}
	}
	return nil
}

// attr returns the value of an attribute.
func (n *Node) attr(name string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// text returns the text of n and of what is in it.
func (n *Node) text() string {
	if n == nil {
		return ""
	}
	if n.Kind == Text || n.Kind == CDATA {
		return n.Text
	}
	if len(n.Children) == 1 {
		return n.Children[0].text()
	}
	var b strings.Builder
	for _, c := range n.Children {
		b.WriteString(c.text())
	}
	return b.String()
}

// mapped returns a copy of n whose texts and values went through f. name is what those
// of n are called.
func (n *Node) mapped(name string, f func(name, text string) string) *Node {
	c := *n
	if n.Kind != Element {
		c.Text = f(name, n.Text)
		return &c
	}
	if own := n.attr("Name"); own != "" {
		name = own
	} else if n.Name != "Data" {
		name = n.Name
	}
	c.Attrs = make([]Attr, len(n.Attrs))
	for i, a := range n.Attrs {
		c.Attrs[i] = Attr{a.Name, a.Value}
		if a.Name != "Name" {
			c.Attrs[i].Value = f(a.Name, a.Value)
		}
	}
	if !n.hasElements() { // a text may be in several parts
		if text := n.text(); text != "" && f(name, text) != text {
			c.Children = []*Node{{Kind: Text, Text: f(name, text)}}
			return &c
		}
		return &c
	}
	c.Children = make([]*Node, len(n.Children))
	for i, child := range n.Children {
		c.Children[i] = child.mapped(name, f)
	}
	return &c
}

// hasElements reports whether there is an element in n.
func (n *Node) hasElements() bool {
	for _, c := range n.Children {
		if c.Kind == Element {
			return true
		}
	}
	return false
}

// writeXML writes n and what is in it. An element that holds elements has them on
// lines of their own.
func (n *Node) writeXML(b *strings.Builder, indent int) {
	switch n.Kind {
	case Text:
		escape(b, n.Text, false)
		return
	case CDATA:
		b.WriteString("<![CDATA[" + strings.ReplaceAll(strings.Map(xmlRune, n.Text), "]]>", "]]]]><![CDATA[>") + "]]>")
		return
	case Instruction:
		b.WriteString("<?" + xmlName(n.Name))
		if n.Text != "" {
			b.WriteString(" " + strings.ReplaceAll(strings.Map(xmlRune, n.Text), "?>", "? >"))
		}
		b.WriteString("?>")
		return
	case Element:
	}
	name := xmlName(n.Name)
	b.WriteString("<" + name)
	seen := map[string]bool{}
	for _, a := range n.Attrs {
		attr := xmlName(a.Name)
		if seen[attr] {
			continue // twice would be no XML
		}
		seen[attr] = true
		b.WriteString(" " + attr + `="`)
		escape(b, a.Value, true)
		b.WriteByte('"')
	}
	if len(n.Children) == 0 {
		b.WriteString("/>")
		return
	}
	b.WriteByte('>')
	lines := n.hasElements() && !n.hasText()
	for _, c := range n.Children {
		if lines {
			newLine(b, indent+1)
		}
		c.writeXML(b, indent+1)
	}
	if lines {
		newLine(b, indent)
	}
	b.WriteString("</" + name + ">")
}

func (n *Node) hasText() bool {
	for _, c := range n.Children {
		if c.Kind == Text || c.Kind == CDATA {
			return true
		}
	}
	return false
}

func newLine(b *strings.Builder, indent int) {
	b.WriteByte('\n')
	for range min(indent, maxDepth) {
		b.WriteString("  ")
	}
}

func escape(b *strings.Builder, s string, attribute bool) {
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"' && attribute:
			b.WriteString("&quot;")
		case r == '\r':
			b.WriteString("&#13;")
		case attribute && (r == '\n' || r == '\t'):
			b.WriteString(map[rune]string{'\n': "&#10;", '\t': "&#9;"}[r])
		default:
			b.WriteRune(xmlRune(r))
		}
	}
}

// xmlRune replaces what may not stand in XML.
func xmlRune(r rune) rune {
	if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r < 0xfffe || r > 0xffff {
		return r
	}
	return utf8.RuneError
}

// xmlName makes a name into one that every reader of XML takes.
func xmlName(s string) string {
	colon := strings.IndexByte(s, ':')
	name := strings.Map(func(r rune) rune {
		if nameStart(r) || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		if r == ':' && colon > 0 {
			colon = -1 // one, in the middle
			return r
		}
		return '_'
	}, s)
	if r, _ := utf8.DecodeRuneInString(name); !nameStart(r) {
		name = "_" + name
	}
	prefix, local, ok := strings.Cut(name, ":")
	if r, _ := utf8.DecodeRuneInString(local); ok && !nameStart(r) {
		return prefix + ":_" + local
	}
	return name
}

// nameStart reports whether a name may begin with r, by all editions of XML.
func nameStart(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
		r >= 0xc0 && r <= 0xd6 || r >= 0xd8 && r <= 0xf6 || r >= 0xf8 && r <= 0xff || r >= 0x4e00 && r <= 0x9fa5
}
