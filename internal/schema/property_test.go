package schema_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenon-mcp/tenon/internal/schema"
)

// TestAgree holds, for schemas of all keywords, that this package and another
// implementation say the same, that what is accepted at once is valid, and that
// what is mended is valid, keeps what was right, and is not mended again.
func TestAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := encode(t, anySchema(t, 3))
		args := encode(t, rapid.Custom(func(t *rapid.T) any { return anyObject(t, 2) }).Draw(t, "args"))
		s := schema.Compile(text)
		if s.Unchecked() != "" || s.GivesUp(args) {
			t.Skip("not checked")
		}
		other := oracleFor(text)
		if other == nil {
			t.Skip("refused by the other")
		}
		out := s.Check(args, true)
		ours := out.Problem == "" && out.Arguments == nil
		theirs, ok := other.valid(args)
		if !ok {
			t.Skip("the other fails")
		}
		if ours != theirs {
			t.Fatalf("%s\n%s\nvalid here %v, there %v: %s", text, args, ours, theirs, out.Problem)
		}
		if s.Accepts(args) && !theirs {
			t.Fatalf("%s\n%s\naccepted at once and not valid", text, args)
		}
		if out.Arguments != nil {
			if theirs, _ := other.valid(out.Arguments); !theirs {
				t.Fatalf("%s\n%s\nmended to %s, which is not valid", text, args, out.Arguments)
			}
		}
		if example := s.Example(); example != "" {
			if theirs, _ := other.valid([]byte(example)); !theirs {
				t.Fatalf("%s\nexample %s is not valid", text, example)
			}
		}
	})
}

func encode(t *rapid.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var names = []string{"a", "b", "user_name", "userName"}

func scalar(t *rapid.T) any {
	return rapid.SampledFrom([]any{nil, true, false, 0, 1, 2.5, -3, 5, "", "a", "A", "5", "true", "aa", "{\"a\":1}", json.Number("1.0")}).Draw(t, "scalar")
}

func anyValue(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 9).Draw(t, "value"); {
	case n == 0 && depth > 0:
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return anyValue(t, depth-1) }), 0, 3).Draw(t, "list")
	case n <= 2 && depth > 0:
		return anyObject(t, depth-1)
	}
	return scalar(t)
}

func anyObject(t *rapid.T, depth int) any {
	return rapid.MapOfN(rapid.SampledFrom(names), rapid.Custom(func(t *rapid.T) any { return anyValue(t, depth) }), 0, 3).Draw(t, "object")
}

// keywordTable returns what makes a value for each keyword.
func keywordTable() map[string]func(t *rapid.T, depth int) any {
	return map[string]func(t *rapid.T, depth int) any{
		"type": func(t *rapid.T, _ int) any {
			one := rapid.SampledFrom([]string{"object", "array", "string", "number", "integer", "boolean", "null", "object"})
			if rapid.Bool().Draw(t, "one") {
				return one.Draw(t, "type")
			}
			return rapid.SliceOfNDistinct(one, 1, 3, rapid.ID[string]).Draw(t, "types")
		},
		"properties":           func(t *rapid.T, d int) any { return schemaMap(t, names, d) },
		"patternProperties":    func(t *rapid.T, d int) any { return schemaMap(t, []string{"^a", "e"}, d) },
		"additionalProperties": oneSchema,
		"propertyNames":        oneSchema,
		"required":             nameList,
		"minProperties":        count, "maxProperties": count,
		"dependentRequired":     func(t *rapid.T, d int) any { return map[string]any{"a": nameList(t, d)} },
		"dependentSchemas":      func(t *rapid.T, d int) any { return schemaMap(t, names, d) },
		"unevaluatedProperties": oneSchema,
		"items":                 oneSchema, "prefixItems": schemaList, "contains": oneSchema,
		"minContains": count, "maxContains": count, "unevaluatedItems": oneSchema,
		"minItems": count, "maxItems": count,
		"uniqueItems": func(t *rapid.T, _ int) any { return rapid.Bool().Draw(t, "unique") },
		"minLength":   count, "maxLength": count,
		"pattern": func(t *rapid.T, _ int) any {
			return rapid.SampledFrom([]string{"a", "^[0-9]+$", "^$"}).Draw(t, "pattern")
		},
		"minimum":          bound,
		"maximum":          bound,
		"exclusiveMinimum": bound, "exclusiveMaximum": bound,
		"multipleOf": func(t *rapid.T, _ int) any { return rapid.SampledFrom([]any{1, 0.5, 2}).Draw(t, "multiple") },
		"enum":       func(t *rapid.T, _ int) any { return rapid.SliceOfN(rapid.Custom(scalar), 1, 4).Draw(t, "enum") },
		"const":      func(t *rapid.T, _ int) any { return scalar(t) },
		"allOf":      schemaList, "anyOf": schemaList, "oneOf": schemaList,
		"not": oneSchema, "if": oneSchema, "then": oneSchema, "else": oneSchema,
		"$ref":    func(t *rapid.T, _ int) any { return rapid.SampledFrom([]string{"#", "#/$defs/x"}).Draw(t, "ref") },
		"default": func(t *rapid.T, _ int) any { return scalar(t) },
		"format":  func(*rapid.T, int) any { return "date" },
	}
}

// common are drawn more often than the rest.
var common = []string{"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "minimum", "maxLength"}

func anySchema(t *rapid.T, depth int) any {
	if depth <= 0 {
		return rapid.SampledFrom([]any{
			true, false,
			map[string]any{},
			map[string]any{"type": "string"},
			map[string]any{"type": "integer"},
			map[string]any{"type": []string{"boolean", "null"}},
		}).Draw(t, "leaf")
	}
	keywords := keywordTable()
	all := make([]string, 0, len(keywords)+2*len(common))
	all = append(append(all, common...), common...)
	all = slices.AppendSeq(all, maps.Keys(keywords))
	slices.Sort(all)
	out := map[string]any{"$defs": map[string]any{"x": map[string]any{"type": []string{"object", "integer"}, "properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/x"}}}}}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom(all), 1, 4).Draw(t, "keywords") {
		out[name] = keywords[name](t, depth-1)
	}
	if depth < 3 {
		delete(out, "$defs")
	}
	return out
}

func oneSchema(t *rapid.T, depth int) any { return anySchema(t, depth) }

func schemaList(t *rapid.T, depth int) any {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return anySchema(t, depth) }), 1, 3).Draw(t, "schemas")
}

func schemaMap(t *rapid.T, keys []string, depth int) any {
	return rapid.MapOfN(rapid.SampledFrom(keys), rapid.Custom(func(t *rapid.T) any { return anySchema(t, depth) }), 1, 2).Draw(t, "schemas")
}

func nameList(t *rapid.T, _ int) any {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 2, rapid.ID[string]).Draw(t, "names")
}

func count(t *rapid.T, _ int) any { return rapid.IntRange(0, 3).Draw(t, "count") }

func bound(t *rapid.T, _ int) any {
	return rapid.SampledFrom([]any{0, 1, -3, 2.5, 5}).Draw(t, "bound")
}
