package call

import (
	"bytes"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/tool"
)

// shortString is the length in bytes up to which pruning leaves a string alone:
// names, dates and the words of an enumeration are checked by clients.
const shortString = 64

// prune shortens a JSON object to about so many bytes, in such a way that it
// still fits its schema nearly always: objects keep their members, arrays lose
// their last elements, long strings their ends. It reports false where what must
// stay is more than that. The structure must have been checked.
func prune(b tool.Bytes, budget int) ([]byte, bool) {
	target := budget
	for range 4 {
		if target <= 0 {
			break
		}
		p := pruner{in: b, budget: target}
		p.value()
		if len(p.out) <= budget {
			return p.out, true
		}
		target -= len(p.out) - budget
	}
	return nil, false
}

// A pruner copies JSON from in to out.
type pruner struct {
	in     tool.Bytes
	i      int // in the first piece of in
	out    []byte
	budget int
	skip   int // above zero: what is read is left out
}

// peek returns the next byte that is no space, or 0 at the end.
func (p *pruner) peek() byte {
	for len(p.in) > 0 {
		for ; p.i < len(p.in[0]); p.i++ {
			if c := p.in[0][p.i]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				return c
			}
		}
		p.in, p.i = p.in[1:], 0
	}
	return 0
}

// take takes the byte that peek returned.
func (p *pruner) take(c byte) {
	p.i++
	p.put(c)
}

func (p *pruner) put(c ...byte) {
	if p.skip == 0 {
		p.out = append(p.out, c...)
	}
}

func (p *pruner) value() {
	switch c := p.peek(); c {
	case '{', '[':
		p.take(c)
		p.members(c == '{')
	case '"':
		p.text(true)
	default:
		p.literal()
	}
}

// members copies what is between two brackets.
func (p *pruner) members(object bool) {
	skipped := false
	for n := 0; ; n++ {
		c := p.peek()
		if c == 0 {
			return
		}
		if c == '}' || c == ']' {
			break
		}
		if c == ',' {
			p.i++
			c = p.peek()
		}
		if !object && !skipped && len(p.out) >= p.budget {
			skipped = true
			p.skip++
		}
		if n > 0 {
			p.put(',')
		}
		if object && c == '"' {
			p.text(false)
			if p.peek() == ':' {
				p.take(':')
			}
		}
		p.value()
	}
	if skipped {
		p.skip--
	}
	p.take(p.peek())
}

// literal copies a number, true, false or null.
func (p *pruner) literal() {
	for len(p.in) > 0 {
		for ; p.i < len(p.in[0]); p.i++ {
			c := p.in[0][p.i]
			if bytes.IndexByte([]byte(",]} \t\r\n"), c) >= 0 {
				return
			}
			p.put(c)
		}
		p.in, p.i = p.in[1:], 0
	}
}

// text copies a string, and cuts a long one where there is no room for it.
func (p *pruner) text(mayCut bool) {
	start := len(p.out)
	p.take('"')
	// Enough to know whether it is short, or all that there is room for.
	room := max(shortString+1, p.budget-len(p.out)) + utf8.UTFMax
	s := stringSkipper{inside: true}
	over := false
	for len(p.in) > 0 && s.inside {
		piece := p.in[0]
		end := s.skip(piece, p.i)
		part := piece[p.i:end]
		if n := room - (len(p.out) - start); mayCut && len(part) > n {
			part, over = part[:max(n, 0)], true
		}
		p.put(part...)
		if p.i = end; p.i == len(piece) {
			p.in, p.i = p.in[1:], 0
		}
	}
	if p.skip > 0 || !mayCut {
		return
	}
	if length := len(p.out) - start; !over && (length <= shortString || len(p.out) <= p.budget) {
		return
	}
	keep := max(p.budget-start, 1) // at least the quote
	inside := p.out[start+1 : min(start+max(keep, 1), len(p.out))]
	p.out = append(p.out[:start+1+len(wholeEscapes(inside))], `…"`...)
}

// wholeEscapes returns the beginning of the inside of a JSON string without what
// was cut within a character or an escape.
func wholeEscapes(b []byte) []byte {
	end := 0
	for i := 0; i < len(b); {
		n := 1
		switch {
		case b[i] == '"':
			return b[:end]
		case b[i] == '\\' && i+1 < len(b) && b[i+1] == 'u':
			n = 6
		case b[i] == '\\':
			n = 2
		case b[i] >= utf8.RuneSelf:
			if !utf8.FullRune(b[i:]) {
				return b[:end]
			}
			_, n = utf8.DecodeRune(b[i:])
		}
		if i += n; i > len(b) {
			return b[:end]
		}
		end = i
	}
	return b[:end]
}
