package evtx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// What one record may hold. A record has less than 64 KiB, but a template that uses
// a value many times makes much of little.
const (
	maxDepth  = 64      // of elements, and of fragments in each other
	maxNodes  = 16_384  // elements, attributes and texts
	maxSteps  = 262_144 // tokens and values that are looked at
	maxText   = 2 << 20 // bytes
	maxValues = 4_096   // of one template, or in one array
	maxName   = 1_024   // characters
)

// Tokens. Bit 6 says that something of the same kind follows, or that an element has
// attributes.
const (
	tokenEnd          = 0x00
	tokenOpen         = 0x01
	tokenCloseStart   = 0x02
	tokenCloseEmpty   = 0x03
	tokenCloseElement = 0x04
	tokenValue        = 0x05
	tokenAttribute    = 0x06
	tokenCDATA        = 0x07
	tokenCharRef      = 0x08
	tokenEntityRef    = 0x09
	tokenPITarget     = 0x0a
	tokenPIData       = 0x0b
	tokenTemplate     = 0x0c
	tokenNormal       = 0x0d
	tokenOptional     = 0x0e
	tokenFragment     = 0x0f
	tokenMore         = 0x40
)

var (
	errCut     = errors.New("it ends too early")
	errBrief   = errors.New("the rest was not read")
	errNoEvent = errors.New("it holds no event")
	errDepth   = fmt.Errorf("it is nested deeper than %d", maxDepth)
	errNodes   = fmt.Errorf("it has more than %d parts", maxNodes)
	errSteps   = fmt.Errorf("reading it takes more than %d steps", maxSteps)
	errText    = fmt.Errorf("its text is longer than %d bytes", maxText)
)

// A cursor is a place in the chunk, and where what is read there ends.
type cursor struct {
	buf      []byte // the chunk
	pos, end int
}

func (at *cursor) take(n int) ([]byte, error) {
	if n < 0 || at.pos < 0 || at.end > len(at.buf) || at.pos+n > at.end {
		return nil, errCut
	}
	b := at.buf[at.pos : at.pos+n]
	at.pos += n
	return b, nil
}

func (at *cursor) u8() (byte, error) {
	b, err := at.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (at *cursor) u16() (int, error) {
	b, err := at.take(2)
	if err != nil {
		return 0, err
	}
	return int(binary.LittleEndian.Uint16(b)), nil
}

func (at *cursor) u32() (uint32, error) {
	b, err := at.take(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

// counted reads text with its length in characters before it.
func (at *cursor) counted() (string, error) {
	n, err := at.u16()
	if err != nil {
		return "", err
	}
	b, err := at.take(2 * n)
	return utf16Text(b), err
}

// A substitution is one value of a template instance.
type substitution struct {
	kind       byte
	start, end int
}

// A parser reads one record. Names, templates and values are all addressed from the
// beginning of the chunk, so it walks over that.
type parser struct {
	c     *Chunk
	depth int
	nodes int
	steps int
	text  int
	brief bool // end behind the element System
}

// from returns a cursor for a part of the chunk.
func (p *parser) from(pos, end int) *cursor { return &cursor{p.c.buf, pos, end} }

// deeper counts one level.
func (p *parser) deeper() error {
	if p.depth++; p.depth > maxDepth {
		return errDepth
	}
	return nil
}

// step counts what was looked at, whether or not it led to anything: a template may
// have its own instances for content.
func (p *parser) step(n int) error {
	if p.steps += n; p.steps > maxSteps {
		return errSteps
	}
	return nil
}

// node counts one more part with so much text.
func (p *parser) node(text int) error {
	p.nodes++
	p.text += text
	switch {
	case p.nodes > maxNodes:
		return errNodes
	case p.text > maxText:
		return errText
	}
	return nil
}

// fragment reads a fragment into parent: of the record, of a template's definition
// (where values is what it is filled with), or of a value.
func (p *parser) fragment(at *cursor, parent *Node, values []substitution, definition bool) error {
	defer func() { p.depth-- }()
	if err := p.deeper(); err != nil {
		return err
	}
	for at.pos < at.end {
		if err := p.step(1); err != nil {
			return err
		}
		token := at.buf[at.pos]
		switch token &^ tokenMore {
		case tokenEnd:
			at.pos++
			return nil
		case tokenFragment:
			if _, err := at.take(4); err != nil {
				return err
			}
		case tokenTemplate:
			if err := p.template(at, parent); err != nil {
				return err
			}
		default:
			stop, err := p.item(at, parent, values, definition)
			if err != nil {
				return err
			}
			if stop {
				return fmt.Errorf("token %#02x does not belong at byte %d of the chunk", token, at.pos-1)
			}
		}
	}
	return nil
}

// item reads one part of the content of an element. It returns true for the token
// that ends the element.
func (p *parser) item(at *cursor, parent *Node, values []substitution, definition bool) (bool, error) {
	start := at.pos
	token, err := at.u8()
	if err := errors.Join(err, p.step(1)); err != nil {
		return false, err
	}
	switch token &^ tokenMore {
	case tokenOpen:
		return false, p.element(at, parent, token, values, definition)
	case tokenCloseElement:
		return true, nil
	case tokenCDATA:
		s, err := at.counted()
		if err != nil {
			return false, err
		}
		return false, p.add(parent, &Node{Kind: CDATA, Text: s})
	case tokenPITarget:
		return false, p.instruction(at, parent)
	case tokenTemplate: // as a value that is a fragment has it
		at.pos = start
		return false, p.template(at, parent)
	case tokenFragment:
		_, err := at.take(3)
		return false, err
	case tokenNormal, tokenOptional:
		v, err := substituted(at, values)
		if err != nil {
			return false, err
		}
		if token&^tokenMore == tokenOptional && v.kind == typeNull {
			parent.absent = true
			return false, nil
		}
		return false, p.fill(parent, v)
	case tokenValue, tokenCharRef, tokenEntityRef:
		s, err := p.literal(at, token)
		if err != nil {
			return false, err
		}
		return false, p.addText(parent, s)
	}
	return false, fmt.Errorf("token %#02x is not known, at byte %d of the chunk", token, start)
}

// element reads an element whose token was read.
func (p *parser) element(at *cursor, parent *Node, token byte, values []substitution, definition bool) error {
	defer func() { p.depth-- }()
	if err := p.deeper(); err != nil {
		return err
	}
	if p.dependency(at, definition) {
		at.pos += 2
	}
	if _, err := at.u32(); err != nil { // its size, which the end token says better
		return err
	}
	name, err := p.name(at)
	if err != nil {
		return err
	}
	n := &Node{Kind: Element, Name: name}
	if err := p.add(parent, n); err != nil {
		return err
	}
	if token&tokenMore != 0 {
		if _, err := at.u32(); err != nil { // size of the attributes
			return err
		}
		if err := p.attributes(at, n, values); err != nil {
			return err
		}
	}
	end, err := at.u8()
	switch {
	case err != nil:
		return err
	case end == tokenCloseEmpty:
		return nil
	case end != tokenCloseStart:
		return fmt.Errorf("the start of element %s does not end, at byte %d of the chunk", name, at.pos-1)
	}
	for {
		stop, err := p.item(at, n, values, definition)
		if err != nil {
			return err
		}
		if !stop {
			continue
		}
		if p.brief && name == "System" && parent.Name == "Event" {
			return errBrief
		}
		if n.absent && len(n.Children)+len(n.rows) == 0 { // what it is for is not there
			parent.Children = parent.Children[:len(parent.Children)-1]
			return nil
		}
		return p.repeat(parent, n)
	}
}

// dependency reports whether an element begins with a dependency identifier: in
// definitions it does, elsewhere not, except where somebody wrote it differently. The
// place of a name with its right hash tells.
func (p *parser) dependency(at *cursor, definition bool) bool {
	with, without := p.from(at.pos+6, at.end), p.from(at.pos+4, at.end)
	if definition {
		return p.isName(with) || !p.isName(without)
	}
	return !p.isName(without) && p.isName(with)
}

func (p *parser) isName(at *cursor) bool {
	offset, err := at.u32()
	if err != nil || int64(offset) < chunkHeaderSize || int64(offset) > int64(len(p.c.buf)) {
		return false
	}
	to := p.from(int(offset)+4, len(p.c.buf))
	hash, err1 := to.u16()
	count, err2 := to.u16()
	if err1 != nil || err2 != nil || count == 0 || count > maxName {
		return false
	}
	b, err := to.take(2 * count)
	if err != nil {
		return false
	}
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum = sum*65599 + uint32(binary.LittleEndian.Uint16(b[i:]))
	}
	return uint16(sum) == uint16(hash)
}

// name reads a name: its place, and the name itself where it stands right here.
func (p *parser) name(at *cursor) (string, error) {
	offset, err := at.u32()
	if err != nil {
		return "", err
	}
	here := int64(offset) == int64(at.pos)
	if s, ok := p.c.names[offset]; ok && !here {
		return s, nil
	}
	if int64(offset) >= int64(len(p.c.buf)) {
		return "", fmt.Errorf("a name is said to be at byte %d of the chunk", offset)
	}
	to := p.from(int(offset), len(p.c.buf))
	if here {
		to = at
	}
	if _, err := to.take(6); err != nil { // the next name, and the hash
		return "", err
	}
	count, err := to.u16()
	if err != nil {
		return "", err
	}
	if count > maxName {
		return "", fmt.Errorf("a name of %d characters at byte %d of the chunk", count, offset)
	}
	b, err := to.take(2*count + 2)
	if err != nil {
		return "", err
	}
	s := utf16Text(b)
	if p.c.names == nil {
		p.c.names = map[uint32]string{}
	}
	p.c.names[offset] = s
	return s, nil
}

// attributes reads those of an element, up to the token that ends its start.
func (p *parser) attributes(at *cursor, n *Node, values []substitution) error {
	for at.pos < at.end && at.buf[at.pos]&^tokenMore == tokenAttribute {
		at.pos++
		name, err := p.name(at)
		if err != nil {
			return err
		}
		if err := p.node(len(name)); err != nil {
			return err
		}
		text, present, err := p.attributeText(at, values)
		if err != nil {
			return err
		}
		if present {
			n.Attrs = append(n.Attrs, Attr{name, text})
		}
	}
	return nil
}

// attributeText reads the value of an attribute. It returns false where that is one
// value of a template, and there is none: the attribute is then left out.
func (p *parser) attributeText(at *cursor, values []substitution) (string, bool, error) {
	var b strings.Builder
	present, empty := false, true
	for at.pos < at.end {
		if err := p.step(1); err != nil {
			return "", false, err
		}
		token := at.buf[at.pos]
		switch token &^ tokenMore {
		case tokenNormal, tokenOptional:
			at.pos++
			v, err := substituted(at, values)
			if err != nil {
				return "", false, err
			}
			empty = false
			if v.kind == typeNull {
				continue
			}
			b.WriteString(strings.Join(p.texts(v), ", "))
		case tokenValue, tokenCharRef, tokenEntityRef:
			at.pos++
			s, err := p.literal(at, token)
			if err != nil {
				return "", false, err
			}
			b.WriteString(s)
		default:
			return b.String(), present || empty, nil
		}
		present = true
		if err := p.node(0); err != nil {
			return "", false, err
		}
		if p.text+b.Len() > maxText {
			return "", false, errText
		}
	}
	p.text += b.Len()
	return b.String(), present || empty, nil
}

// literal reads a text that stands in the XML itself; its token was read.
func (p *parser) literal(at *cursor, token byte) (string, error) {
	switch token &^ tokenMore {
	case tokenCharRef:
		r, err := at.u16()
		return utf16Text([]byte{byte(r), byte(r >> 8)}), err
	case tokenEntityRef:
		name, err := p.name(at)
		if s, ok := entities[name]; ok {
			return s, err
		}
		return "&" + name + ";", err
	}
	kind, err := at.u8()
	if err != nil {
		return "", err
	}
	if w := widths[kind]; w > 0 {
		b, err := at.take(w)
		return valueText(kind, b), err
	}
	if kind == typeNull {
		return "", nil
	}
	if kind != typeString && kind != typeXML {
		n, err := at.u16()
		if err != nil {
			return "", err
		}
		b, err := at.take(n)
		return valueText(kind, b), err
	}
	return at.counted()
}

func (p *parser) instruction(at *cursor, parent *Node) error {
	target, err := p.name(at)
	if err != nil {
		return err
	}
	n := &Node{Kind: Instruction, Name: target}
	if at.pos < at.end && at.buf[at.pos]&^tokenMore == tokenPIData {
		at.pos++
		if n.Text, err = at.counted(); err != nil {
			return err
		}
	}
	return p.add(parent, n)
}

var entities = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'"}
