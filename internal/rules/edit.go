package rules

import (
	"encoding/json"
	"errors"
)

var errSyntax = errors.New("not the JSON that was expected")

// result returns the edits of a CallToolResult: of each block of its content, and
// of its structured content as a value. All else is left alone.
func (e *editor) result() (text, structured []edit, err error) {
	_, err = e.object(e.space(0), func(key string, at int) (end int, err error) {
		switch {
		case key == "structuredContent":
			end, _, err = e.value(at, false)
			structured = append(structured, e.edits...)
		case key == "content" && at < len(e.src) && e.src[at] == '[':
			end, err = e.list(at, e.block)
			text = append(text, e.edits...)
		default:
			end, err = e.skip(at)
		}
		e.edits = nil
		return end, err
	})
	return text, structured, err
}

// block edits a block of content. The text of a text block is edited in place; a
// link to a resource that must not be reached is dropped.
func (e *editor) block(at int) (int, match, error) {
	end, err := e.skip(at)
	if err != nil {
		return 0, match{}, err
	}
	var b struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(e.src[at:end], &b) != nil {
		return end, match{}, nil
	}
	return e.value(at, b.Type != "text")
}

// skip returns the end of a value that is left alone.
func (e *editor) skip(at int) (int, error) {
	probe := editor{src: e.src}
	end, _, err := probe.value(at, false)
	return end, err
}

// value edits the value at an offset and returns its end. Within a list the match
// says that the whole item is to be dropped: because it is a link, or an object
// with one.
func (e *editor) value(at int, listed bool) (end int, hit match, err error) {
	at = e.space(at)
	if at >= len(e.src) {
		return 0, match{}, errSyntax
	}
	if e.depth++; e.depth > maxDepth {
		return 0, match{}, errSyntax
	}
	defer func() { e.depth-- }()
	switch e.src[at] {
	case '{':
		end, err = e.object(at, func(key string, at int) (int, error) {
			end, m, err := e.value(at, listed)
			if !hit.found() {
				hit = m
			}
			return end, err
		})
		return end, hit, err
	case '[':
		end, err = e.list(at, func(at int) (int, match, error) { return e.value(at, true) })
		return end, match{}, err
	case '"':
		return e.str(at, listed)
	}
	end = at
	for end < len(e.src) && !isStructure(e.src[end]) {
		end++
	}
	if end == at {
		return 0, match{}, errSyntax
	}
	return end, match{}, nil
}

// str edits a string.
func (e *editor) str(at int, listed bool) (int, match, error) {
	end := stringEnd(e.src, at)
	if end > len(e.src) {
		return 0, match{}, errSyntax
	}
	if e.rules == nil {
		return end, match{}, nil
	}
	text := unquote(e.src[at+1 : end-1])
	if hit := e.link(text); hit.found() {
		if listed {
			return end, hit, nil
		}
		d := drop(at, end, hit)
		d.with = quoted(e.placeholder(hit))
		e.edits = append(e.edits, d)
		return end, match{}, nil
	}
	if edited, links := e.text(text); len(links) > 0 {
		e.edits = append(e.edits, edit{at, end, quoted(edited), links})
	}
	return end, match{}, nil
}

// object calls member with each key of the object at an offset and the offset of
// its value; member returns the end of the value.
func (e *editor) object(at int, member func(key string, at int) (int, error)) (int, error) {
	return e.sequence(at, '{', '}', func(at int) (int, error) {
		if e.src[at] != '"' {
			return 0, errSyntax
		}
		end := stringEnd(e.src, at)
		colon := e.space(end)
		if colon >= len(e.src) || e.src[colon] != ':' {
			return 0, errSyntax
		}
		return member(unquote(e.src[at+1:end-1]), e.space(colon+1))
	})
}

// list edits the items of the list at an offset with item, and drops those that
// it has a match for.
func (e *editor) list(at int, item func(at int) (int, match, error)) (int, error) {
	type found struct {
		start, end int
		hit        match
	}
	var items []found
	end, err := e.sequence(at, '[', ']', func(at int) (int, error) {
		mark := len(e.edits)
		end, hit, err := item(at)
		if hit.found() {
			e.edits = e.edits[:mark] // they are within what is dropped
		}
		items = append(items, found{at, end, hit})
		return end, err
	})
	if err != nil {
		return 0, err
	}
	last := -1 // the last item that stays
	for i, it := range items {
		if !it.hit.found() {
			last = i
		}
	}
	for i, it := range items {
		if !it.hit.found() {
			continue
		}
		d := drop(it.start, it.end, it.hit)
		if i < last {
			d.end = items[i+1].start // with the comma behind it
		} else if i > 0 {
			d.start = items[i-1].end // with the comma before it
		}
		e.edits = append(e.edits, d)
	}
	return end, nil
}

// sequence calls element at the start of each element between two brackets.
// element returns the end of its element.
func (e *editor) sequence(at int, open, closing byte, element func(at int) (int, error)) (int, error) {
	if at >= len(e.src) || e.src[at] != open {
		return 0, errSyntax
	}
	at = e.space(at + 1)
	if at < len(e.src) && e.src[at] == closing {
		return at + 1, nil
	}
	for {
		if at >= len(e.src) {
			return 0, errSyntax
		}
		end, err := element(at)
		if err != nil {
			return 0, err
		}
		at = e.space(end)
		if at >= len(e.src) {
			return 0, errSyntax
		}
		switch e.src[at] {
		case closing:
			return at + 1, nil
		case ',':
			at = e.space(at + 1)
		default:
			return 0, errSyntax
		}
	}
}

// space returns the offset of the next byte that is no white space.
func (e *editor) space(at int) int {
	for at < len(e.src) && (e.src[at] == ' ' || e.src[at] == '\t' || e.src[at] == '\n' || e.src[at] == '\r') {
		at++
	}
	return at
}

func isStructure(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"':
		return true
	}
	return false
}
