package schema_test

import (
	"bytes"
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An oracle is a schema as another implementation reads it.
type oracle struct{ s *jsonschema.Schema }

type refusing struct{}

func (refusing) Load(string) (any, error) { return nil, errors.New("nothing is fetched") }

// oracleFor compiles a schema with the other implementation. It returns nil for
// one that this refuses.
func oracleFor(text []byte) (o *oracle) {
	defer func() {
		if recover() != nil { // it does not survive everything
			o = nil
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refusing{})
	if c.AddResource("https://schema.invalid/", doc) != nil {
		return nil
	}
	s, err := c.Compile("https://schema.invalid/")
	if err != nil {
		return nil
	}
	dropFormats(s, map[*jsonschema.Schema]bool{})
	return &oracle{s}
}

// valid reports whether the other implementation takes the arguments. ok is
// false where it fails over them.
func (o *oracle) valid(args []byte) (valid, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return false, false
	}
	return o.s.Validate(v) == nil, true
}

// dropFormats makes the other implementation leave formats alone, as this one does.
func dropFormats(s *jsonschema.Schema, done map[*jsonschema.Schema]bool) {
	if s == nil || done[s] {
		return
	}
	done[s] = true
	s.Format = nil
	one := func(list ...*jsonschema.Schema) {
		for _, x := range list {
			dropFormats(x, done)
		}
	}
	some := func(v any) {
		switch v := v.(type) {
		case *jsonschema.Schema:
			one(v)
		case []*jsonschema.Schema:
			one(v...)
		}
	}
	one(s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.UnevaluatedItems, s.Contains, s.Items2020)
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		one(list...)
	}
	for _, m := range []map[string]*jsonschema.Schema{s.Properties, s.DependentSchemas} {
		for _, x := range m {
			one(x)
		}
	}
	for _, x := range s.PatternProperties {
		one(x)
	}
	for _, v := range s.Dependencies {
		some(v)
	}
	some(s.AdditionalProperties)
	some(s.Items)
	some(s.AdditionalItems)
}
