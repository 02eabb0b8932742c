package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// maxDepth bounds the nesting of one message.
const maxDepth = 512

var errDepth = fmt.Errorf("JSON is nested deeper than %d", maxDepth)

// A Span is the place of a value in a text, from the offset Start up to End.
// The zero Span is no value.
type Span struct{ Start, End int }

// Found reports whether there is a value.
func (s Span) Found() bool { return s.End > 0 }

// In returns the value of s in b, or nil where there is none.
func (s Span) In(b tool.Bytes) tool.Bytes {
	if !s.Found() {
		return nil
	}
	return b.Slice(s.Start, s.End)
}

// Members finds values in the JSON object b: spans[i] becomes the place of the
// member named keys[i]. It checks the structure of the whole object and reports
// an object that has one of the keys twice, since two readers of it could
// disagree about which one counts. The inside of strings is not checked, so
// that a large answer costs no more than a search for its quotes.
//
// There may be at most 16 keys, each of at most 17 letters (or longer where no
// escaped spelling needs to be recognised).
func Members(b tool.Bytes, keys []string, spans []Span) error {
	return (&scanner{keys: keys}).members(b, spans)
}

// OwnMembers is Members for an object that a server will read after somebody has
// decided about it: it also reports a member whose name is one of the keys but for
// its case, for there are readers that take it for that key.
func OwnMembers(b tool.Bytes, keys []string, spans []Span) error {
	return (&scanner{keys: keys, strict: true}).members(b, spans)
}

func (s *scanner) members(b tool.Bytes, spans []Span) error {
	for _, p := range b {
		if err := s.feed(p); err != nil {
			return err
		}
	}
	if err := s.finish(); err != nil {
		return err
	}
	copy(spans, s.spans[:len(s.keys)])
	return nil
}

type scanState uint8

const (
	stValue     scanState = iota // a value must come
	stFirstElem                  // a value or ]
	stFirstKey                   // a key or }
	stKey                        // a key must come
	stInKey                      // inside a key
	stColon                      // : must come
	stInString                   // inside a string value
	stInLiteral                  // inside a number, true, false or null
	stAfter                      // , or a closing bracket, or the end
)

// scanner is a JSON syntax checker that takes its text in pieces and remembers
// where the wanted members of the outermost object are.
type scanner struct {
	keys  []string
	spans [16]Span

	off    int // bytes seen before the current piece
	depth  int // open brackets
	state  scanState
	escape bool // the last byte of the piece before was a backslash that escapes
	member int  // index in keys of the member being read, or -1

	kinds [maxDepth / 64]uint64 // a bit for each open bracket: 1 is an object

	text [104]byte // the key or the literal being read
	n    int       // its length; more than len(text) where it was longer

	// capture keeps the scalar value of keys[0] in scalar, so that it is known
	// even where the text itself is dropped for its length.
	capture bool
	scalar  []byte

	strict bool   // members that are nearly keys are mistakes
	nearly string // one that was found

	watched watched // what of content blocks and _meta counts too; see ReadAnswer
}

// maxCapture bounds the scalar that is kept.
const maxCapture = 256

func (s *scanner) object() bool {
	return s.kinds[(s.depth-1)/64]>>((s.depth-1)%64)&1 == 1
}

func (s *scanner) push(object bool) error {
	if s.depth == maxDepth {
		return errDepth
	}
	bit := uint64(1) << (s.depth % 64)
	if object {
		s.kinds[s.depth/64] |= bit
	} else {
		s.kinds[s.depth/64] &^= bit
	}
	s.depth++
	return nil
}

// feed reads the next piece of the text.
func (s *scanner) feed(p []byte) error {
	for i := 0; i < len(p); {
		if s.depth > 1 {
			if i = s.inner(p, i); i == len(p) {
				break
			}
		}
		switch s.state {
		case stInString, stInKey:
			n, closed := s.skipString(p[i:])
			s.keep(p[i : i+n])
			i += n
			if closed {
				if err := s.closeString(s.off + i); err != nil {
					return err
				}
			}
			continue
		case stInLiteral:
			n := literalLen(p[i:])
			s.collect(p[i : i+n])
			if i += n; i == len(p) {
				continue
			}
			if err := s.closeLiteral(s.off + i); err != nil {
				return err
			}
			continue
		}
		c := p[i]
		if c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			i++
			continue
		}
		used, err := s.token(c, s.off+i)
		if err != nil {
			return err
		}
		if used {
			i++
		}
	}
	s.off += len(p)
	return nil
}

// inner reads what lies within the values of the outermost object, where nothing
// needs to be remembered, from p[i] on. It stops, without having read it, at
// whatever is not plain: the caller's loop then sees to it.
func (s *scanner) inner(p []byte, i int) int {
	state := s.state
loop:
	for i < len(p) {
		switch c := p[i]; state {
		case stInString, stInKey:
			if state == stInKey && s.watches() {
				break loop
			}
			j := bytes.IndexByte(p[i:], '"')
			if s.escape || j < 0 || j > 0 && p[i+j-1] == '\\' {
				break loop
			}
			i += j + 1
			if state == stInKey {
				state = stColon
			} else {
				state = stAfter
			}
			continue
		case stValue, stFirstElem:
			if c != '"' {
				break loop
			}
			state = stInString
		case stFirstKey, stKey:
			if c != '"' {
				break loop
			}
			state, s.n = stInKey, 0
		case stColon:
			if c != ':' {
				break loop
			}
			state = stValue
		case stAfter:
			if c != ',' {
				break loop
			}
			state = stValue
			if s.object() {
				state = stKey
			}
		default:
			break loop
		}
		i++
	}
	s.state = state
	return i
}

// keep remembers a part of a key, or of the string that is wanted itself.
func (s *scanner) keep(p []byte) {
	switch {
	case s.depth != 1:
		if s.state == stInKey && s.watches() {
			s.collect(p)
		}
	case s.state == stInKey:
		s.collect(p)
	case s.capture && s.member == 0 && len(s.scalar) <= maxCapture:
		s.scalar = append(s.scalar, p...)
	}
}

// token reads one byte outside of strings and literals. It reports false where
// the byte is the first of a literal, which is then read as such.
func (s *scanner) token(c byte, at int) (used bool, err error) {
	switch s.state {
	case stFirstElem:
		if c == ']' {
			s.pop(at)
			return true, nil
		}
		return s.begin(c, at)
	case stValue:
		return s.begin(c, at)
	case stFirstKey, stKey:
		if c == '}' && s.state == stFirstKey {
			s.pop(at)
			return true, nil
		}
		if c != '"' {
			return false, s.unexpected(c, at)
		}
		s.state, s.n = stInKey, 0
		return true, nil
	case stColon:
		if c != ':' {
			return false, s.unexpected(c, at)
		}
		s.state = stValue
		return true, nil
	}
	// stAfter
	switch {
	case s.depth == 0:
		return false, s.unexpected(c, at)
	case c == ',' && s.object():
		s.state = stKey
		return true, nil
	case c == ',':
		s.state = stValue
		return true, nil
	case c == '}' && s.object(), c == ']' && !s.object():
		s.pop(at)
		return true, nil
	}
	return false, s.unexpected(c, at)
}

// begin reads the first byte of a value.
func (s *scanner) begin(c byte, at int) (used bool, err error) {
	if s.depth == 0 && c != '{' {
		return false, errors.New("not a JSON object")
	}
	if s.depth == 1 && s.member >= 0 {
		s.spans[s.member].Start = at
	}
	switch {
	case c == '{':
		s.state = stFirstKey
		err := s.push(true)
		if s.watched.on {
			s.opened()
		}
		return true, err
	case c == '[':
		s.state = stFirstElem
		return true, s.push(false)
	case c == '"':
		s.state = stInString
		if s.capture && s.depth == 1 && s.member == 0 {
			s.scalar = append(s.scalar[:0], '"')
		}
		return true, nil
	case literalByte[c]:
		s.state, s.n = stInLiteral, 0
		return false, nil
	}
	return false, s.unexpected(c, at)
}

func (s *scanner) pop(at int) {
	s.depth--
	s.endValue(at + 1)
}

func (s *scanner) endValue(end int) {
	s.state = stAfter
	if s.depth == 1 && s.member >= 0 {
		s.spans[s.member].End = end
		s.member = -1
	}
}

func (s *scanner) closeString(end int) error {
	if s.state == stInString {
		s.endValue(end)
		return nil
	}
	s.state = stColon
	if s.depth != 1 {
		if s.watches() {
			return s.inBlock()
		}
		return nil
	}
	s.member = s.indexOf(s.keys)
	if s.nearly != "" {
		return fmt.Errorf("member %q is written in another case", s.nearly)
	}
	if s.member >= 0 && s.spans[s.member].Found() {
		return fmt.Errorf("member %q stands twice", s.keys[s.member])
	}
	return nil
}

// indexOf returns the index of the key just read among names, or -1.
func (s *scanner) indexOf(names []string) int {
	if s.n > len(s.text) {
		return -1
	}
	key := s.text[:s.n-1] // without the closing quote
	if bytes.IndexByte(key, '\\') >= 0 {
		key = unquote(key)
	}
	for i, k := range names {
		if string(key) == k {
			return i
		}
	}
	if s.strict {
		for _, k := range names {
			if strings.EqualFold(string(key), k) {
				s.nearly = k
			}
		}
	}
	return -1
}

func (s *scanner) closeLiteral(end int) error {
	if s.n <= len(s.text) && !validLiteral(s.text[:s.n]) {
		return fmt.Errorf("invalid literal %q at byte %d", string(s.text[:s.n]), end-s.n)
	}
	if s.capture && s.depth == 1 && s.member == 0 && s.n <= len(s.text) {
		s.scalar = append(s.scalar[:0], s.text[:s.n]...)
	}
	s.endValue(end)
	return nil
}

func (s *scanner) collect(p []byte) {
	if s.n < len(s.text) {
		copy(s.text[s.n:], p)
	}
	s.n += len(p)
}

// finish reports whether the text was one whole object.
func (s *scanner) finish() error {
	if s.state != stAfter || s.depth != 0 {
		return errors.New("JSON ends too early")
	}
	return nil
}

func (s *scanner) unexpected(c byte, at int) error {
	return fmt.Errorf("unexpected %q at byte %d of the JSON", c, at)
}

// skipString returns how many bytes of p belong to the string being read,
// closing quote included, and whether the string ends there.
func (s *scanner) skipString(p []byte) (n int, closed bool) {
	from := 0
	if s.escape {
		s.escape, from = false, 1
	}
	for {
		j := bytes.IndexByte(p[from:], '"')
		end := from + j
		if j < 0 {
			end = len(p)
		}
		k := end
		for k > from && p[k-1] == '\\' {
			k--
		}
		escaped := (end-k)%2 == 1
		if j < 0 {
			s.escape = escaped
			return len(p), false
		}
		if !escaped {
			return end + 1, true
		}
		from = end + 1
	}
}

var literalByte = func() (t [256]bool) {
	for _, c := range "0123456789+-.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		t[c] = true
	}
	return t
}()

func literalLen(p []byte) int {
	for i, c := range p {
		if !literalByte[c] {
			return i
		}
	}
	return len(p)
}

func validLiteral(p []byte) bool {
	switch string(p) {
	case "true", "false", "null":
		return true
	}
	return validNumber(p)
}

// validNumber follows the grammar of RFC 8259, section 6.
func validNumber(p []byte) bool {
	digits := func() (n int) {
		for len(p) > n && p[n] >= '0' && p[n] <= '9' {
			n++
		}
		p = p[n:]
		return n
	}
	if len(p) > 0 && p[0] == '-' {
		p = p[1:]
	}
	zero := len(p) > 0 && p[0] == '0'
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if len(p) > 0 && p[0] == '.' {
		p = p[1:]
		if digits() == 0 {
			return false
		}
	}
	if len(p) > 0 && (p[0] == 'e' || p[0] == 'E') {
		p = p[1:]
		if len(p) > 0 && (p[0] == '+' || p[0] == '-') {
			p = p[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return len(p) == 0
}
