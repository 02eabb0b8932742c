package upstream

import (
	"bytes"
	"strings"
)

// A Message is what this server reads of a JSON-RPC message: the raw values of
// its members, nil where a member is missing. They alias the scanned bytes.
type Message struct {
	ID     []byte
	Method []byte // without its quotes, escapes as they stand
	Params []byte
}

// Scan finds the members of a JSON-RPC message without decoding any of them.
// It reports false for what is no JSON object. What it accepts is not thereby
// valid JSON: values are skipped, never checked.
func Scan(msg []byte) (Message, bool) {
	var m Message
	ok := members(msg, func(name, value []byte) {
		switch string(name) {
		case "id":
			m.ID = value
		case "method":
			m.Method = unquoted(value)
		case "params":
			m.Params = value
		}
	})
	return m, ok
}

// member returns the raw value of one member of an object, or nil.
func member(object []byte, want string) []byte {
	var found []byte
	members(object, func(name, value []byte) {
		if string(name) == want {
			found = value
		}
	})
	return found
}

// members calls visit with each member of an object, in order, the name
// without its quotes. It reports whether it came to the end of the object.
func members(b []byte, visit func(name, value []byte)) bool {
	i := space(b, 0)
	if i == len(b) || b[i] != '{' {
		return false
	}
	if i = space(b, i+1); i < len(b) && b[i] == '}' {
		return true
	}
	for i < len(b) && b[i] == '"' {
		end := stringEnd(b, i)
		if end < 0 {
			return false
		}
		name := b[i+1 : end-1]
		if i = space(b, end); i == len(b) || b[i] != ':' {
			return false
		}
		i = space(b, i+1)
		if end = valueEnd(b, i); end < 0 {
			return false
		}
		visit(name, b[i:end])
		if i = space(b, end); i == len(b) {
			return false
		}
		switch b[i] {
		case '}':
			return true
		case ',':
			i = space(b, i+1)
		default:
			return false
		}
	}
	return false
}

// unquoted returns the inside of a string value, or nil for any other value.
func unquoted(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	return value[1 : len(value)-1]
}

// space returns the first index from i on that holds no white space.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// valueEnd returns the index behind the value that begins at i, or -1.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return nestedEnd(b, i)
	}
	end := i
	for end < len(b) && strings.IndexByte(" \n\r\t,:{}[]\"", b[end]) < 0 {
		end++
	}
	if end == i {
		return -1
	}
	return end
}

// nestedEnd returns the index behind the object or array that begins at i, or -1.
func nestedEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = stringEnd(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// stringEnd returns the index behind the string that begins at i, or -1. It
// looks at quotes alone, and at the backslashes before each: a long text
// without quotes costs one vectorised search.
func stringEnd(b []byte, i int) int {
	for at := i + 1; ; {
		n := bytes.IndexByte(b[at:], '"')
		if n < 0 {
			return -1
		}
		quote := at + n
		first := quote
		for first > i+1 && b[first-1] == '\\' {
			first--
		}
		if (quote-first)%2 == 0 {
			return quote + 1
		}
		at = quote + 1
	}
}
