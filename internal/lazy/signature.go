package lazy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of a signature. What does not fit is counted, or is any.
const (
	maxSignature = 700 // bytes
	maxNesting   = 3   // objects and lists within each other
	maxHops      = 8   // of one reference to the next
	maxChoices   = 12
	maxLiteral   = 40 // bytes of a constant or default
	maxSchema    = 256 << 10
)

// Signature returns the parameters of a tool on one line: name: type, with a ? behind
// the names of those that may be left out, and = behind them what is taken then.
// Required ones are first. A schema that cannot be read is (…).
//
//	(path: string, depth?: integer = 2, unit?: "kb" | "mb", tags?: string[])
func Signature(schema []byte) string {
	if len(schema) > maxSchema {
		return "(…)"
	}
	s := signer{root: schema}
	fields, ok := s.fields(schema)
	if !ok {
		return "(…)"
	}
	return "(" + s.list(fields, maxNesting, maxSignature) + ")"
}

// A signer renders the parts of one schema.
type signer struct {
	root json.RawMessage
	hops int // what references are left to follow, in all
}

// A field is one parameter.
type field struct {
	name     string
	schema   json.RawMessage
	required bool
	rest     bool // stands for all others
}

// fields returns the properties of an object schema, the required ones first.
func (s *signer) fields(schema json.RawMessage) ([]field, bool) {
	schema = s.follow(schema)
	parts, err := members(schema)
	if err != nil {
		return nil, len(schema) == 0 || string(schema) == "true"
	}
	var out []field
	var required []string
	for _, p := range parts {
		switch p.key {
		case "properties":
			props, err := members(p.raw)
			if err != nil {
				return nil, false
			}
			for _, f := range props {
				out = append(out, field{name: f.key, schema: f.raw})
			}
		case "required":
			_ = json.Unmarshal(p.raw, &required) // an odd one requires nothing that can be shown
		}
	}
	if rest, ok := find(parts, "additionalProperties"); ok && string(rest) != "false" && string(rest) != "{}" && (string(rest) != "true" || len(out) == 0) {
		out = append(out, field{schema: rest, rest: true})
	}
	for i := range out {
		out[i].required = slices.Contains(required, out[i].name)
	}
	slices.SortStableFunc(out, func(a, b field) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return out, true
}

// list renders parameters, in so many bytes.
func (s *signer) list(fields []field, depth, room int) string {
	var b strings.Builder
	for i, f := range fields {
		text := s.field(f, depth)
		if b.Len()+len(text) > room {
			if b.Len() > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "… %d more", len(fields)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(text)
	}
	return b.String()
}

func (s *signer) field(f field, depth int) string {
	switch {
	case f.rest:
		return "[name: string]: " + s.kind(f.schema, depth-1)
	case f.required:
		return nameOf(f.name) + ": " + s.kind(f.schema, depth)
	}
	text := nameOf(f.name) + "?: " + s.kind(f.schema, depth)
	if parts, err := members(s.follow(f.schema)); err == nil {
		if v, ok := find(parts, "default"); ok && string(v) != "null" && v[0] != '{' && len(v) <= maxLiteral {
			text += " = " + literal(v)
		}
	}
	return text
}

// nameOf returns a name, in quotes where it could be read as more than one.
func nameOf(name string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.$-", r)
	}
	if name != "" && len(name) <= 64 && !strings.ContainsFunc(name, odd) {
		return name
	}
	return shortQuote(name)
}

// kind renders the type of a value.
func (s *signer) kind(schema json.RawMessage, depth int) string {
	schema = s.follow(schema)
	parts, err := members(schema)
	if err != nil || depth < 0 {
		return "any"
	}
	if v, ok := find(parts, "const"); ok {
		return literal(v)
	}
	if v, ok := find(parts, "enum"); ok {
		return enum(v)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if v, ok := find(parts, key); ok {
			if text := s.choice(v, depth); text != "" {
				return text
			}
		}
	}
	if v, ok := find(parts, "allOf"); ok {
		var all []json.RawMessage
		if json.Unmarshal(v, &all) == nil && len(all) == 1 {
			return s.kind(all[0], depth-1)
		}
	}
	types := typesOf(parts)
	for i, t := range types {
		switch t {
		case "array":
			types[i] = s.array(parts, depth)
		case "object":
			types[i] = s.object(schema, depth)
		}
	}
	if len(types) == 0 {
		return "any"
	}
	return strings.Join(types, " | ")
}

// typesOf returns the types that a schema names or means.
func typesOf(parts []member) []string {
	var types []string
	if v, ok := find(parts, "type"); ok {
		var one string
		if json.Unmarshal(v, &one) == nil {
			types = []string{one}
		} else {
			_ = json.Unmarshal(v, &types) // else there is none that can be shown
		}
	}
	types = slices.DeleteFunc(types, func(t string) bool {
		return !slices.Contains([]string{"string", "number", "integer", "boolean", "null", "array", "object"}, t)
	})
	_, props := find(parts, "properties")
	_, items := find(parts, "items")
	switch {
	case len(types) > 0:
	case props:
		types = []string{"object"}
	case items:
		types = []string{"array"}
	}
	if v, ok := find(parts, "nullable"); ok && string(v) == "true" && len(types) > 0 && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	return types
}

func (s *signer) array(parts []member, depth int) string {
	items, ok := find(parts, "items")
	if !ok || items[0] != '{' {
		return "any[]"
	}
	of := s.kind(items, depth-1)
	if strings.Contains(of, " | ") && of[0] != '{' {
		of = "(" + of + ")"
	}
	return of + "[]"
}

func (s *signer) object(schema json.RawMessage, depth int) string {
	fields, ok := s.fields(schema)
	if !ok || len(fields) == 0 || depth <= 0 {
		return "object"
	}
	return "{" + s.list(fields, depth-1, maxSignature/2) + "}"
}

// choice renders what a value may be one of.
func (s *signer) choice(raw json.RawMessage, depth int) string {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return ""
	}
	var out []string
	for i, one := range all {
		if i == maxChoices {
			out = append(out, "…")
			break
		}
		if text := s.kind(one, depth-1); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return strings.Join(out, " | ")
}

func enum(raw json.RawMessage) string {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil || len(all) == 0 {
		return "any"
	}
	out := make([]string, 0, min(len(all), maxChoices+1))
	for i, v := range all {
		if i == maxChoices {
			out = append(out, fmt.Sprintf("… %d more", len(all)-i))
			break
		}
		out = append(out, literal(v))
	}
	return strings.Join(out, " | ")
}

// literal renders a constant.
func literal(raw json.RawMessage) string {
	var text string
	if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return strconv.Quote(clip(text, maxLiteral))
	}
	return clip(oneLine(string(raw)), maxLiteral)
}

// follow returns the schema that a reference within this one leads to.
func (s *signer) follow(schema json.RawMessage) json.RawMessage {
	for range maxHops {
		parts, err := members(schema)
		if err != nil {
			return schema
		}
		ref, ok := find(parts, "$ref")
		var to string
		if !ok || json.Unmarshal(ref, &to) != nil {
			return schema
		}
		if s.hops++; s.hops > 10*maxHops {
			return nil
		}
		schema = s.at(to)
	}
	return nil
}

// at returns the part of the schema that a pointer names.
func (s *signer) at(ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := s.root
	for step := range strings.SplitSeq(path, "/") {
		parts, err := members(at)
		if err != nil {
			return nil
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if at, ok = find(parts, step); !ok {
			return nil
		}
	}
	return at
}

func find(parts []member, key string) (json.RawMessage, bool) {
	i := slices.IndexFunc(parts, func(m member) bool { return m.key == key })
	if i < 0 {
		return nil, false
	}
	return parts[i].raw, true
}

// clip shortens a text to so many bytes, between characters.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// oneLine folds white space, and drops what is not printable: a description must not
// look like more than one.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
