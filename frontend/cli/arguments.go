package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// An object holds the arguments of a call; the values are JSON as they came.
type object map[string]json.RawMessage

func (o object) bytes() json.RawMessage {
	b, err := json.Marshal(map[string]json.RawMessage(o))
	if err != nil { // every value was read from JSON or made here
		return nil
	}
	return b
}

// An assignment is the value of one -a flag.
type assignment struct {
	key, value string
	asJSON     bool // key:=value
}

// parseAssignments reads key=value and key:=JSON.
func parseAssignments(flags []string) ([]assignment, error) {
	out := make([]assignment, len(flags))
	for i, f := range flags {
		key, value, ok := strings.Cut(f, "=")
		key, asJSON := strings.CutSuffix(key, ":")
		if !ok || key == "" {
			return nil, &problem{kind: tool.Invalid, text: fmt.Sprintf("-a %s is not key=value", f), hint: `-a limit=3, or -a 'ids:=[1, 2]' for JSON`}
		}
		if asJSON && !json.Valid([]byte(value)) {
			return nil, &problem{kind: tool.Invalid, text: fmt.Sprintf("-a %s: what follows := is no JSON", f), hint: "-a key=value takes a text"}
		}
		out[i] = assignment{key, value, asJSON}
	}
	return out, nil
}

// assign returns arguments, a JSON object or nothing, with the values added, each
// typed by the schema of the tool. Without a schema a value that is JSON is taken
// as such, and any other as a text. The error is a *tool.Error of kind Invalid.
func assign(arguments json.RawMessage, assigned []assignment, schema json.RawMessage) (json.RawMessage, error) {
	o := object{}
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &o); err != nil {
			return nil, &tool.Error{Kind: tool.Invalid, Text: "The arguments are no JSON object.", Err: err}
		}
	}
	s, known := readSchema(schema)
	byKey := map[string][]assignment{}
	for _, a := range assigned {
		byKey[a.key] = append(byKey[a.key], a)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		prop := propertySchema{}
		if known {
			p, ok := s.Properties[key]
			if !ok && !s.open() {
				return nil, s.unknownKey(key)
			}
			prop = s.resolve(p)
		}
		value, err := prop.value(byKey[key], s)
		if err != nil {
			return nil, &tool.Error{Kind: tool.Invalid, Text: "argument " + key + ": " + err.Error(), Err: err}
		}
		o[key] = value
	}
	return o.bytes(), nil
}

// An argumentSchema is the part of a tool's schema that typing needs.
type argumentSchema struct {
	Properties           map[string]propertySchema `json:"properties"`
	AdditionalProperties json.RawMessage           `json:"additionalProperties"`
	PatternProperties    json.RawMessage           `json:"patternProperties"`
	Defs                 map[string]propertySchema `json:"$defs"`
	Definitions          map[string]propertySchema `json:"definitions"`
}

// A propertySchema is the part of a schema of one value that says its type.
type propertySchema struct {
	Ref   string            `json:"$ref"`
	Type  oneOrMore         `json:"type"`
	Items *propertySchema   `json:"items"`
	AnyOf []propertySchema  `json:"anyOf"`
	OneOf []propertySchema  `json:"oneOf"`
	Enum  []json.RawMessage `json:"enum"`
	Const json.RawMessage   `json:"const"`
}

// oneOrMore is a text or an array of texts.
type oneOrMore []string

// UnmarshalJSON reads either form. What is neither says nothing about the type.
func (t *oneOrMore) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = oneOrMore{one}
		return nil
	}
	var more []string
	if json.Unmarshal(b, &more) == nil {
		*t = more
	}
	return nil
}

// UnmarshalJSON reads a schema; true, false and what is no schema say nothing.
func (p *propertySchema) UnmarshalJSON(b []byte) error {
	type plain propertySchema
	_ = json.Unmarshal(b, (*plain)(p))
	return nil
}

func readSchema(raw json.RawMessage) (argumentSchema, bool) {
	var s argumentSchema
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return argumentSchema{}, false
	}
	return s, true
}

// open reports whether the schema says that it takes keys which it does not
// name. One that says nothing takes them too, but there they are mistakes.
func (s argumentSchema) open() bool {
	a := bytes.TrimSpace(s.AdditionalProperties)
	return len(s.PatternProperties) > 0 || len(a) > 0 && string(a) != "false" && string(a) != "null" || len(s.Properties) == 0
}

func (s argumentSchema) unknownKey(key string) error {
	names := slices.Sorted(maps.Keys(s.Properties))
	text := fmt.Sprintf("the tool has no argument %q", key)
	if n := nearest(key, names); n != "" {
		text += fmt.Sprintf("; did you mean %q?", n)
	} else {
		text += "."
	}
	return &tool.Error{Kind: tool.Invalid, Text: text + " It takes: " + strings.Join(names, ", ") + ". --args passes anything."}
}

// maxRefs bounds how many references in a row are followed, and how deep choices
// lie in each other: a schema may refer to itself.
const maxRefs = 8

// resolve follows references within the schema.
func (s argumentSchema) resolve(p propertySchema) propertySchema {
	for range maxRefs {
		if p.Ref == "" {
			return p
		}
		if name, ok := strings.CutPrefix(p.Ref, "#/$defs/"); ok {
			p = s.Defs[name]
		} else if name, ok := strings.CutPrefix(p.Ref, "#/definitions/"); ok {
			p = s.Definitions[name]
		} else {
			return propertySchema{}
		}
	}
	return propertySchema{}
}

// types returns the types that a value may have; none is any.
func (p propertySchema) types(s argumentSchema) []string { return p.typesTo(s, maxRefs) }

func (p propertySchema) typesTo(s argumentSchema, depth int) []string {
	if len(p.Type) > 0 || depth == 0 {
		return p.Type
	}
	var types []string
	for _, alternative := range append(slices.Clone(p.AnyOf), p.OneOf...) {
		types = append(types, s.resolve(alternative).typesTo(s, depth-1)...)
	}
	for _, e := range append(slices.Clone(p.Enum), p.Const) {
		if len(e) > 0 {
			types = append(types, jsonType(e))
		}
	}
	return types
}

// value makes the JSON of one argument from all that was given for it.
func (p propertySchema) value(given []assignment, s argumentSchema) (json.RawMessage, error) {
	types := p.types(s)
	array := slices.Contains(types, "array")
	if len(given) == 1 {
		g := given[0]
		if g.asJSON {
			return json.RawMessage(g.value), nil
		}
		if !array || jsonType([]byte(g.value)) == "array" {
			return typed(g.value, types)
		}
		if v, err := typed(g.value, without(types, "array")); err == nil && len(types) > 1 {
			return v, nil // a single value will do
		}
	}
	if !array && len(types) > 0 {
		return nil, fmt.Errorf("given %d times, but takes one value", len(given))
	}
	items := p.items(s)
	values := make([]json.RawMessage, len(given))
	for i, g := range given {
		v, err := json.RawMessage(g.value), error(nil)
		if !g.asJSON {
			v, err = typed(g.value, items.types(s))
		}
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return json.Marshal(values)
}

// items returns the schema of the items of an array.
func (p propertySchema) items(s argumentSchema) propertySchema {
	if p.Items != nil {
		return s.resolve(*p.Items)
	}
	for _, alternative := range append(slices.Clone(p.AnyOf), p.OneOf...) {
		if a := s.resolve(alternative); a.Items != nil {
			return s.resolve(*a.Items)
		}
	}
	return propertySchema{}
}

// typed makes JSON of a text: of the first of the types that it can be, a string
// being the last. Without types it is JSON if it can be, else a string.
func typed(text string, types []string) (json.RawMessage, error) {
	is := jsonType([]byte(text))
	for _, t := range types {
		if t == is || t == "number" && is == "integer" {
			// Where a text will do, "null" is a text.
			if t != "string" && (t != "null" || !slices.Contains(types, "string")) {
				return json.RawMessage(text), nil
			}
		}
	}
	if slices.Contains(types, "boolean") {
		if b, err := strconv.ParseBool(text); err == nil {
			return json.RawMessage(strconv.FormatBool(b)), nil
		}
	}
	if slices.Contains(types, "string") {
		return json.Marshal(text)
	}
	if len(types) == 0 {
		if is != "" && is != "string" {
			return json.RawMessage(text), nil
		}
		return json.Marshal(text)
	}
	return nil, fmt.Errorf("%q is not %s", text, cmp.Or(strings.Join(articles(types), " or "), "a value"))
}

// jsonType returns the JSON type of a text, or nothing where it is no JSON.
func jsonType(text []byte) string {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || !json.Valid(text) {
		return ""
	}
	switch text[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if bytes.ContainsAny(text, ".eE") {
		return "number"
	}
	return "integer"
}

func without(types []string, t string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(s string) bool { return s == t })
}

// articles names JSON types for a person.
func articles(types []string) []string {
	names := map[string]string{
		"integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "a text",
		"array": "a JSON array", "object": "a JSON object", "null": "null",
	}
	var out []string
	for _, t := range types {
		if n := cmp.Or(names[t], t); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
