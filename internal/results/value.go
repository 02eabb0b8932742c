package results

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/tool"
)

// A Part says what of a body is wanted as a value: with neither, all of it.
type Part struct {
	// Path leads to one value: "/items/0/name" (a JSON pointer),
	// "$.items[0].name" or ".items[0].name".
	Path string
	JQ   string // a query that gives one value
}

// Value returns what is behind a handle as a JSON value: JSON as it is, anything
// else as a string. Its errors are those of Read; most bounds its length in bytes.
func (s *Store) Value(ctx context.Context, caller, id string, part Part, most int) ([]byte, error) {
	it, err := s.find(caller, id)
	if err != nil {
		return nil, err
	}
	var v []byte
	switch {
	case part.Path != "" && part.JQ != "":
		return nil, invalid("give path or jq, not both")
	case len(part.Path) > maxPattern || len(part.JQ) > maxPattern:
		return nil, invalid("path and jq must not be longer than %d bytes", maxPattern)
	case part.JQ != "":
		v, err = s.single(ctx, it, part.JQ)
	case it.handle.Size > most:
		return nil, tooLarge(it.handle.Size, most)
	case part.Path != "":
		v, err = it.at(part.Path)
	case it.handle.Kind == KindJSON:
		v, err = it.all()
	default:
		v, err = it.quoted()
	}
	if err == nil && len(v) > most {
		return nil, tooLarge(len(v), most)
	}
	return v, err
}

func tooLarge(n, most int) error {
	return invalid("what is behind the handle has %d bytes, and at most %d can be passed to a tool: pass a part of it with path or jq", n, most)
}

// single returns the one value that a query gives.
func (s *Store) single(ctx context.Context, it *item, query string) ([]byte, error) {
	var v []byte
	n := 0
	err := s.each(ctx, it, query, func(text []byte) bool {
		v = text
		n++
		return n < 2
	})
	if err == nil && n != 1 {
		return nil, invalid("the query gives %s, and must give one: write [%s] for a list of all", map[int]string{0: "no value", 2: "several values"}[n], query)
	}
	return v, err
}

// at returns the value at a path, as it is written.
func (it *item) at(path string) ([]byte, error) {
	if it.handle.Kind != KindJSON {
		return nil, invalid("the handle holds %s, not JSON, so there is no path into it: leave out path to pass the whole", it.handle.Kind)
	}
	steps, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	v, err := it.all()
	if err != nil {
		return nil, err
	}
	for i, step := range steps {
		if v, err = child(v, step); err != nil {
			return nil, &tool.Error{Kind: tool.NotFound, Text: fmt.Sprintf("There is nothing at path %q: after %d steps, %v.", path, i, err)}
		}
	}
	return v, nil
}

// child returns one member of an object or element of an array.
func child(v []byte, step string) ([]byte, error) {
	switch v = bytes.TrimSpace(v); v[0] {
	case '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(v, &members); err != nil {
			return nil, err
		}
		if m, ok := members[step]; ok {
			return m, nil
		}
		return nil, fmt.Errorf("the object has no member %q", step)
	case '[':
		i, err := strconv.Atoi(step)
		if err != nil {
			return nil, fmt.Errorf("an array has no member %q, only numbers", step)
		}
		var elems []json.RawMessage
		if err := json.Unmarshal(v, &elems); err != nil {
			return nil, err
		}
		if i < 0 {
			i += len(elems)
		}
		if i < 0 || i >= len(elems) {
			return nil, fmt.Errorf("the array has %d elements", len(elems))
		}
		return elems[i], nil
	}
	return nil, errors.New("the value is neither an object nor an array")
}

// parsePath reads a JSON pointer, or the names and numbers of a JSON path.
func parsePath(path string) ([]string, error) {
	if strings.HasPrefix(path, "/") {
		steps := strings.Split(path[1:], "/")
		for i, s := range steps {
			steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
		}
		return steps, nil
	}
	rest, jsonPath := strings.CutPrefix(path, "$")
	if !jsonPath && !strings.HasPrefix(path, ".") && !strings.HasPrefix(path, "[") {
		rest = "." + rest // "items[0]"
	}
	var steps []string
	for rest != "" && rest != "." {
		step, after, ok := nextStep(rest)
		if !ok {
			return nil, invalid("path %q is none: write /items/0/name, or $.items[0].name; for anything more there is jq", path)
		}
		steps, rest = append(steps, step), after
	}
	return steps, nil
}

// nextStep takes ".name", "[0]" or "['name']" off the beginning of a path.
func nextStep(path string) (step, rest string, ok bool) {
	if path[0] == '.' && len(path) > 1 && path[1] != '[' {
		end := strings.IndexAny(path[1:], ".[")
		if end < 0 {
			end = len(path) - 1
		}
		step = path[1 : 1+end]
		return step, path[1+end:], step != "" && !strings.ContainsAny(step, `*"'()?|@`)
	}
	path = strings.TrimPrefix(path, ".")
	if path[0] != '[' || len(path) < 3 {
		return "", "", false
	}
	if quote := path[1]; quote == '\'' || quote == '"' {
		step, rest, ok = strings.Cut(path[2:], string(quote)+"]")
		return step, rest, ok && !strings.Contains(step, `\`)
	}
	step, rest, ok = strings.Cut(path[1:], "]")
	_, err := strconv.Atoi(step)
	return step, rest, ok && err == nil
}

// quoted returns the body as a JSON string. It is read once, in pieces.
func (it *item) quoted() ([]byte, error) {
	body, err := it.seek(0)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	out := make([]byte, 0, it.handle.Size+it.handle.Size/16+2)
	out = append(out, '"')
	for {
		p, err := body.Peek(pieceSize)
		if len(p) == 0 {
			break
		}
		if err == nil { // not the end
			p = p[:wholeRunes(p, len(p))]
		}
		out = appendQuoted(out, p)
		if _, err := body.Discard(len(p)); err != nil {
			return nil, err
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return append(out, '"'), nil
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends p as the inside of a JSON string.
func appendQuoted(dst, p []byte) []byte {
	from := 0
	for i := 0; i < len(p); {
		c := p[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			if r, n := utf8.DecodeRune(p[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		dst = append(dst, p[from:i]...)
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c >= utf8.RuneSelf:
			dst = append(dst, "\uFFFD"...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(dst, p[from:]...)
}
