package schema_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// TestRepairs holds each repair, and what looks like one and has two readings.
func TestRepairs(t *testing.T) {
	for _, c := range []struct {
		name, schema, args string
		want               string // empty: not mended
		note               string
	}{
		{name: "a number as text", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"z": 1.50, "n":"5", "a":2}`, want: `{"z": 1.50, "n":5, "a":2}`, note: `/n: the text "5"`},
		{name: "an integral number as text", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"n":"5.0"}`, want: `{"n":5}`},
		{name: "no integer", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"n":"5.5"}`},
		{name: "a decimal as text", schema: `{"properties":{"n":{"type":"number"}}}`, args: `{"n":" 5.0 "}`, want: `{"n":5.0}`},
		{name: "a long integer as text", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"n":"9007199254740993"}`, want: `{"n":9007199254740993}`},
		{name: "a number of very many digits", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"n":"` + strings.Repeat("7", 100) + `"}`},
		{name: "a word", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"n":"five"}`},
		{name: "an octal", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"n":"05"}`},
		{name: "nothing", schema: `{"properties":{"n":{"type":"integer"}}}`, args: `{"n":""}`},
		{name: "out of range after all", schema: `{"properties":{"n":{"type":"integer","maximum":3}}}`, args: `{"n":"5"}`},
		{name: "true as text", schema: `{"properties":{"b":{"type":"boolean"}}}`, args: `{"b":"true"}`, want: `{"b":true}`},
		{name: "True as text", schema: `{"properties":{"b":{"type":"boolean"}}}`, args: `{"b":"True"}`, want: `{"b":true}`},
		{name: "yes", schema: `{"properties":{"b":{"type":"boolean"}}}`, args: `{"b":"yes"}`},
		{name: "one for true", schema: `{"properties":{"b":{"type":"boolean"}}}`, args: `{"b":1}`},
		{name: "a number for text", schema: `{"properties":{"s":{"type":"string"}}}`, args: `{"s":12345678901234567890}`, want: `{"s":"12345678901234567890"}`},
		{name: "a number with an exponent for text", schema: `{"properties":{"s":{"type":"string"}}}`, args: `{"s":1e3}`},
		{name: "a boolean for text", schema: `{"properties":{"s":{"type":"string"}}}`, args: `{"s":false}`, want: `{"s":"false"}`},
		{name: "a list for text", schema: `{"properties":{"s":{"type":"string"}}}`, args: `{"s":["a"]}`},
		{name: "text or number", schema: `{"properties":{"s":{"type":["string","number"]}}}`, args: `{"s":true}`, want: `{"s":"true"}`},
		{name: "number or boolean", schema: `{"properties":{"s":{"type":["boolean","number"]}}}`, args: `{"s":"1"}`, want: `{"s":1}`},
		{name: "an object as text", schema: `{"properties":{"o":{"type":"object","required":["a"]}}}`, args: `{"o":"{\"a\":1, \"b\":2}"}`, want: `{"o":{"a":1, "b":2}}`, note: "/o: the JSON in the text was read"},
		{name: "a list as text", schema: `{"properties":{"l":{"type":"array","items":{"type":"string"}}}}`, args: `{"l":"[\"a\",\"b\"]"}`, want: `{"l":["a","b"]}`},
		{name: "a list as text, of other items", schema: `{"properties":{"l":{"type":"array","items":{"type":"object"}}}}`, args: `{"l":"[\"a\",\"b\"]"}`},
		{name: "all arguments as text", schema: `{"type":"object","properties":{"a":{"type":"integer"}}}`, args: `"{\"a\":1}"`, want: `{"a":1}`},
		{name: "within an object as text", schema: `{"properties":{"o":{"type":"object","properties":{"n":{"type":"integer"}}}}}`, args: `{"o":"{\"n\":\"5\"}"}`, want: `{"o":{"n":5}}`},
		{name: "one item", schema: `{"properties":{"l":{"type":"array","items":{"type":"string"}}}}`, args: `{"l":"a"}`, want: `{"l":["a"]}`},
		{name: "one item as text", schema: `{"properties":{"l":{"type":"array","items":{"type":"integer"}}}}`, args: `{"l":"5"}`, want: `{"l":[5]}`},
		{name: "one object", schema: `{"properties":{"l":{"type":"array","items":{"type":"object"}}}}`, args: `{"l":{"a":1}}`, want: `{"l":[{"a":1}]}`},
		{name: "several items as text", schema: `{"properties":{"l":{"type":"array","items":{"type":"string"}}}}`, args: `{"l":"a, b"}`},
		{name: "a broken list as text", schema: `{"properties":{"l":{"type":"array","items":{"type":"string"}}}}`, args: `{"l":"[a"}`},
		{name: "too few items", schema: `{"properties":{"l":{"type":"array","minItems":2}}}`, args: `{"l":5}`},
		{name: "case of an enum", schema: `{"properties":{"u":{"enum":["km","mi"]}}}`, args: `{"u":"KM"}`, want: `{"u":"km"}`, note: `/u: the value was read as "km"`},
		{name: "two cases of an enum", schema: `{"properties":{"u":{"enum":["km","kM"]}}}`, args: `{"u":"KM"}`},
		{name: "separators of an enum", schema: `{"properties":{"u":{"type":"string","enum":["last_hour","last_day"]}}}`, args: `{"u":"Last Hour"}`, want: `{"u":"last_hour"}`},
		{name: "a number of an enum", schema: `{"properties":{"u":{"enum":[5,10]}}}`, args: `{"u":"5"}`, want: `{"u":5}`},
		{name: "a default of what is required", schema: `{"properties":{"scale":{"type":"string","enum":["css","device"],"default":"css"}},"required":["scale"]}`, args: `{"a":1}`, want: `{"scale":"css","a":1}`, note: `/scale was given its default, "css"`},
		{name: "a default in nothing", schema: `{"properties":{"n":{"default":5}},"required":["n"]}`, args: `{ }`, want: `{"n":5 }`},
		{name: "a default that is none", schema: `{"properties":{"n":{"type":"integer","default":"x"}},"required":["n"]}`, args: `{}`},
		{name: "a key nearly right before a default", schema: `{"properties":{"max_results":{"default":5}},"required":["max_results"]}`, args: `{"maxResults":7}`, want: `{"max_results":7}`},
		{name: "no value of an enum", schema: `{"properties":{"u":{"enum":["km","mi"]}}}`, args: `{"u":"kms"}`},
		{name: "another spelling of a key", schema: `{"properties":{"user_name":{"type":"string"}},"required":["user_name"]}`, args: `{"x":1,"userName":"a"}`, want: `{"x":1,"user_name":"a"}`, note: "/userName was read as /user_name"},
		{name: "a letter of a key, closed", schema: `{"properties":{"text":{}},"required":["text"],"additionalProperties":false}`, args: `{"tekt":"a"}`, want: `{"text":"a"}`},
		{name: "a letter of a short key, open", schema: `{"properties":{"model":{}},"required":["model"]}`, args: `{"mode":"a"}`},
		{name: "a letter of a long key, open", schema: `{"properties":{"recipient":{}},"required":["recipient"]}`, args: `{"recipent":"a"}`, want: `{"recipient":"a"}`},
		{name: "an optional key, closed", schema: `{"properties":{"max_results":{"type":"integer"}},"additionalProperties":false}`, args: `{"maxResults":"7"}`, want: `{"max_results":7}`},
		{name: "an optional key, open", schema: `{"properties":{"max_results":{"type":"integer"}}}`, args: `{"maxResults":7}`},
		{name: "two keys for one", schema: `{"properties":{"user_id":{}},"required":["user_id"]}`, args: `{"userId":1,"UserID":2}`},
		{name: "one key for two", schema: `{"properties":{"user_id":{},"userID":{}},"required":["user_id","userID"]}`, args: `{"UserId":1}`},
		{name: "one key for two, one of them optional", schema: `{"properties":{"user_id":{},"userID":{}},"required":["user_id"]}`, args: `{"UserId":1}`},
		{name: "the right key is there", schema: `{"properties":{"user_id":{}},"required":["user_id"],"additionalProperties":false}`, args: `{"user_id":1,"userId":2}`},
		{name: "another word", schema: `{"properties":{"latitude":{"type":"number"}},"required":["latitude"],"additionalProperties":false}`, args: `{"altitude":1}`},
		{name: "another number", schema: `{"properties":{"address1":{}},"required":["address1"],"additionalProperties":false}`, args: `{"address2":1}`},
		{name: "null for an optional", schema: `{"properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, args: `{"a": null, "b":"x"}`, want: `{"b":"x"}`, note: "/a: null was left out"},
		{name: "null for the last", schema: `{"properties":{"a":{"type":"integer"},"b":{"type":"string"}}}`, args: `{"a": 1, "b":null }`, want: `{"a": 1 }`},
		{name: "null for the only", schema: `{"properties":{"a":{"type":"integer"}}}`, args: `{"a":null}`, want: `{}`},
		{name: "null for an enum", schema: `{"properties":{"a":{"type":"string","enum":["x"]}}}`, args: `{"a":null}`, want: `{}`},
		{name: "null for a required", schema: `{"properties":{"a":{"type":"integer"}},"required":["a"]}`, args: `{"a":null}`},
		{name: "null for an item", schema: `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, args: `{"a":[null]}`},
		{name: "optional as pydantic writes it", schema: `{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}}}`, args: `{"n":"5"}`, want: `{"n":5}`},
		{name: "alternatives, one fits", schema: `{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}}}`, args: `{"n":"true"}`, want: `{"n":true}`},
		{name: "alternatives, two fit", schema: `{"properties":{"n":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]}}}`, args: `{"n":"5"}`},
		{name: "alternatives, several things wrong in one", schema: `{"properties":{"o":{"anyOf":[{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"boolean"}}},{"type":"null"}]}}}`, args: `{"o":{"a":"1","b":"true"}}`, want: `{"o":{"a":1,"b":true}}`},
		{name: "deep inside", schema: `{"properties":{"l":{"type":"array","items":{"$ref":"#/$defs/x"}}},"$defs":{"x":{"properties":{"n":{"type":"integer"}}}}}`, args: `{"l":[{"n":1},{ "n" : "2" }]}`, want: `{"l":[{"n":1},{ "n" : 2 }]}`, note: "/l/1/n"},
		{name: "all that is wrong", schema: `{"properties":{"a":{"type":"integer"},"b":{"type":"boolean"},"c":{"enum":["x"]}}}`, args: `{"a":"1","b":"false","c":"X"}`, want: `{"a":1,"b":false,"c":"x"}`},
		{name: "one of two cannot be mended", schema: `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}`, args: `{"a":"1","b":"x"}`},
		{name: "a key that stands twice", schema: `{"properties":{"a":{"type":"integer"}}}`, args: `{"a":"1","a":"2"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := schema.Compile([]byte(c.schema))
			if s.Unchecked() != "" {
				t.Fatal(s.Unchecked())
			}
			out := s.Check([]byte(c.args), true)
			if string(out.Arguments) != c.want {
				t.Errorf("mended to %s, want %s: %s %s", out.Arguments, c.want, out.Repairs, out.Problem)
			}
			if c.want != "" && (len(out.Repairs) == 0 || !strings.Contains(strings.Join(out.Repairs, "\n"), c.note)) {
				t.Errorf("receipt %q, want %q", out.Repairs, c.note)
			}
			if c.want == "" && len(out.Repairs) > 0 {
				t.Errorf("a receipt for nothing: %q", out.Repairs)
			}
			if c.want != "" {
				if again := s.Check(out.Arguments, true); again.Arguments != nil || again.Problem != "" {
					t.Errorf("checked again: %+v", again)
				}
				if o := s.Check([]byte(c.args), false); o.Problem == "" || o.Arguments != nil {
					t.Errorf("without repair: %+v", o)
				}
			}
		})
	}
}
