package era

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A ParamHeader is an argument of a tool that goes along as a header as well, where
// the transport is HTTP: its schema has an x-mcp-header.
type ParamHeader struct {
	Name string   // of the header, without the Mcp-Param- before it
	Path []string // to the argument
}

// ParamPrefix begins the names of such headers.
const ParamPrefix = "Mcp-Param-"

var headerWord = []byte(`"x-mcp-header"`)

type headerSchema struct {
	Type       json.RawMessage            `json:"type"`
	Header     json.RawMessage            `json:"x-mcp-header"`
	Properties map[string]json.RawMessage `json:"properties"`
}

// maxHeaderDepth bounds how deep in a schema a header is looked for.
const maxHeaderDepth = 16

// ParamHeaders returns the arguments of a tool with this schema that go along as
// headers. The error says why a client must not use the tool.
func ParamHeaders(schema []byte) ([]ParamHeader, error) {
	if !bytes.Contains(schema, headerWord) {
		return nil, nil
	}
	var out []ParamHeader
	err := paramHeaders(schema, nil, &out)
	slices.SortFunc(out, func(a, b ParamHeader) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	for i := range out[:max(len(out)-1, 0)] {
		if strings.EqualFold(out[i].Name, out[i+1].Name) {
			err = errors.Join(err, fmt.Errorf("two arguments go into one header, %s", out[i].Name))
		}
	}
	return out, err
}

func paramHeaders(schema []byte, path []string, out *[]ParamHeader) error {
	var s headerSchema
	if json.Unmarshal(schema, &s) != nil {
		return nil // a boolean, or what else a schema may be
	}
	var errs []error
	if s.Header != nil {
		var name string
		err := json.Unmarshal(s.Header, &name)
		kind := string(s.Type)
		switch {
		case err != nil || !isToken(name):
			errs = append(errs, errors.New("the x-mcp-header of an argument is no name of a header"))
		case kind != `"string"` && kind != `"integer"` && kind != `"boolean"`:
			errs = append(errs, fmt.Errorf("argument for header %s is neither text, nor an integer, nor a boolean", name))
		default:
			*out = append(*out, ParamHeader{name, path})
		}
	}
	if len(path) >= maxHeaderDepth {
		return errors.Join(errs...)
	}
	for name, property := range s.Properties {
		errs = append(errs, paramHeaders(property, append(slices.Clone(path), name), out))
	}
	return errors.Join(errs...)
}

// isToken reports whether s can be a part of a header's name.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// Value returns the text of the header for these arguments, before it is encoded, and
// whether they have the argument.
func (p ParamHeader) Value(args []byte) (string, bool) {
	for _, key := range p.Path {
		var obj map[string]json.RawMessage
		if json.Unmarshal(args, &obj) != nil {
			return "", false
		}
		args = obj[key]
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if len(args) == 0 || d.Decode(&v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		n, err := v.Float64()
		const safe = 1<<53 - 1
		if err != nil || n != float64(int64(n)) || n < -safe || n > safe {
			return "", false
		}
		return strconv.FormatInt(int64(n), 10), true
	}
	return "", false
}
