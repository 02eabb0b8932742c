package jsonrpc

import (
	"bytes"
	"fmt"

	"github.com/tenon-mcp/tenon/tool"
)

// A Field is one member to set in a JSON object. Value is JSON; it must not be
// empty.
type Field struct {
	Key   string
	Value []byte
}

// Edit returns the JSON object obj with the given members set. All that is not
// set keeps its bytes and its order; new members come last. An empty obj counts
// as {}. It fails where obj is not an object or has one of the keys twice.
func Edit(obj []byte, fields ...Field) ([]byte, error) {
	b, err := splice(make(tool.Bytes, 0, 8), obj, fields)
	return b.Join(), err
}

// EditMeta returns params with the given members of its "_meta" object set. It
// copies nothing of params.
func EditMeta(params []byte, fields ...Field) (tool.Bytes, error) {
	var span [1]Span
	if len(bytes.TrimSpace(params)) > 0 {
		if err := Members(tool.OneOf(params), []string{"_meta"}, span[:]); err != nil {
			return nil, err
		}
	}
	meta, err := Edit(span[0].In(tool.OneOf(params)).Join(), fields...)
	if err != nil {
		return nil, fmt.Errorf("_meta: %w", err)
	}
	return splice(make(tool.Bytes, 0, 4), params, []Field{{"_meta", meta}})
}

// splice appends to dst the pieces of obj with the given members set.
func splice(dst tool.Bytes, obj []byte, fields []Field) (tool.Bytes, error) {
	obj = bytes.TrimSpace(obj)
	if len(obj) == 0 {
		obj = []byte("{}")
	}
	var (
		keys  [16]string
		spans [16]Span
	)
	if len(fields) > len(keys) {
		return nil, fmt.Errorf("more than %d fields", len(keys))
	}
	for i, f := range fields {
		keys[i] = f.Key
	}
	if err := Members(tool.OneOf(obj), keys[:len(fields)], spans[:]); err != nil {
		return nil, err
	}
	at := 0
	for i := firstAfter(spans[:len(fields)], at); i >= 0; i = firstAfter(spans[:len(fields)], at) {
		dst = append(dst, obj[at:spans[i].Start], fields[i].Value)
		at = spans[i].End
	}
	dst = append(dst, obj[at:len(obj)-1]) // up to the closing bracket
	var tail []byte
	empty := len(bytes.TrimSpace(obj[1:len(obj)-1])) == 0
	for i, f := range fields {
		if spans[i].Found() {
			continue
		}
		if !empty {
			tail = append(tail, ',')
		}
		empty = false
		tail = append(Quote(tail, f.Key), ':')
		tail = append(tail, f.Value...)
	}
	return append(dst, append(tail, '}')), nil
}

// firstAfter returns the index of the first span that starts at or after at, or -1.
func firstAfter(spans []Span, at int) int {
	first := -1
	for i, s := range spans {
		if s.Found() && s.Start >= at && (first < 0 || s.Start < spans[first].Start) {
			first = i
		}
	}
	return first
}

// Prepend returns the JSON object obj with new members before its others. It
// must not have them already. Nothing of obj is copied.
func Prepend(obj tool.Bytes, fields ...Field) tool.Bytes {
	text := obj
	for len(text) > 0 {
		first := bytes.TrimLeft(text[0], " \t\r\n")
		if len(first) == 0 {
			text = text[1:]
			continue
		}
		rest := first[1:] // behind the opening bracket
		head := []byte{'{'}
		for _, f := range fields {
			head = append(Quote(head, f.Key), ':')
			head = append(head, f.Value...)
			head = append(head, ',')
		}
		if isEmptyTail(rest, text[1:]) {
			head = head[:len(head)-1]
		}
		out := make(tool.Bytes, 0, len(text)+1)
		out = append(out, head, rest)
		return append(out, text[1:]...)
	}
	return obj
}

// isEmptyTail reports whether the object whose opening bracket stood before rest
// has no members.
func isEmptyTail(rest []byte, more tool.Bytes) bool {
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) > 0 {
			return rest[0] == '}'
		}
		if len(more) == 0 {
			return false
		}
		rest, more = more[0], more[1:]
	}
}
