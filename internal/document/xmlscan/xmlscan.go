// Package xmlscan reads XML as a stream of starts, ends and texts, several times
// as fast as encoding/xml and with less that a document can make it do: there are
// no entities but the five of XML, nothing is ever loaded, and depth and the size of
// one tag are bounded.
//
//	s := xmlscan.New(r)
//	for s.Next() {
//		switch {
//		case s.Starts("row"):
//			number := s.Attr("r")
//		case s.Kind == xmlscan.Text:
//			text.Write(s.Text)
//		}
//	}
//	if err := s.Err(); err != nil { … }
//
// Names are local: prefixes of namespaces are cut off, for the formats that are
// read here use no name in two namespaces at one place. It does not check that a
// document is well formed beyond what it needs.
package xmlscan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Bounds on one document.
const (
	maxDepth = 2000
	maxTag   = 8 << 20 // bytes of one tag, comment or piece of text
	chunk    = 64 << 10
)

// What can be wrong beside the errors of the reader.
var (
	ErrEntities = errors.New("the XML declares entities, which are never expanded: hostile, or not meant to be read by others")
	ErrDeep     = fmt.Errorf("the XML is nested more than %d levels deep", maxDepth)
	ErrCut      = errors.New("the XML ends in the middle: the file is cut off or damaged")
)

// A Kind is what Next has found.
type Kind uint8

// The kinds of what is found.
const (
	Start Kind = iota + 1
	End
	Text
)

// A Scanner reads one document. What it gives is valid until the next Next.
type Scanner struct {
	Kind Kind
	Name []byte // local, of Start and End
	Text []byte // of Text, with references resolved; long ones come in pieces

	r     io.Reader
	buf   []byte
	pos   int
	eof   bool
	err   error
	depth int
	attrs []attr
	empty bool // a Start that ends at once
	began bool // text outside of the root is dropped
}

type attr struct{ prefix, local, value []byte }

// New returns a Scanner of r, whose encoding is told by its first bytes.
func New(r io.Reader) *Scanner {
	s := &Scanner{r: r, buf: make([]byte, 0, chunk)}
	s.fill()
	decode(s)
	return s
}

// Err returns what ended the scan, and nil at the end of the document.
func (s *Scanner) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// Depth is how many elements are open.
func (s *Scanner) Depth() int { return s.depth }

// Starts reports whether this is the start of an element with the name.
func (s *Scanner) Starts(name string) bool { return s.Kind == Start && string(s.Name) == name }

// Ends reports whether this is the end of an element with the name.
func (s *Scanner) Ends(name string) bool { return s.Kind == End && string(s.Name) == name }

// Attr returns an attribute without a prefix, or "".
func (s *Scanner) Attr(local string) string {
	for _, a := range s.attrs {
		if len(a.prefix) == 0 && string(a.local) == local {
			return string(a.value)
		}
	}
	return ""
}

// Prefixed returns an attribute with any prefix, or "".
func (s *Scanner) Prefixed(local string) string {
	for _, a := range s.attrs {
		if len(a.prefix) > 0 && string(a.local) == local {
			return string(a.value)
		}
	}
	return ""
}

// Any returns an attribute with or without a prefix, or "".
func (s *Scanner) Any(local string) string {
	for _, a := range s.attrs {
		if string(a.local) == local {
			return string(a.value)
		}
	}
	return ""
}

// Attrs calls f with every attribute.
func (s *Scanner) Attrs(f func(prefix, local, value string)) {
	for _, a := range s.attrs {
		f(string(a.prefix), string(a.local), string(a.value))
	}
}

// Skip reads to the end of the element that has just started.
func (s *Scanner) Skip() {
	for depth := s.depth; s.Next(); {
		if s.Kind == End && s.depth < depth {
			return
		}
	}
}

// Inner reads to the end of the element that has just started, and returns all
// text in it, at most so many bytes.
func (s *Scanner) Inner(most int) string {
	var text []byte
	for depth := s.depth; s.Next(); {
		if s.Kind == End && s.depth < depth {
			break
		}
		if s.Kind == Text && len(text) < most {
			text = append(text, s.Text...)
		}
	}
	return string(text)
}

// Next goes to what comes next. It returns false at the end, and on an error.
func (s *Scanner) Next() bool {
	if s.empty {
		s.empty = false
		s.Kind = End
		s.depth--
		s.attrs = s.attrs[:0]
		return true
	}
	for s.err == nil {
		if s.pos == len(s.buf) && !s.fill() {
			return s.end()
		}
		if s.buf[s.pos] != '<' {
			if s.text() {
				return true
			}
			continue
		}
		if found := s.markup(); found {
			return true
		}
	}
	return false
}

func (s *Scanner) end() bool {
	if errors.Is(s.err, io.EOF) && (s.depth > 0 || !s.began) {
		s.err = ErrCut
	}
	return false
}

// fill reads more behind what is not used so far. It reports whether there is more.
func (s *Scanner) fill() bool {
	if s.eof || s.err != nil && !errors.Is(s.err, io.EOF) {
		if s.err == nil {
			s.err = io.EOF
		}
		return false
	}
	if s.pos > 0 {
		s.buf = s.buf[:copy(s.buf, s.buf[s.pos:])]
		s.pos = 0
	}
	if len(s.buf) == cap(s.buf) {
		if cap(s.buf) >= maxTag {
			s.err = fmt.Errorf("the XML has a tag of more than %d MiB", maxTag>>20)
			return false
		}
		s.buf = append(make([]byte, 0, 2*cap(s.buf)), s.buf...)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			s.eof = true
			if !errors.Is(err, io.EOF) {
				s.err = err
			} else if n == 0 {
				s.err = io.EOF
			}
			return n > 0
		}
		if n > 0 {
			return true
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// until returns what comes before mark, from the position on, and goes behind it.
// Where that does not fit, it is an error.
func (s *Scanner) until(mark string, from int) ([]byte, bool) {
	for {
		if i := bytes.Index(s.buf[s.pos+from:], []byte(mark)); i >= 0 {
			found := s.buf[s.pos+from : s.pos+from+i]
			s.pos += from + i + len(mark)
			return found, true
		}
		if !s.fill() {
			if errors.Is(s.err, io.EOF) || s.err == nil {
				s.err = ErrCut
			}
			return nil, false
		}
	}
}

// drop goes behind mark, however far that is.
func (s *Scanner) drop(mark string) {
	for {
		if i := bytes.Index(s.buf[s.pos:], []byte(mark)); i >= 0 {
			s.pos += i + len(mark)
			return
		}
		s.pos = max(s.pos, len(s.buf)-len(mark)+1)
		if !s.fill() {
			if errors.Is(s.err, io.EOF) {
				s.err = ErrCut
			}
			return
		}
	}
}

// text reads a text, or a piece of a long one.
func (s *Scanner) text() bool {
	i := bytes.IndexByte(s.buf[s.pos:], '<')
	for i < 0 && len(s.buf)-s.pos < chunk {
		if !s.fill() {
			break
		}
		i = bytes.IndexByte(s.buf[s.pos:], '<')
	}
	piece := s.buf[s.pos:]
	if i >= 0 {
		piece = piece[:i]
	} else if !s.eof {
		piece = whole(piece)
	}
	s.pos += len(piece)
	if s.depth == 0 {
		return false
	}
	s.Kind, s.Text = Text, resolve(piece)
	return true
}

// markup reads what begins with <. It reports whether that is something to give.
func (s *Scanner) markup() bool {
	for len(s.buf)-s.pos < len("<![CDATA[") && s.fill() {
		continue
	}
	if errors.Is(s.err, io.EOF) {
		s.err = nil // what is there must do
	}
	rest := s.buf[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		s.pos += 4
		s.drop("-->")
	case bytes.HasPrefix(rest, []byte("<?")):
		s.pos += 2
		s.drop("?>")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		text, ok := s.until("]]>", len("<![CDATA["))
		s.Kind, s.Text = Text, text
		return ok && s.depth > 0
	case bytes.HasPrefix(rest, []byte("<!")):
		declaration(s)
	case bytes.HasPrefix(rest, []byte("</")):
		name, ok := s.until(">", 2)
		if !ok {
			return false
		}
		_, s.Name = cutName(bytes.TrimSpace(name))
		s.Kind = End
		s.attrs = s.attrs[:0]
		s.depth--
		if s.depth < 0 {
			s.err = errors.New("the XML closes more than it opens: the file is damaged")
			return false
		}
		return true
	default:
		return s.start()
	}
	return false
}

// declaration goes behind a document type.
func declaration(s *Scanner) {
	text, ok := s.until(">", 0)
	if !ok {
		return
	}
	if !bytes.Contains(text, []byte("[")) {
		return
	}
	inner := bytes.Clone(text)
	for !bytes.Contains(inner, []byte("]")) {
		more, ok := s.until(">", 0)
		if !ok {
			return
		}
		inner = append(inner, more...)
		if bytes.Contains(inner, []byte("<!ENTITY")) {
			break
		}
	}
	if bytes.Contains(inner, []byte("<!ENTITY")) {
		s.err = ErrEntities
	}
}

// start reads a start tag.
func (s *Scanner) start() bool {
	end := tagEnd(s)
	if end < 0 {
		return false
	}
	tag := s.buf[s.pos+1 : end]
	s.pos = end + 1
	if s.depth++; s.depth > maxDepth {
		s.err = ErrDeep
		return false
	}
	s.began = true
	if n := len(tag); n > 0 && tag[n-1] == '/' {
		s.empty = true
		tag = tag[:n-1]
	}
	i := 0
	for i < len(tag) && !space(tag[i]) {
		i++
	}
	_, s.Name = cutName(tag[:i])
	s.Kind = Start
	s.attributes(tag[i:])
	return true
}

// tagEnd returns the position of the > that ends a tag, outside of quotes.
func tagEnd(s *Scanner) int {
	quote := byte(0)
	for i := s.pos + 1; ; i++ {
		if i == len(s.buf) {
			before := s.pos
			if !s.fill() {
				if s.err == nil || errors.Is(s.err, io.EOF) {
					s.err = ErrCut
				}
				return -1
			}
			i -= before - s.pos
		}
		switch c := s.buf[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		}
	}
}

func (s *Scanner) attributes(b []byte) {
	s.attrs = s.attrs[:0]
	for {
		for len(b) > 0 && space(b[0]) {
			b = b[1:]
		}
		eq := bytes.IndexByte(b, '=')
		if eq <= 0 {
			return
		}
		name := bytes.TrimRight(b[:eq], " \t\r\n")
		b = bytes.TrimLeft(b[eq+1:], " \t\r\n")
		if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
			return
		}
		end := bytes.IndexByte(b[1:], b[0])
		if end < 0 {
			return
		}
		prefix, local := cutName(name)
		s.attrs = append(s.attrs, attr{prefix, local, resolve(b[1 : 1+end])})
		b = b[end+2:]
	}
}
