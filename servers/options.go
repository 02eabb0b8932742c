package servers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Option is one setting of a bundled server, as a command line offers it.
type Option struct {
	Name        string // key in the options object, such as scan_roots
	Type        string // string, integer, number, boolean, or array: any number of strings
	Description string
}

// Flag returns the option's name as a flag: with hyphens.
func (o Option) Flag() string { return strings.ReplaceAll(o.Name, "_", "-") }

// Schema returns the JSON schema of the server's options.
func (s Server) Schema() (*jsonschema.Schema, error) { return s.schema() }

// Options returns the server's options, in the order of their declaration.
func (s Server) Options() ([]Option, error) {
	schema, err := s.schema()
	if err != nil {
		return nil, fmt.Errorf("options of server %s: %w", s.Name, err)
	}
	options := make([]Option, 0, len(schema.PropertyOrder))
	for _, name := range schema.PropertyOrder {
		p := schema.Properties[name]
		o := Option{Name: name, Type: p.Type, Description: p.Description}
		if len(p.Types) > 0 { // a slice is ["null", "array"]
			o.Type = p.Types[len(p.Types)-1]
		}
		options = append(options, o)
	}
	return options, nil
}

// decode reads options into the struct that o points to. It is stricter than
// encoding/json: keys are compared exactly, and nothing may follow the object.
func decode(options json.RawMessage, o any) error {
	options = bytes.TrimSpace(options)
	if len(options) == 0 || string(options) == "null" {
		return nil
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(options, &keys); err != nil {
		return errors.New("options must be one JSON object")
	}
	known := optionNames(reflect.TypeOf(o).Elem())
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(known, key) {
			return fmt.Errorf("unknown option %q; known: %s", key, strings.Join(known, ", "))
		}
	}
	d := json.NewDecoder(bytes.NewReader(options))
	d.DisallowUnknownFields()
	err := d.Decode(o)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		name := e.Field[strings.LastIndexByte(e.Field, '.')+1:] // behind the struct that options stand in
		return fmt.Errorf("option %s must be %s, not %s", name, jsonType(e.Type), e.Value)
	}
	return err
}

func optionNames(t reflect.Type) []string {
	names := make([]string, 0, t.NumField())
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous { // its fields are options
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// jsonType is the JSON name of a Go type.
func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a number"
	}
}

// placePaths makes the relative paths among options absolute: they start from dir, or
// from the working folder where that is empty. An option that holds paths says so by
// its tag path:"yes".
func placePaths(o any, dir string) {
	if dir == "" {
		dir, _ = os.Getwd() // without one they stay as they are
	}
	under := func(p string) string {
		if p == "" || p == "-" || filepath.IsAbs(p) {
			return p
		}
		return filepath.Join(dir, p)
	}
	v := reflect.ValueOf(o).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.Tag.Get("path") == "" {
			continue
		}
		switch f := v.FieldByIndex(field.Index); f.Kind() {
		case reflect.String:
			f.SetString(under(f.String()))
		case reflect.Slice:
			for i := range f.Len() {
				f.Index(i).SetString(under(f.Index(i).String()))
			}
		default: // nothing else is a path
		}
	}
}
