package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// TestProblems holds what a model is told: where, what was expected and what
// came, the part of the schema, and an example.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		name, schema, args string
		want               []string
		not                string
	}{
		{name: "type", schema: `{"properties":{"a":{"type":"integer","description":"how many","minimum":1,"maximum":9}}}`, args: `{"a":"five"}`, want: []string{
			`- /a: expected an integer from 1 to 9; got the string "five"`, `Schema of /a: {"type":"integer","description":"how many","minimum":1,"maximum":9}`, `Valid arguments look like this: {"a": 1}`,
		}},
		{name: "path", schema: `{"properties":{"a/b~":{"type":"array","items":{"type":"object","properties":{"x":{"type":"boolean"}}}}}}`, args: `{"a/b~":[{},{"x":"maybe"}]}`, want: []string{"- /a~1b~0/1/x: expected true or false"}},
		{name: "missing", schema: `{"properties":{"u":{"type":"string","format":"uri"},"n":{"type":"number","examples":[7]}},"required":["u","n"]}`, args: `{}`, want: []string{
			"- /u: is missing; expected a string (format: uri)", "- /n: is missing; expected a number", `{"u": "https://example.com/", "n": 7}`,
		}},
		{name: "unknown", schema: `{"properties":{"file_path":{},"depth":{}},"additionalProperties":false}`, args: `{"path":1,"deep":2}`, want: []string{"/path: is not known here; the nearest names are file_path", "/deep: is not known here; known are file_path, depth"}},
		{name: "enum", schema: `{"properties":{"u":{"enum":["km","mi",3,null]}}}`, args: `{"u":"yd"}`, want: []string{`expected one of "km", "mi", 3, null; got the string "yd"`, `{"u": "km"}`}},
		{name: "alternatives", schema: `{"properties":{"u":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}}}`, args: `{"u":"yd"}`, want: []string{`/u: expected an integer or true or false; got the string "yd"`}},
		{name: "the alternative that is meant", schema: `{"properties":{"u":{"anyOf":[{"type":"object","properties":{"x":{"type":"integer"}}},{"type":"null"}]}}}`, args: `{"u":{"x":"yd"}}`, want: []string{`/u/x: expected an integer; got the string "yd"`}},
		{name: "text", schema: `{"properties":{"s":{"type":"string","minLength":2,"maxLength":3,"pattern":"^x"}}}`, args: `{"s":"a"}`, want: []string{"expected a string of 2 to 3 characters that matches ^x"}},
		{name: "list", schema: `{"properties":{"l":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2}}}`, args: `{"l":[]}`, want: []string{"expected a list of 1 to 2 whose items are each a string; got a list of 0", `{"l": ["text"]}`}},
		{name: "number", schema: `{"properties":{"n":{"type":"number","exclusiveMinimum":0,"maximum":0.5,"multipleOf":0.25}}}`, args: `{"n":1}`, want: []string{"expected a number greater than 0 and of at most 0.5 that is a multiple of 0.25; got the number 1"}},
		{name: "whole numbers of JavaScript", schema: `{"properties":{"n":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}}}`, args: `{"n":"x"}`, want: []string{"expected an integer; got"}},
		{name: "long text", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"n":"` + strings.Repeat("é", 500) + `"}`, want: []string{"a string of 500 characters that begins"}, not: strings.Repeat("é", 100)},
		{name: "a long key", schema: `{"properties":{"key":{}},"additionalProperties":false}`, args: `{"` + strings.Repeat("key", 1000) + `":1}`, want: []string{"/keykey", "is not known here"}},
		{name: "many mistakes", schema: `{"additionalProperties":{"type":"integer"}}`, args: `{"a":"x","b":"x","c":"x","d":"x","e":"x","f":"x","g":"x"}`, want: []string{"- /a:", "- /e:", "- and 2 more"}, not: "- /f:"},
		{name: "the rest that is right", schema: `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`, args: `{"a":"1","b":"x"}`, want: []string{"- /b:"}, not: "- /a:"},
		{name: "a long schema", schema: `{"type":"object","description":"` + strings.Repeat("prose ", 200) + `","properties":{"a":{"type":"object","title":"` + strings.Repeat("long ", 200) + `","properties":{"x":{"type":"string"}}}},"additionalProperties":false}`, args: `{"b":1}`, want: []string{`Schema of the arguments: {"type":"object","properties":{"a":`}, not: "prose"},
		{name: "deep", schema: `{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, args: `{"a":["x"],"b":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, want: []string{"nested deeper than 128 levels"}},
		{name: "never", schema: `{"properties":{"a":false}}`, args: `{"a":1}`, want: []string{"- /a: nothing is allowed here; leave it out"}},
		{name: "not", schema: `{"properties":{"a":{"not":{"const":1}}}}`, args: `{"a":1}`, want: []string{"- /a: the number 1 is excluded here"}},
		{name: "too many alternatives", schema: `{"properties":{"a":{"oneOf":[{"type":"integer"},{"type":"number"}]}}}`, args: `{"a":1}`, want: []string{"must fit exactly one"}},
		{name: "names", schema: `{"propertyNames":{"pattern":"^[a-z]$"}}`, args: `{"A1":1}`, want: []string{"- /A1: a member must not have this name"}},
		{name: "twice", schema: `{"properties":{"l":{"uniqueItems":true}}}`, args: `{"l":[1,1.0]}`, want: []string{"items are all different"}},
		{name: "contains", schema: `{"properties":{"l":{"contains":{"const":1},"maxContains":2}}}`, args: `{"l":[2]}`, want: []string{"a list with at least 1 and at most 2 of 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := schema.Compile([]byte(c.schema)).Check([]byte(c.args), true)
			for _, want := range c.want {
				if !strings.Contains(out.Problem, want) {
					t.Errorf("lacks %s:\n%s", want, out.Problem)
				}
			}
			if c.not != "" && strings.Contains(out.Problem, c.not) {
				t.Errorf("has %s:\n%s", c.not, out.Problem)
			}
			if len(out.Problem) > 2500 || out.Arguments != nil || out.Repairs != nil {
				t.Errorf("%d bytes, mended to %s", len(out.Problem), out.Arguments)
			}
		})
	}
}

// TestHostileSchemas: no schema and no arguments take long, and what takes too
// long passes unchecked. The bound on time is generous, for a busy machine.
func TestHostileSchemas(t *testing.T) {
	doubling := func(keyword, last string) string {
		var b strings.Builder
		b.WriteString(`{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
		for i := range 60 {
			fmt.Fprintf(&b, `"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
		}
		return b.String() + `"d60":` + last + `}}`
	}
	long := `{"a":"` + strings.Repeat("x", 1<<18) + `"}`
	for _, c := range []struct{ name, schema, args string }{
		{"anyOf that fails", doubling("anyOf", `{"type":"integer"}`), `{"a":"x"}`},
		{"allOf that holds", doubling("allOf", `{"pattern":"x$"}`), long},
		{"oneOf", doubling("oneOf", `{"type":"string"}`), long},
		{"a pattern", `{"properties":{"a":{"pattern":"^(a?){50}a{50}$"}}}`, long},
		{"many items", `{"properties":{"a":{"uniqueItems":true,"items":{"enum":[1,2,3]}}}}`, `{"a":[` + strings.Repeat("1,", 50_000) + `1]}`},
		{"a huge number", `{"properties":{"a":{"minimum":1,"multipleOf":3}}}`, `{"a":1e999999999}`},
		{"a huge bound", `{"properties":{"a":{"minimum":1e999999999}}}`, `{"a":1}`},
		{"many repairs", `{"additionalProperties":{"type":"integer"}}`, `{` + strings.TrimSuffix(numbered(1000, `"k%d":"%d",`), ",") + `}`},
		{"many unknown members", `{"properties":{"key_one":{},"key_two":{}},"additionalProperties":false}`, `{` + numbered(20_000, `"k%d":"%d",`) + `"KeyOne":1}`},
		{"many wrong items", `{"properties":{"l":{"items":{"type":"integer"}}}}`, `{"l":[` + strings.Repeat(`"x",`, 50_000) + `1]}`},
		{"many members, one of them twice", `{"required":["x"]}`, `{` + numbered(20_000, `"k%d":"%d",`) + `"k1":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			s := schema.Compile([]byte(c.schema))
			s.Accepts([]byte(c.args))
			s.Check([]byte(c.args), true)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %s", took)
			} else {
				t.Log(took)
			}
		})
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i, i)
	}
	return b.String()
}

// TestUnchecked holds the reasons for which a schema checks nothing.
func TestUnchecked(t *testing.T) {
	for text, want := range map[string]string{
		``:                                      "no schema",
		`[1]`:                                   "no object",
		`"object"`:                              "no object",
		`{"type":`:                              "no JSON",
		`{"type":"None"}`:                       `type must be the name of a type, not "None"`,
		`{"properties":[]}`:                     "properties must be an object",
		`{"required":[1]}`:                      "required must be a list of names",
		`{"minLength":-1}`:                      "minLength must be a count",
		`{"enum":1}`:                            "enum must be a list",
		`{"multipleOf":0}`:                      "multipleOf must be greater than 0",
		`{"anyOf":{}}`:                          "anyOf must be a list",
		`{"properties":{"a":"b"}}`:              "a schema must be an object or a boolean",
		`{"$ref":"https://example.com/a"}`:      "which is not fetched",
		`{"$ref":"other.json#/a"}`:              "which is not fetched",
		`{"$ref":"#/nowhere"}`:                  "which is not there",
		`{"$ref":"#"}`:                          "in a circle",
		`{"$dynamicRef":"#a"}`:                  "$dynamicRef",
		`{"$schema":"https://example.com/own"}`: "dialect",
		`{"properties":{"a":{}},"required":["b"],"additionalProperties":false}`:                                                        "asks for b and does not allow it",
		`{"properties":{"a":{"$id":"https://example.com/a","properties":{"b":{"$ref":"#/$defs/c"}}}},"$defs":{"c":{"type":"string"}}}`: "which is not fetched",
		`{"not":{"pattern":"(?=a)"}}`:                                       "a pattern of the schema is not understood",
		`{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`: "nested deeper than 128 levels",
		`{"description":"` + strings.Repeat("x", 1<<20) + `"}`:              "more than 1048576",
	} {
		s := schema.Compile([]byte(text))
		if !strings.Contains(s.Unchecked(), want) || s.Unchecked() == "" {
			t.Errorf("%.60s: %q, want %q", text, s.Unchecked(), want)
		}
		if out := s.Check([]byte(`{"a":1}`), true); out.Problem != "" || out.Arguments != nil || s.Accepts([]byte(`{}`)) {
			t.Errorf("%.60s: %+v", text, out)
		}
	}
}
