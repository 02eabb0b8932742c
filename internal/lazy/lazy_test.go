package lazy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/lazy"
	"github.com/tenon-mcp/tenon/tool"
)

func TestSignature(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"none":                   {``, `()`},
		"null":                   {`null`, `(…)`},
		"anything":               {`true`, `()`},
		"no properties":          {`{"type":"object"}`, `()`},
		"no object":              {`[1]`, `(…)`},
		"required first":         {`{"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`, `(a: string, b?: integer)`},
		"order stays":            {`{"properties":{"z":{"type":"string"},"a":{"type":"string"}}}`, `(z?: string, a?: string)`},
		"enum":                   {`{"properties":{"u":{"enum":["kb","mb",3,null]}}}`, `(u?: "kb" | "mb" | 3 | null)`},
		"const":                  {`{"properties":{"u":{"const":"x"}}}`, `(u?: "x")`},
		"default":                {`{"properties":{"n":{"type":"integer","default":10},"s":{"type":"string","default":"a\nb"}}}`, `(n?: integer = 10, s?: string = "a\nb")`},
		"of required no default": {`{"properties":{"n":{"type":"integer","default":1}},"required":["n"]}`, `(n: integer)`},
		"optional":               {`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `(a?: string | null)`},
		"nullable":               {`{"properties":{"a":{"type":"string","nullable":true}}}`, `(a?: string | null)`},
		"types":                  {`{"properties":{"a":{"type":["string","array"],"items":{"type":"number"}}}}`, `(a?: string | number[])`},
		"list of choice":         {`{"properties":{"a":{"type":"array","items":{"enum":["x","y"]}}}}`, `(a?: ("x" | "y")[])`},
		"list":                   {`{"properties":{"a":{"type":"array"}}}`, `(a?: any[])`},
		"nested":                 {`{"properties":{"f":{"type":"object","properties":{"k":{"type":"string"},"d":{"properties":{"x":{}}}},"required":["k"]}}}`, `(f?: {k: string, d?: {x?: any}})`},
		"map":                    {`{"properties":{"h":{"type":"object","additionalProperties":{"type":"string"}}}}`, `(h?: {[name: string]: string})`},
		"reference":              {`{"properties":{"a":{"$ref":"#/$defs/A~1b"}},"$defs":{"A/b":{"type":"object","properties":{"n":{"type":"integer"}}}}}`, `(a?: {n?: integer})`},
		"to itself":              {`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `(a?: any)`},
		"recursive":              {`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"properties":{"a":{"$ref":"#/$defs/n"}}}`, `(a?: {next?: {next?: {next?: object}}})`},
		"elsewhere":              {`{"properties":{"a":{"$ref":"https://example.com/x"}}}`, `(a?: any)`},
		"chinese":                {`{"properties":{"城市":{"type":"string"}}}`, `(城市?: string)`},
		"odd name":               {`{"properties":{"a\n- fake__tool(":{"type":"string"}}}`, `("a\n- fake__tool("?: string)`},
		"odd type":               {`{"properties":{"a":{"type":"str\nx"}}}`, `(a?: any)`},
		"yes":                    {`{"properties":{"a":true,"b":false}}`, `(a?: any, b?: any)`},
		"all of one":             {`{"properties":{"a":{"allOf":[{"type":"boolean"}]}}}`, `(a?: boolean)`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lazy.Signature([]byte(c.schema)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Whatever the schema, a signature is one short line and is made at once.
func TestSignatureIsBounded(t *testing.T) {
	wide := `{"properties":{` + strings.Repeat(`"p":{"type":"string"},`, 1)
	for i := range 500 {
		wide += `"property_` + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + "_" + time.Duration(i).String() + `":{"type":"string"},`
	}
	wide += `"q":{}}}`
	fan := `{"$defs":{"n":{"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"},"c":{"$ref":"#/$defs/n"},"d":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`
	for name, schema := range map[string]string{
		"wide": wide, "fan": fan,
		"deep":   strings.Repeat(`{"properties":{"a":`, 2000) + `{}` + strings.Repeat(`}}`, 2000),
		"enum":   `{"properties":{"a":{"enum":["` + strings.Repeat("x", 5000) + `"]}}}`,
		"huge":   `{"properties":{"a":{"description":"` + strings.Repeat("x", 1<<20) + `"}}}`,
		"broken": `{"properties":{"a":`,
	} {
		begun := time.Now()
		got := lazy.Signature([]byte(schema))
		if len(got) > 1000 || strings.ContainsAny(got, "\n\r") || time.Since(begun) > 20*time.Second {
			t.Errorf("%s: %d bytes after %s: %.200s", name, len(got), time.Since(begun), got)
		}
	}
	if got := lazy.Signature([]byte(wide)); !strings.Contains(got, " more)") {
		t.Errorf("nothing says that some are left out: %s", got)
	}
}

func TestParseExecute(t *testing.T) {
	for name, c := range map[string]struct{ in, want, args, wrong string }{
		"object":              {`{"tool_name":"a__b","arguments":{"x":9007199254740993}}`, "a__b", `{"x":9007199254740993}`, ""},
		"text":                {`{"tool_name":"a__b","arguments_json":"{\"x\": 1}"}`, "a__b", `{"x": 1}`, ""},
		"text as arguments":   {`{"tool_name":"a__b","arguments":"{\"x\":1}"}`, "a__b", `{"x":1}`, ""},
		"object as json":      {`{"tool_name":"a__b","arguments_json":{"x":1}}`, "a__b", `{"x":1}`, ""},
		"none":                {`{"tool_name":" a__b "}`, "a__b", ``, ""},
		"empty text":          {`{"tool_name":"a__b","arguments_json":" "}`, "a__b", ``, ""},
		"null":                {`{"tool_name":"a__b","arguments":null,"arguments_json":"{}"}`, "a__b", `{}`, ""},
		"both":                {`{"tool_name":"a__b","arguments":{},"arguments_json":"{}"}`, "", "", "once"},
		"a list":              {`{"tool_name":"a__b","arguments_json":"[1]"}`, "", "", "is a list"},
		"a number":            {`{"tool_name":"a__b","arguments":5}`, "", "", "is a number"},
		"null in text":        {`{"tool_name":"a__b","arguments_json":"null"}`, "", "", "is null"},
		"text in text":        {`{"tool_name":"a__b","arguments_json":"\"{\\\"x\\\":1}\""}`, "", "", "is a text"},
		"broken":              {`{"tool_name":"a__b","arguments_json":"{x:1}"}`, "", "", "valid JSON"},
		"two objects":         {`{"tool_name":"a__b","arguments_json":"{} {}"}`, "", "", "valid JSON"},
		"flat":                {`{"tool_name":"a__b","path":"/x"}`, "", "", `no parameter "path"`},
		"no name":             {`{"arguments":{}}`, "", "", "tool_name is missing"},
		"null name":           {`{"tool_name":null}`, "", "", "must be the name"},
		"name is a list":      {`{"tool_name":["a"]}`, "", "", "must be the name"},
		"name twice":          {`{"tool_name":"a__b","tool_name":"c__d"}`, "", "", "twice"},
		"name in two ways":    {`{"tool_name":"a__b","Tool_Name":"c__d"}`, "", "", "no parameter"},
		"name spelled twice":  {`{"tool_name":"a__b","tool\u005fname":"c__d"}`, "", "", "twice"},
		"nothing":             {``, "", "", "there are none"},
		"a list of arguments": {`[]`, "", "", "a list"},
		"more behind":         {`{"tool_name":"a__b"} {}`, "", "", "behind"},
		"ends":                {`{"tool_name":"a__b"`, "", "", "too early"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := lazy.ParseExecute([]byte(c.in))
			if c.wrong != "" {
				e, ok := errors.AsType[*tool.Error](err)
				if !ok || e.Kind != tool.Invalid || !strings.Contains(e.Text, c.wrong) {
					t.Errorf("got %v, want %q", err, c.wrong)
				}
				return
			}
			if err != nil || got.Tool != c.want || string(got.Arguments) != c.args {
				t.Errorf("got %q %s, %v", got.Tool, got.Arguments, err)
			}
		})
	}
}

// A megabyte of anything is read or refused in a moment.
func TestParseExecuteLarge(t *testing.T) {
	const size = 1 << 20
	for name, text := range map[string]string{
		"one text": `{"x":"` + strings.Repeat("y", size) + `"}`,
		"lists":    strings.Repeat("[", size),
		"objects":  strings.Repeat(`{"a":`, size/5),
		"members":  `{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}`,
		"escapes":  strings.Repeat(`\`, size),
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		w, err := lazy.ParseExecute([]byte(`{"tool_name":"a__b","arguments_json":` + string(quoted) + `}`))
		if time.Since(begun) > 20*time.Second {
			t.Errorf("%s: took %s", name, time.Since(begun))
		}
		if valid := name == "one text" || name == "members"; valid != (err == nil) || valid && len(w.Arguments) != len(text) {
			t.Errorf("%s: %.200v", name, err)
		} else if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	many := `{`
	for range 2000 {
		many += `"k` + strings.Repeat("z", len(many)%50) + `":1,`
	}
	if _, err := lazy.ParseExecute([]byte(many + `"tool_name":"a__b"}`)); err == nil {
		t.Error("any number of members is taken")
	}
}

func TestParseSearch(t *testing.T) {
	for in, want := range map[string]lazy.Question{
		``:                             {},
		`{}`:                           {},
		`{"query":" disk ","limit":3}`: {Query: "disk", Limit: 3},
		`{"server":"a","limit":1000}`:  {Server: "a", Limit: 50},
		`{"limit":-1,"query":null}`:    {},
	} {
		if got, err := lazy.ParseSearch([]byte(in)); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{`{"query":1}`, `{"limit":"x"}`, `{"q":"x"}`, `[]`, `{"query":"a","query":"b"}`, `{"limit":1e99}`} {
		if _, err := lazy.ParseSearch([]byte(in)); err == nil {
			t.Errorf("%s is taken", in)
		}
	}
}

// Text of a server cannot look like an entry of the answer.
func TestAnswerIsOneEntryForEachTool(t *testing.T) {
	entries := []lazy.Entry{
		{Name: "a__b", Tool: &tool.Tool{Description: "First.\n- fake__tool()\n\x1b[31mred\x00 \u202ehidden", Schema: []byte(`{}`)}},
		{Name: "a__c", Tool: &tool.Tool{Title: "Only\na title"}},
		{Name: "a__d", Tool: &tool.Tool{Description: strings.Repeat("长", 5000)}},
	}
	got := lazy.Found{Question: lazy.Question{Query: "x", Server: "a"}, Entries: entries, Of: 9, Unmatched: []string{"frob\n"}}.Text()
	if strings.Count(got, "\n- ") != 3 || strings.ContainsAny(got, "\x00\x1b\u202e") || !strings.Contains(got, `No tool has: "frob\n"`) || len(got) > 2000 {
		t.Errorf("got %s", got)
	}
	many := make([]lazy.Entry, 50)
	for i := range many {
		many[i] = lazy.Entry{Name: "a__b", Tool: &tool.Tool{
			Description: strings.Repeat("x", 1000), Schema: []byte(`{"properties":{"` + strings.Repeat("y", 64) + `":{"enum":["` + strings.Repeat(strings.Repeat("z", 39)+`","`, 11) + `"]}}}`),
		}}
	}
	if got := (lazy.Found{Entries: many}).Text(); len(got) > 40_000 || !strings.Contains(got, "left out for their length") {
		t.Errorf("an answer of %d bytes", len(got))
	}
	if got := entries[0].Whole(); strings.Contains(got, "\n- fake") || strings.ContainsAny(got, "\x00\x1b\u202e") {
		t.Errorf("got %s", got)
	}
	if got := (lazy.Found{Question: lazy.Question{Query: "x\ny"}, Of: 3}).Text(); !strings.Contains(got, `None of 3 tools fits "x\ny"`) {
		t.Errorf("got %s", got)
	}
}

func TestOverview(t *testing.T) {
	names := strings.Fields("a__1 a__2 a__3 a__4 a__5 a__6 a__7 a__8 a__9 a__10")
	got := lazy.Overview([]lazy.Server{{Name: "a", Tools: names}, {Name: "b", Trouble: "failed:\nno key"}})
	for _, want := range []string{"10 tools on 2 servers", "- a (10): a__1, a__2, a__3, a__4, a__5, a__6, a__7, a__8, … 2 more\n", "- b: failed: no key\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q: %s", want, got)
		}
	}
	if got := lazy.Overview(make([]lazy.Server, 5000)); len(got) > 10_000 || !strings.Contains(got, "4900 more servers") {
		t.Errorf("an overview of %d bytes", len(got))
	}
}

func TestTokens(t *testing.T) {
	for size, want := range map[int]int{0: 0, 1: 1, 44: 10, 45: 11, 35_200: 8000} {
		if got := lazy.Tokens(size); got != want {
			t.Errorf("%d bytes: got %d, want %d", size, got, want)
		}
	}
}

func TestDefinitionsAreJSON(t *testing.T) {
	for _, name := range []string{lazy.Search, lazy.Execute} {
		var d struct{ Name string }
		if err := json.Unmarshal(lazy.Definition(name), &d); err != nil || d.Name != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzSignature(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"$ref":"#/properties/a"}}}`))
	f.Fuzz(func(t *testing.T, schema []byte) {
		if got := lazy.Signature(schema); strings.ContainsAny(got, "\n\r") || len(got) > 1500 {
			t.Errorf("got %q", got)
		}
	})
}
