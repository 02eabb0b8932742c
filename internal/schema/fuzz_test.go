package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// seeds are schemas that use every keyword, with arguments.
var seeds = [][2]string{
	{`{"type":"object","properties":{"a":{"type":"integer","minimum":1,"maximum":5}},"required":["a"],"additionalProperties":false}`, `{"a":"5"}`},
	{`{"properties":{"a":{"type":["string","null"],"minLength":2,"maxLength":3,"pattern":"^a"}}}`, `{"a":"ab"}`},
	{`{"properties":{"a":{"enum":["x",1,null,true]},"b":{"const":{"k":[1.0]}}}}`, `{"a":"X","b":{"k":[1]}}`},
	{`{"properties":{"l":{"type":"array","items":{"type":"number"},"minItems":1,"maxItems":3,"uniqueItems":true}}}`, `{"l":[1,1.0]}`},
	{`{"properties":{"l":{"prefixItems":[{"type":"string"}],"items":false,"contains":{"const":1},"minContains":0}}}`, `{"l":["a"]}`},
	{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"l":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"l":["a",1]}`},
	{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"https://example.com/x","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`, `{"n":0}`},
	{`{"properties":{"n":{"exclusiveMinimum":0,"exclusiveMaximum":1,"multipleOf":0.25}}}`, `{"n":0.5}`},
	{`{"properties":{"o":{"anyOf":[{"type":"object","properties":{"n":{"type":"integer"}}},{"type":"null"}]}}}`, `{"o":{"n":"1"}}`},
	{`{"oneOf":[{"required":["a"]},{"required":["b"]}],"allOf":[{"minProperties":1},{"maxProperties":2}]}`, `{"a":1,"b":2}`},
	{`{"properties":{"t":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"t":5.0}`},
	{`{"not":{"required":["a"]},"if":{"required":["b"]},"then":{"required":["c"]},"else":{"required":["d"]}}`, `{"b":1}`},
	{`{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}},"$ref":"#/$defs/n"}`, `{"next":{"next":{"v":"1"}}}`},
	{`{"properties":{"a":{"$anchor":"x","type":"string"},"b":{"$ref":"#x"}}}`, `{"b":1}`},
	{`{"$ref":"#"}`, `{}`},
	{`{"patternProperties":{"^x-":{"type":"string"}},"propertyNames":{"maxLength":4},"additionalProperties":{"type":"integer"}}`, `{"x-a":"1","b":2}`},
	{`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"required":["d"]}},"dependencies":{"e":["f"]}}`, `{"a":1,"c":1,"e":1}`},
	{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`},
	{`{"anyOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"b":true}}],"unevaluatedProperties":{"type":"string"}}`, `{"a":1,"b":2}`},
	{`{"properties":{"l":{"prefixItems":[true],"unevaluatedItems":false}}}`, `{"l":[1,2]}`},
	{`{"properties":{"a":false,"b":true}}`, `{"a":1}`},
	{`{"allOf":[{"unevaluatedProperties":{"type":"integer"}}],"unevaluatedProperties":false}`, `{"a":1}`},
	{`{"properties":{"n":{"exclusiveMaximum":5}}}`, `{"n":5}`},
	{`{"properties":{"n":{"exclusiveMinimum":5,"maximum":5.5}}}`, `{"n":5.5}`},
	{`{"properties":{"n":{"maximum":1}}}`, `{"n":2.5}`},
	{`{"properties":{"n":{"minimum":-1}}}`, `{"n":-1.5}`},
	{`{"properties":{"s":{"minLength":3}}}`, `{"s":"\u00e9\u00e9"}`},
	{`{"properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1,"a":"2"}`},
	{`{"type":"None"}`, `{}`},
	{`{"$ref":"https://example.com/other.json"}`, `{}`},
	{`{"properties":{"n":{"minimum":1}}}`, `{"n":1e999999999}`},
	{`{"properties":{"userName":{"type":"string"}},"required":["userName"]}`, `{"user_name":null}`},
	{`{"properties":{"k":{"type":"string"}}}`, `{"\u006b":1,"k":"\ud83d\ude00\ud800"}`},
}

// FuzzAgree holds that this package and another implementation say the same of
// any arguments, that what is accepted at once is valid, that mended arguments
// are valid, and that nothing panics.
func FuzzAgree(f *testing.F) {
	for _, s := range seeds {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		s := schema.Compile([]byte(text))
		if !json.Valid([]byte(args)) {
			s.Accepts([]byte(args)) // must not panic
			return
		}
		certain := s.Accepts([]byte(args))
		out := s.Check([]byte(args), true)
		ours := out.Problem == "" && out.Arguments == nil
		if certain && !ours {
			t.Fatalf("accepted at once, and then %+v", out)
		}
		if len(out.Arguments) > 0 && !json.Valid(out.Arguments) {
			t.Fatalf("mended to %s", out.Arguments)
		}
		if s.Unchecked() != "" || !sameAim(text, args) || s.GivesUp([]byte(args)) {
			return
		}
		other := oracleFor([]byte(text))
		if other == nil {
			return
		}
		if theirs, ok := other.valid([]byte(args)); ok && theirs != ours {
			t.Fatalf("valid here %v, there %v: %+v", ours, theirs, out)
		}
		if out.Arguments != nil {
			if theirs, ok := other.valid(out.Arguments); ok && !theirs {
				t.Fatalf("mended to %s, which is not valid", out.Arguments)
			}
		}
	})
}

// sameAim reports whether both implementations mean to say the same: this one
// does not reckon with enormous numbers.
func sameAim(text, args string) bool {
	for _, s := range []string{text, args} {
		if len(s) > 2000 || strings.Contains(s, "e") && hasLongNumber(s) {
			return false
		}
	}
	return true
}

// hasLongNumber reports whether there may be a number with a long exponent.
func hasLongNumber(s string) bool {
	digits := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			digits = 0
			continue
		}
		if digits++; digits > 2 {
			return true
		}
	}
	return false
}
