package evtx

import (
	"errors"
	"fmt"
)

// template reads an instance of a template: where its definition is, the definition
// itself where it stands right here, and the values that it is filled with.
func (p *parser) template(at *cursor, parent *Node) error {
	if _, err := at.take(1 + 1 + 4); err != nil { // the token, a version, an id
		return err
	}
	offset, err := at.u32()
	if err != nil {
		return err
	}
	if int64(offset) < chunkHeaderSize || int64(offset) >= int64(len(p.c.buf)) {
		return fmt.Errorf("a template is said to be at byte %d of the chunk", offset)
	}
	definition := p.from(int(offset), len(p.c.buf))
	if definition.pos == at.pos {
		definition.end = at.end
	}
	begin := definition.pos
	if _, err := definition.take(4 + 16); err != nil { // the next definition, an id
		return err
	}
	size, err := definition.u32()
	if err != nil {
		return err
	}
	if int64(size) > int64(definition.end-definition.pos) {
		return fmt.Errorf("the template at byte %d of the chunk is said to have %d bytes", offset, size)
	}
	definition.end = definition.pos + int(size)
	if begin == at.pos {
		at.pos = definition.end
	}
	values, err := templateValues(at)
	if err := errors.Join(err, p.step(len(values)+1)); err != nil {
		return err
	}
	return p.fragment(definition, parent, values, true)
}

// templateValues reads the values of a template instance: first what they are, then they.
func templateValues(at *cursor) ([]substitution, error) {
	count, err := at.u32()
	if err != nil {
		return nil, err
	}
	if count > maxValues {
		return nil, fmt.Errorf("a template with %d values", count)
	}
	table, err := at.take(4 * int(count))
	if err != nil {
		return nil, err
	}
	values := make([]substitution, count)
	for i := range values {
		size := int(table[4*i]) | int(table[4*i+1])<<8
		values[i] = substitution{kind: table[4*i+2], start: at.pos, end: at.pos + size}
		if _, err := at.take(size); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// substituted returns the value that a substitution names; its token was read.
func substituted(at *cursor, values []substitution) (substitution, error) {
	id, err := at.u16()
	if err != nil {
		return substitution{}, err
	}
	if _, err := at.u8(); err != nil { // the type that it should have; the value says its own
		return substitution{}, err
	}
	if id >= len(values) {
		return substitution{}, nil
	}
	v := values[id]
	if v.start == v.end && v.kind != typeString && v.kind != typeANSI {
		v.kind = typeNull
	}
	return v, nil
}

// texts returns the text of a value, or those of an array.
func (p *parser) texts(v substitution) []string {
	b := p.c.buf[v.start:v.end]
	if v.kind&arrayFlag != 0 {
		return items(v.kind, b, maxValues)
	}
	return []string{valueText(v.kind, b)}
}

// fill puts a value into an element.
func (p *parser) fill(parent *Node, v substitution) error {
	switch {
	case v.kind == typeNull:
		return nil
	case v.kind == typeBinXML:
		return p.fragment(p.from(v.start, v.end), parent, nil, false)
	case v.kind&arrayFlag == 0:
		return p.addText(parent, p.texts(v)[0])
	}
	list := p.texts(v)
	if len(parent.Children) == 0 && len(parent.rows) == 0 {
		for _, s := range list {
			if err := p.node(len(s)); err != nil {
				return err
			}
		}
		parent.rows = list
		return nil
	}
	for _, s := range list {
		if err := p.addText(parent, s); err != nil {
			return err
		}
	}
	return nil
}

// repeat makes an element that holds an array and nothing else into as many elements
// as the array has values. It is the last child of its parent.
func (p *parser) repeat(parent, n *Node) error {
	rows := n.rows
	n.rows = nil
	if len(rows) == 0 {
		return nil
	}
	if len(n.Children) > 0 { // not alone
		var front []*Node
		for _, s := range rows {
			front = append(front, &Node{Kind: Text, Text: s})
		}
		n.Children = append(front, n.Children...)
		return nil
	}
	n.Children = []*Node{{Kind: Text, Text: rows[0]}}
	for _, s := range rows[1:] {
		if err := p.node(0); err != nil {
			return err
		}
		parent.Children = append(parent.Children, &Node{
			Kind: Element, Name: n.Name, Attrs: n.Attrs, Children: []*Node{{Kind: Text, Text: s}},
		})
	}
	return nil
}

func (p *parser) add(parent, n *Node) error {
	if err := p.node(len(n.Name) + len(n.Text)); err != nil {
		return err
	}
	parent.Children = append(parent.Children, n)
	return nil
}

// addText adds text. Text beside text stays apart: joining it again and again would
// take time that grows with the square of its length.
func (p *parser) addText(parent *Node, s string) error {
	if s == "" {
		return nil
	}
	return p.add(parent, &Node{Kind: Text, Text: s})
}
