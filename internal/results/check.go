package results

import (
	"bytes"
	"encoding/json"
)

// maxDepth bounds the nesting of what counts as JSON.
const maxDepth = 1000

type checkState uint8

const (
	ckStart     checkState = iota // only an object or an array may come
	ckValue                       // a value must come
	ckFirstElem                   // a value or ]
	ckFirstKey                    // a key or }
	ckKey                         // a key must come
	ckColon                       // : must come
	ckAfter                       // , or a closing bracket
	ckString                      // inside a string
	ckEscape                      // behind a backslash
	ckHex                         // inside \u
	ckLiteral                     // inside a number, true, false or null
	ckEnd                         // nothing more may come
	ckBad                         // it is no JSON
)

// A checker finds out whether a text that comes in pieces is one JSON object or
// one JSON array, by RFC 8259. It looks at each byte once and keeps none.
type checker struct {
	state   checkState
	stack   []bool // of open brackets; true is an object
	key     bool   // the string is a key
	hex     int    // digits that \u still wants
	literal [64]byte
	n       int
}

// whole reports whether all that came is JSON.
func (c *checker) whole() bool { return c.state == ckEnd }

// feed reads the next piece.
func (c *checker) feed(p []byte) {
	for i := 0; i < len(p) && c.state != ckBad; {
		switch c.state {
		case ckString:
			i = c.inString(p, i)
		case ckEscape:
			c.escape(p[i])
			i++
		case ckHex:
			c.state = ckBad
			if isHex(p[i]) {
				c.state = ckHex
				if c.hex--; c.hex == 0 {
					c.state = ckString
				}
			}
			i++
		case ckLiteral:
			if isLiteral(p[i]) && c.n < len(c.literal) {
				c.literal[c.n] = p[i]
				c.n++
				i++
				continue
			}
			c.state = ckBad
			if json.Valid(c.literal[:c.n]) {
				c.state = ckAfter
			}
		default:
			if b := p[i]; b != ' ' && b != '\n' && b != '\r' && b != '\t' {
				c.token(b)
			}
			i++
		}
	}
}

// inString reads the inside of a string from p[i] on and returns where it stopped.
func (c *checker) inString(p []byte, i int) int {
	for ; i < len(p); i++ {
		switch b := p[i]; {
		case b == '"':
			c.state = ckAfter
			if c.key {
				c.state = ckColon
			}
			return i + 1
		case b == '\\':
			c.state = ckEscape
			return i + 1
		case b < 0x20:
			c.state = ckBad
			return i
		}
	}
	return i
}

func (c *checker) escape(b byte) {
	switch {
	case b == 'u':
		c.state, c.hex = ckHex, 4
	case bytes.IndexByte([]byte(`"\/bfnrt`), b) >= 0:
		c.state = ckString
	default:
		c.state = ckBad
	}
}

// token reads a byte outside of strings and literals.
func (c *checker) token(b byte) {
	switch state := c.state; {
	case b == '{' && c.wantsValue(), b == '[' && c.wantsValue():
		c.stack = append(c.stack, b == '{')
		c.state = ckFirstElem
		if b == '{' {
			c.state = ckFirstKey
		}
		if len(c.stack) > maxDepth {
			c.state = ckBad
		}
	case b == '}' && state == ckFirstKey, b == ']' && state == ckFirstElem,
		state == ckAfter && (b == '}' && c.object() || b == ']' && !c.object()):
		c.stack = c.stack[:len(c.stack)-1]
		c.state = ckAfter
		if len(c.stack) == 0 {
			c.state = ckEnd
		}
	case b == '"' && (state == ckFirstKey || state == ckKey):
		c.state, c.key = ckString, true
	case b == '"' && state != ckStart && c.wantsValue():
		c.state, c.key = ckString, false
	case b == ':' && state == ckColon:
		c.state = ckValue
	case b == ',' && state == ckAfter:
		c.state = ckValue
		if c.object() {
			c.state = ckKey
		}
	case isLiteral(b) && state != ckStart && c.wantsValue():
		c.state, c.literal[0], c.n = ckLiteral, b, 1
	default:
		c.state = ckBad
	}
}

func (c *checker) wantsValue() bool {
	return c.state == ckStart || c.state == ckValue || c.state == ckFirstElem
}

func (c *checker) object() bool { return c.stack[len(c.stack)-1] }

func isHex(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

func isLiteral(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b == '-' || b == '+' || b == '.' || b == 'E'
}
