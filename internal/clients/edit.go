package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenon-mcp/tenon/internal/toml"
)

// quote writes a text as JSON does, which TOML and YAML read as well.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// A span is a range of bytes, and what takes its place.
type span struct {
	start, end int
	text       string
}

// apply makes the edits, which do not overlap.
func apply(data []byte, edits []span) []byte {
	slices.SortStableFunc(edits, func(a, b span) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, e := range edits {
		out = append(append(out, data[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, data[at:]...)
}

// lineEnd returns how the lines of a text end.
func lineEnd(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// object finds a map of a JSON text, as the parser has it.
func object(v *hujson.Value, path []string) (at *hujson.Value, missing []string) {
	for i, key := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return v, path[i:]
		}
		var next *hujson.Value
		for j := range o.Members {
			if name, _ := o.Members[j].Name.Value.(hujson.Literal); name.String() == key {
				next = &o.Members[j].Value
			}
		}
		if next == nil {
			return v, path[i:]
		}
		v = next
	}
	return v, nil
}

// putJSON adds a member to a map of a JSON text, with the maps that lead to it. The
// text must be valid, and the member not there.
func putJSON(data []byte, path []string, name string, fields []field) ([]byte, error) {
	eol, unit := lineEnd(data), indentUnit(data)
	if len(bytes.TrimSpace(blanked(data))) == 0 {
		head := ""
		if bytes.HasPrefix(data, []byte("\ufeff")) {
			head = "\ufeff"
		}
		body := member{indent: unit, unit: unit, eol: eol, wide: true}.nest(path, name, fields)
		return []byte(head + "{" + eol + unit + body + eol + "}" + eol), nil
	}
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	v, missing := object(&root, path)
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%s wants a map", strings.Join(path, "."))
	}
	inner := data[v.StartOffset+1 : v.EndOffset-1]
	m := member{unit: unit, eol: eol, wide: bytes.ContainsRune(inner, '\n') || len(o.Members) == 0}
	outer := indentOf(data, v.EndOffset-1)
	m.indent = outer + unit
	if len(o.Members) > 0 && m.wide {
		m.indent = indentOf(data, o.Members[0].Name.StartOffset)
	}
	body := m.nest(missing, name, fields)
	// Behind what stands before the brace: white space is left where it is.
	end := v.StartOffset + 1 + len(bytes.TrimRight(inner, " \t\r\n"))
	var edits []span
	if len(o.Members) > 0 {
		last := o.Members[len(o.Members)-1].Value
		if last.AfterExtra == nil {
			edits = append(edits, span{last.EndOffset, last.EndOffset, ","})
		} else {
			body += "," // as the others have it
		}
	}
	switch {
	case !m.wide:
		edits = append(edits, span{end, end, " " + body})
	case bytes.ContainsRune(inner, '\n'):
		edits = append(edits, span{end, end, eol + m.indent + body})
	default:
		edits = append(edits, span{end, v.EndOffset - 1, eol + m.indent + body + eol + outer})
	}
	return apply(data, edits), nil
}

// A member is how a new member is laid out.
type member struct {
	indent, unit, eol string
	wide              bool // over several lines
}

// nest writes a member within the maps of a path.
func (m member) nest(path []string, name string, fields []field) string {
	if len(path) > 0 {
		inner := m
		inner.indent += m.unit
		return m.wrap(path[0], []string{inner.nest(path[1:], name, fields)})
	}
	var parts []string
	for _, f := range fields {
		value := ""
		switch v := f.value.(type) {
		case string:
			value = quote(v)
		case []string:
			items := make([]string, len(v))
			for i, s := range v {
				items[i] = quote(s)
			}
			value = "[" + strings.Join(items, ", ") + "]"
		}
		parts = append(parts, quote(f.key)+": "+value)
	}
	return m.wrap(name, parts)
}

func (m member) wrap(key string, parts []string) string {
	if !m.wide {
		return quote(key) + ": {" + strings.Join(parts, ", ") + "}"
	}
	in := m.eol + m.indent + m.unit
	return quote(key) + ": {" + in + strings.Join(parts, ","+in) + m.eol + m.indent + "}"
}

// indentUnit returns by what a text indents, which is two spaces where it does not.
func indentUnit(data []byte) string {
	for line := range bytes.Lines(data) {
		rest := bytes.TrimLeft(line, " \t")
		if n := len(line) - len(rest); n > 0 && n <= 8 && len(rest) > 0 && rest[0] == '"' {
			return string(line[:n])
		}
	}
	return "  "
}

// indentOf returns the white space that the line of an offset begins with.
func indentOf(data []byte, offset int) string {
	line := data[bytes.LastIndexByte(data[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// cutJSON removes members of a map of a JSON text, one after the other.
func cutJSON(data []byte, path []string, names ...string) ([]byte, error) {
	if len(bytes.TrimSpace(blanked(data))) == 0 {
		return data, nil
	}
	for _, name := range names {
		for {
			root, err := parseJSON(data)
			if err != nil {
				return nil, err
			}
			v, missing := object(&root, path)
			o, ok := v.Value.(*hujson.Object)
			if !ok || len(missing) > 0 {
				return data, nil
			}
			i := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool {
				literal, _ := m.Name.Value.(hujson.Literal)
				return literal.String() == name
			})
			if i < 0 {
				break
			}
			data = apply(data, cutMember(data, v.StartOffset, o, i))
		}
	}
	return data, nil
}

// cutMember returns the edits that remove a member with its comma, and with its
// line where it has it for itself.
func cutMember(data []byte, open int, o *hujson.Object, i int) []span {
	m := o.Members[i]
	start, end := m.Name.StartOffset, m.Value.EndOffset
	var edits []span
	comma := i < len(o.Members)-1 || m.Value.AfterExtra != nil
	gap := 0
	if comma {
		gap = len(m.Value.AfterExtra)
		if len(bytes.TrimSpace(m.Value.AfterExtra)) == 0 {
			end += gap + 1
		} else { // a comment before the comma stays
			edits = append(edits, span{end + gap, end + gap + 1, ""})
		}
	} else if i > 0 {
		before := o.Members[i-1].Value
		at := before.EndOffset + len(before.AfterExtra)
		edits = append(edits, span{at, at + 1, ""})
		open = at
	}
	from := start
	for from > open+1 && (data[from-1] == ' ' || data[from-1] == '\t') {
		from--
	}
	own := from > open+1 && data[from-1] == '\n'
	rest := len(data[end:]) - len(bytes.TrimLeft(data[end:], " \t"))
	switch after := data[end+rest:]; {
	case own && (bytes.HasPrefix(after, []byte("\n")) || bytes.HasPrefix(after, []byte("\r\n"))):
		from--
		if from > open+1 && data[from-1] == '\r' {
			from--
		}
		start = from
	case own && comma:
		end += rest
	case own:
	case comma: // the blanks before the next one go as well, and those before this one stay
		end += rest
	default:
		start = from
	}
	return append(edits, span{start, end, ""})
}

// putTOML appends a table. All its keys are ours, and need no quotes.
func putTOML(data []byte, path []string, name string, fields []field) []byte {
	eol := lineEnd(data)
	var b strings.Builder
	if len(bytes.TrimSpace(blanked(data))) > 0 {
		if !bytes.HasSuffix(data, []byte("\n")) {
			b.WriteString(eol)
		}
		b.WriteString(eol)
	}
	b.WriteString("[")
	for _, key := range path {
		b.WriteString(key + ".")
	}
	b.WriteString(name + "]" + eol)
	for _, f := range fields {
		value := ""
		switch v := f.value.(type) {
		case string:
			value = quote(v)
		case []string:
			items := make([]string, len(v))
			for i, s := range v {
				items[i] = quote(s)
			}
			value = "[" + strings.Join(items, ", ") + "]"
		}
		b.WriteString(f.key + " = " + value + eol)
	}
	return append(bytes.Clone(data), b.String()...)
}

// cutTOML removes tables, with the blank line before each. A table that stands in
// the one line of another stays.
func cutTOML(data []byte, keys []string, names ...string) ([]byte, error) {
	_, all, err := toml.Parse(blanked(data))
	if err != nil {
		return nil, err
	}
	var edits []span
	for _, s := range all {
		n := len(keys)
		if len(s.Path) <= n || !slices.Equal(s.Path[:n], keys) || !slices.Contains(names, s.Path[n]) {
			continue
		}
		start := s.Start
		if s.Header {
			if line := lineBefore(data, start); len(bytes.TrimSpace(data[line:start])) == 0 {
				start = line
			}
		}
		edits = append(edits, span{start, s.End, ""})
	}
	return apply(data, edits), nil
}

// lineBefore returns where the line before the one that begins there begins.
func lineBefore(data []byte, start int) int {
	if start == 0 {
		return 0
	}
	return bytes.LastIndexByte(data[:start-1], '\n') + 1
}
