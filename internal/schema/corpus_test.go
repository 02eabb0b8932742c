package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/schema"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// A listed is a schema of the corpus, or of testdata.
type listed struct {
	name   string
	schema json.RawMessage
}

// catalogs reads the schemas of recorded tool lists.
func catalogs(t testing.TB, folder string) []listed {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogs in %s: %v", folder, err)
	}
	var out []listed
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Server string
			Tools  []struct {
				Name        string
				InputSchema json.RawMessage
			}
		}
		if err := json.Unmarshal(b, &c); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for _, x := range c.Tools {
			out = append(out, listed{c.Server + "/" + x.Name, x.InputSchema})
		}
	}
	return out
}

// TestCorpus: the schema of every real tool is understood or lets calls through,
// and what is understood is read as another implementation reads it, for
// arguments of all sorts.
func TestCorpus(t *testing.T) {
	c := newCensus()
	for _, x := range catalogs(t, testenv.Corpus(t, "catalog")) {
		c.take(t, x, 12)
	}
	c.report(t)
	if c.schemas < 1000 || c.unchecked > c.schemas/100 {
		t.Errorf("%d of %d schemas are not checked", c.unchecked, c.schemas)
	}
	if c.certain < c.valid*9/10 {
		t.Errorf("only %d of %d valid calls take the short way", c.certain, c.valid)
	}
}

// TestSmallCorpus is the same for the few odd schemas that are kept here.
func TestSmallCorpus(t *testing.T) {
	c := newCensus()
	for _, x := range catalogs(t, "testdata/catalog") {
		c.take(t, x, 100)
	}
	c.report(t)
}

// A census counts what the schemas of a corpus lead to.
type census struct {
	rand                                  *rand.Rand
	schemas, unchecked, examples          int
	args, valid, certain, invalid, mended int
}

func newCensus() *census { return &census{rand: rand.New(rand.NewPCG(1, 2))} }

func (c *census) report(t *testing.T) {
	t.Helper()
	t.Logf("%d schemas, %d unchecked, %d with an example; %d arguments: %d valid (%d for certain at once), %d invalid (%d mended)",
		c.schemas, c.unchecked, c.examples, c.args, c.valid, c.certain, c.invalid, c.mended)
}

// take checks one schema with n arguments.
func (c *census) take(t *testing.T, x listed, n int) {
	t.Helper()
	c.schemas++
	s := schema.Compile(x.schema)
	if s.Unchecked() != "" {
		c.unchecked++
		t.Logf("%s: %s", x.name, s.Unchecked())
		if out := s.Check([]byte(`{"any":1}`), true); out.Problem != "" || out.Arguments != nil {
			t.Errorf("%s is not checked, and yet %+v", x.name, out)
		}
		return
	}
	other := oracleFor(x.schema)
	if strings.HasPrefix(s.Check([]byte(`{}`), false).Problem, "-") == (s.Check([]byte(`{}`), false).Problem == "") {
		t.Errorf("%s: %s", x.name, s.Check([]byte(`{}`), false).Problem)
	}
	if strings.Contains(s.Example(), "{") {
		c.examples++
	}
	g := generator{rand: c.rand, root: decode(x.schema)}
	for range n {
		args, err := json.Marshal(g.of(g.root, 0, true))
		if err != nil {
			t.Fatal(err)
		}
		c.compare(t, x.name, s, other, args)
	}
}

func (c *census) compare(t *testing.T, name string, s *schema.Schema, other *oracle, args []byte) {
	t.Helper()
	c.args++
	out := s.Check(args, true)
	ours := out.Problem == "" && out.Arguments == nil
	if ours {
		c.valid++
		if s.Accepts(args) {
			c.certain++
		}
	} else {
		c.invalid++
	}
	if out.Arguments != nil {
		c.mended++
	}
	if other == nil {
		return
	}
	if theirs, ok := other.valid(args); ok && ours != theirs {
		t.Errorf("%s %s: valid here %v, there %v\n%s", name, args, ours, theirs, out.Problem)
	}
	if out.Arguments != nil {
		if theirs, ok := other.valid(out.Arguments); ok && !theirs {
			t.Errorf("%s %s: mended to %s, which is not valid", name, args, out.Arguments)
		}
	}
}

func decode(text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	_ = d.Decode(&v)
	return v
}

// A generator makes arguments for a schema, most of them right.
type generator struct {
	rand *rand.Rand
	root any
}

func (g *generator) coin(n int) bool { return g.rand.IntN(n) == 0 }

// anything are values of all types.
var anything = []any{nil, true, false, 0, 1, -7, 2.5, "", "text", "5", "true", "a,b", "{}", "[]", []any{}, []any{1, "x"}, map[string]any{}, map[string]any{"a": 1}, json.Number("9007199254740993"), json.Number("5.0"), json.Number("1e3"), "ünï\\\"", "2026-01-31"}

func (g *generator) of(s any, depth int, root bool) any {
	if !root && g.coin(25) || depth > 6 {
		return anything[g.rand.IntN(len(anything))]
	}
	o, ok := s.(map[string]any)
	if !ok {
		return anything[g.rand.IntN(len(anything))]
	}
	if ref, ok := o["$ref"].(string); ok {
		return g.of(g.find(ref), depth+1, root)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := o[key].([]any); ok && len(list) > 0 {
			return g.of(list[g.rand.IntN(len(list))], depth+1, root)
		}
	}
	if list, ok := o["enum"].([]any); ok && len(list) > 0 {
		v := list[g.rand.IntN(len(list))]
		if text, ok := v.(string); ok && g.coin(10) {
			return strings.ToUpper(text)
		}
		return v
	}
	if v, ok := o["const"]; ok {
		return v
	}
	kind := o["type"]
	if list, ok := kind.([]any); ok && len(list) > 0 {
		kind = list[g.rand.IntN(len(list))]
	}
	return g.typed(kind, o, depth)
}

func (g *generator) typed(kind any, o map[string]any, depth int) any {
	switch kind {
	case "string":
		if g.coin(20) {
			return 12
		}
		return []string{"text", "a longer text", "", "5", "ü", "https://example.com/", "2026-01-31", "2026-01-31T12:00:00Z"}[g.rand.IntN(8)]
	case "integer", "number":
		n := []any{1, 0, 5, 10, 100, -3, 2.5, "7"}[g.rand.IntN(8)]
		if m, ok := o["minimum"].(json.Number); ok && g.coin(2) {
			return m
		}
		return n
	case "boolean":
		return []any{true, false, "true"}[g.rand.IntN(3)]
	case "array":
		out := []any{}
		for range g.rand.IntN(4) {
			out = append(out, g.of(o["items"], depth+1, false))
		}
		return out
	case "object", nil:
		return g.object(o, depth)
	}
	return nil
}

func (g *generator) object(o map[string]any, depth int) any {
	out := map[string]any{}
	need := map[string]bool{}
	if list, ok := o["required"].([]any); ok {
		for _, name := range list {
			need[fmt.Sprint(name)] = true
		}
	}
	props, _ := o["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(props)) {
		sub := props[name]
		if need[name] && !g.coin(40) || g.coin(3) {
			if g.coin(40) {
				name = strings.ToUpper(strings.ReplaceAll(name, "_", ""))
			}
			out[name] = g.of(sub, depth+1, false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(need)) {
		if _, ok := props[name]; !ok && !g.coin(3) {
			out[name] = "text"
		}
	}
	if g.coin(12) {
		out["unknown"] = anything[g.rand.IntN(len(anything))]
	}
	if rest, ok := o["additionalProperties"].(map[string]any); ok {
		out["more"] = g.of(rest, depth+1, false)
	}
	return out
}

func (g *generator) find(ref string) any {
	v := g.root
	for i, token := range strings.Split(ref, "/") {
		if i == 0 {
			continue
		}
		switch x := v.(type) {
		case map[string]any:
			v = x[token]
		case []any:
			var n int
			if _, err := fmt.Sscan(token, &n); err != nil || n >= len(x) {
				return nil
			}
			v = x[n]
		}
	}
	return v
}
