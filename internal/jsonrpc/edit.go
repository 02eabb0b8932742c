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

// EditParams returns params with the given members set, and the given members of
// its "_meta" object. It reads params once and copies nothing of them.
func EditParams(params []byte, set, meta []Field) (tool.Bytes, error) {
	if len(meta) == 0 {
		return splice(make(tool.Bytes, 0, 4), params, set)
	}
	var place places
	fields := append(append(make([]Field, 0, len(set)+1), set...), Field{Key: "_meta"})
	params, err := place.find(params, fields)
	if err != nil {
		return nil, err
	}
	last := len(fields) - 1
	old := place.spans[last].In(tool.OneOf(params)).Join()
	if fields[last].Value, err = Edit(old, meta...); err != nil {
		return nil, fmt.Errorf("_meta: %w", err)
	}
	return place.assemble(make(tool.Bytes, 0, 2+2*len(fields)), params, fields), nil
}

// EditMeta returns params with the given members of its "_meta" object set. It
// copies nothing of params.
func EditMeta(params []byte, fields ...Field) (tool.Bytes, error) {
	return EditParams(params, nil, fields)
}

// splice appends to dst the pieces of obj with the given members set.
func splice(dst tool.Bytes, obj []byte, fields []Field) (tool.Bytes, error) {
	var place places
	obj, err := place.find(obj, fields)
	if err != nil {
		return nil, err
	}
	return place.assemble(dst, obj, fields), nil
}

// places are where the members that are to be set stand in an object.
type places struct{ spans [16]Span }

// find looks for the members in obj, which it returns without the space around.
func (l *places) find(obj []byte, fields []Field) ([]byte, error) {
	obj = bytes.TrimSpace(obj)
	if len(obj) == 0 {
		obj = []byte("{}")
	}
	var keys [16]string
	if len(fields) > len(keys) {
		return nil, fmt.Errorf("more than %d fields", len(keys))
	}
	for i, f := range fields {
		keys[i] = f.Key
	}
	return obj, Members(tool.OneOf(obj), keys[:len(fields)], l.spans[:])
}

// assemble appends to dst the pieces of obj with the members set, which find
// has looked for.
func (l *places) assemble(dst tool.Bytes, obj []byte, fields []Field) tool.Bytes {
	spans := l.spans[:len(fields)]
	at := 0
	for i := firstAfter(spans, at); i >= 0; i = firstAfter(spans, at) {
		dst = append(dst, obj[at:spans[i].Start], fields[i].Value)
		at = spans[i].End
	}
	dst = append(dst, obj[at:len(obj)-1]) // up to the closing bracket
	tail := make([]byte, 0, 96)
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
	return append(dst, append(tail, '}'))
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
