package evtxtest

import "hash/fnv"

// A Builder writes the tokens of a chunk. Names and templates are written where they
// are used first, and referred to from then on.
type Builder struct {
	buf        []byte
	names      map[string]uint32
	templates  map[string]uint32
	definition bool // elements have a dependency identifier
}

// A Value fills a template. It is data, or for a value of type 0x21 what Fragment
// writes.
type Value struct {
	Kind     byte
	Data     []byte
	Fragment func()
}

// Raw writes bytes as they are.
func (b *Builder) Raw(p ...byte) { b.buf = append(b.buf, p...) }

// Len returns how many bytes the chunk has so far.
func (b *Builder) Len() int { return len(b.buf) }

// Tail returns the last n bytes, to be spoiled.
func (b *Builder) Tail(n int) []byte { return b.buf[len(b.buf)-n:] }

func (b *Builder) u16(n uint16) { b.buf = le.AppendUint16(b.buf, n) }
func (b *Builder) u32(n uint32) { b.buf = le.AppendUint32(b.buf, n) }
func (b *Builder) u64(n uint64) { b.buf = le.AppendUint64(b.buf, n) }

// hole leaves room for a size; the function that it returns fills it with the number
// of bytes behind it.
func (b *Builder) hole() func() {
	at := len(b.buf)
	b.u32(0)
	return func() { le.PutUint32(b.buf[at:], uint32(len(b.buf)-at-4)) }
}

func (b *Builder) name(s string) {
	if at, ok := b.names[s]; ok {
		b.u32(at)
		return
	}
	at := uint32(len(b.buf) + 4)
	b.names[s] = at
	b.u32(at)
	b.u32(0)
	units := UTF16(s)
	var hash uint32
	for i := 0; i < len(units); i += 2 {
		hash = hash*65599 + uint32(le.Uint16(units[i:]))
	}
	b.u16(uint16(hash))
	b.u16(uint16(len(units) / 2))
	b.buf = append(b.buf, units...)
	b.u16(0)
}

// Element writes an element; attributes and content may be nil.
func (b *Builder) Element(name string, attributes, content func()) {
	token := byte(0x01)
	if attributes != nil {
		token |= 0x40
	}
	b.Raw(token)
	if b.definition {
		b.u16(0xffff)
	}
	end := b.hole()
	b.name(name)
	if attributes != nil {
		end := b.hole()
		attributes()
		end()
	}
	if content == nil {
		b.Raw(0x03)
	} else {
		b.Raw(0x02)
		content()
		b.Raw(0x04)
	}
	end()
}

// Attr writes an attribute.
func (b *Builder) Attr(name string, value func()) {
	b.Raw(0x06)
	b.name(name)
	value()
}

// Value writes text.
func (b *Builder) Value(s string) {
	b.Raw(0x05, 1)
	b.counted(s)
}

func (b *Builder) counted(s string) {
	units := UTF16(s)
	b.u16(uint16(len(units) / 2))
	b.buf = append(b.buf, units...)
}

// CDATA writes a section of CDATA.
func (b *Builder) CDATA(s string) {
	b.Raw(0x07)
	b.counted(s)
}

// Char writes a reference to a character.
func (b *Builder) Char(r uint16) {
	b.Raw(0x08)
	b.u16(r)
}

// Entity writes a reference to an entity.
func (b *Builder) Entity(name string) {
	b.Raw(0x09)
	b.name(name)
}

// Instruction writes a processing instruction.
func (b *Builder) Instruction(target, data string) {
	b.Raw(0x0a)
	b.name(target)
	b.Raw(0x0b)
	b.counted(data)
}

// Substitution writes the place of a value in a definition.
func (b *Builder) Substitution(id int, kind byte, optional bool) {
	token := byte(0x0d)
	if optional {
		token = 0x0e
	}
	b.Raw(token)
	b.u16(uint16(id))
	b.Raw(kind)
}

// Template writes an instance of the template of that key. Its definition is written
// by the first instance.
func (b *Builder) Template(key string, values []Value, definition func()) {
	b.Raw(0x0c, 1)
	hash := fnv.New128a()
	hash.Write([]byte(key))
	id := hash.Sum(nil)
	b.buf = append(b.buf, id[:4]...)
	if at, ok := b.templates[key]; ok {
		b.u32(at)
	} else {
		at := uint32(len(b.buf) + 4)
		b.templates[key] = at
		b.u32(at)
		b.u32(0)
		b.buf = append(b.buf, id...)
		end := b.hole()
		b.Raw(0x0f, 1, 1, 0)
		was := b.definition
		b.definition = true
		definition()
		b.definition = was
		b.Raw(0)
		end()
	}
	b.u32(uint32(len(values)))
	table := len(b.buf)
	for _, v := range values {
		b.Raw(0, 0, v.Kind, 0)
	}
	for i, v := range values {
		start := len(b.buf)
		b.buf = append(b.buf, v.Data...)
		if v.Fragment != nil {
			b.fragment(v.Fragment)
		}
		le.PutUint16(b.buf[table+4*i:], uint16(len(b.buf)-start))
	}
}

func (b *Builder) fragment(write func()) {
	was := b.definition
	b.definition = false
	b.Raw(0x0f, 1, 1, 0)
	write()
	b.Raw(0)
	b.definition = was
}
