package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/tool"
)

// An Answer is where the members of a result stand that Tenon reads: a CallToolResult, or
// what else a server answers with.
type Answer struct {
	Content, Structured, IsError, ResultType, Meta Span
	// Own is whether its _meta has a member of the names that are Tenon's: tenon/….
	Own bool
}

// Names that the protocol gives a meaning, in a result, in a block of its content and in
// the resource within a block. Where two readers of one of these could find another value
// for it, the result is none.
var (
	resultNames   = []string{"content", "structuredContent", "isError", "resultType", "_meta", "task", "inputRequests", "requestState"}
	blockNames    = []string{"type", "text", "data", "mimeType", "resource", "uri", "name", "title", "description", "annotations", "_meta", "size"}
	resourceNames = []string{"uri", "text", "blob", "mimeType", "_meta"}
)

// OwnPrefix is what the names in _meta begin with that are Tenon's.
const OwnPrefix = "tenon/"

const (
	atContent = 0 // in resultNames
	atMeta    = 4
	resource  = 4 // in blockNames
)

// ReadAnswer finds the members of a result, in the one pass that checks its structure as
// Members does. It reports a name of the protocol that stands twice or in another case, in
// the result, in a block of its content, or in the resource of a block: there are readers
// that take one for the other, and what one of them was shown another would not have seen.
func ReadAnswer(b tool.Bytes) (Answer, error) {
	s := scanner{keys: resultNames, strict: true, watched: watched{on: true}}
	var spans [8]Span
	err := s.members(b, spans[:])
	return Answer{
		Content: spans[atContent], Structured: spans[1], IsError: spans[2], ResultType: spans[3], Meta: spans[atMeta],
		Own: s.watched.own,
	}, err
}

// watched is what the scanner knows of the blocks that it passes.
type watched struct {
	on     bool
	seen   [2]uint16 // names of blockNames that the block has, and of resourceNames its resource
	member int       // the one being read
	blocks int
	own    bool
}

// watches reports whether the keys of the innermost object count.
func (s *scanner) watches() bool {
	if !s.watched.on {
		return false
	}
	switch s.depth {
	case 2:
		return s.member == atMeta
	case 3:
		return s.member == atContent
	case 4:
		return s.member == atContent && s.watched.member == resource
	}
	return false
}

// opened is told of each object that opens.
func (s *scanner) opened() {
	switch {
	case s.member != atContent:
	case s.depth == 3:
		s.watched.seen = [2]uint16{}
		s.watched.member = -1
		s.watched.blocks++
	case s.depth == 4:
		s.watched.seen[1] = 0
	}
}

// inBlock looks at a key that watches has reported.
func (s *scanner) inBlock() error {
	if s.depth == 2 {
		s.watched.own = s.watched.own || isOwn(s.text[:min(s.n, len(s.text))])
		return nil
	}
	names, seen := blockNames, &s.watched.seen[s.depth-3]
	if s.depth == 4 {
		names = resourceNames
	}
	at := s.indexOf(names)
	if s.depth == 3 {
		s.watched.member = at
	}
	switch {
	case s.nearly != "":
		return fmt.Errorf("member %q of block %d is written in another case", s.nearly, s.watched.blocks)
	case at < 0:
		return nil
	case *seen>>at&1 == 1:
		return fmt.Errorf("member %q of block %d stands twice", names[at], s.watched.blocks)
	}
	*seen |= 1 << at
	return nil
}

// isOwn reports whether a key, as it is written, begins with OwnPrefix in any case.
func isOwn(key []byte) bool {
	for _, want := range []byte(OwnPrefix) {
		c := rune(utf8.RuneError)
		switch {
		case len(key) >= 6 && key[0] == '\\' && key[1] == 'u':
			if n, err := strconv.ParseUint(string(key[2:6]), 16, 16); err == nil {
				c = rune(n)
			}
			key = key[6:]
		case len(key) >= 2 && key[0] == '\\': // of what can be escaped this way, only one is in the prefix
			c, key = rune(key[1]), key[2:]
			if c != '/' {
				return false
			}
		case len(key) > 0:
			c, key = rune(key[0]), key[1:]
		}
		if c != rune(want) && (c < 'A' || c > 'Z' || c+'a'-'A' != rune(want)) {
			return false
		}
	}
	return true
}

// OnlyOwn returns what is Tenon's of the _meta of a result, in at most so many bytes: the
// members that find a place, in their order. It is nil where there are none.
func OnlyOwn(raw tool.Bytes, meta Span, most int) []byte {
	out := sift(meta.In(raw).Join(), func(name string, value []byte) bool {
		if !isOwn([]byte(name)) || len(name)+len(value) > most {
			return false
		}
		most -= len(name) + len(value)
		return true
	})
	if len(out) <= len(`{}`) {
		return nil
	}
	return out
}

// DropOwn returns a result without the members of its _meta that are Tenon's, but for
// those that keep wants; their values are JSON.
func DropOwn(raw tool.Bytes, meta Span, keep func(name string, value []byte) bool) tool.Bytes {
	out := sift(meta.In(raw).Join(), func(name string, value []byte) bool { return !isOwn([]byte(name)) || keep(name, value) })
	kept := append(raw.Slice(0, meta.Start), out)
	return append(kept, raw.Slice(meta.End, raw.Len())...)
}

// sift returns the members of obj that keep wants.
func sift(obj []byte, keep func(name string, value []byte) bool) []byte {
	d := json.NewDecoder(bytes.NewReader(obj))
	out := []byte{'{'}
	for _, err := d.Token(); err == nil && d.More(); { // the structure has been checked
		from := d.InputOffset()
		key, _ := d.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if err = d.Decode(&value); err != nil {
			break // such as a number that is none: what follows is dropped
		}
		if !keep(name, value) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, bytes.TrimLeft(obj[from:d.InputOffset()], " \t\r\n,")...)
	}
	return append(out, '}')
}
