package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/source"
)

// outline prints a tree, each value with its place.
func outline(n *source.Node) string {
	place := fmt.Sprintf("@%d:%d", n.Line, n.Column)
	switch n.Kind {
	case source.Map:
		var parts []string
		for _, p := range n.Pairs {
			parts = append(parts, fmt.Sprintf("%s@%d:%d %s", p.Key.Text, p.Key.Line, p.Key.Column, outline(p.Value)))
		}
		return "{" + strings.Join(parts, ", ") + "}" + place
	case source.List:
		var parts []string
		for _, item := range n.Items {
			parts = append(parts, outline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]" + place
	case source.Text:
		return fmt.Sprintf("%q", n.Text) + place
	case source.Bool, source.Int, source.Float:
		return n.Text + "=" + n.Plain + place
	case source.Null:
		return "null" + place
	case source.Bad:
		return "bad" + place
	}
	return "?"
}

// TestPlaces reads texts and compares every place. Columns count characters.
func TestPlaces(t *testing.T) {
	tests := []struct{ name, path, text, want string }{
		{"block", "a.yaml", "a: 1\nb:\n  - x\n  - y: z\n", `{a@1:1 1=1@1:4, b@2:1 ["x"@3:5, {y@4:5 "z"@4:8}@4:5]@3:3}@1:1`},
		{"flow", "a.yaml", `{é: [ü, "ß"], n: ~}`, `{é@1:2 ["ü"@1:6, "ß"@1:9]@1:5, n@1:15 null@1:18}@1:1`},
		{"scalars", "a.yaml", "[on, True, 0x1F, 1_000, 08, 1e3, -.5, 2024-01-01, !!str 5, 18446744073709551615]", `["on"@1:2, True=true@1:6, 0x1F=31@1:12, 1_000=1000@1:18, "08"@1:25, "1e3"@1:29, -.5=-0.5@1:34, "2024-01-01"@1:39, "5"@1:56, 18446744073709551615=18446744073709551615@1:59]@1:1`},
		{"literals", "a.yaml", "a: |\n  x\n  y\nb: >-\n  x\n  y\nc: x\n  y\n", `{a@1:1 "x\ny\n"@1:4, b@4:1 "x y"@4:4, c@7:1 "x y"@7:4}@1:1`},
		{"alias", "a.yaml", "a: &x [1]\nb: *x\n", `{a@1:1 [1=1@1:8]@1:7, b@2:1 [1=1@1:8]@1:7}@1:1`},
		{"merge", "a.yaml", "a: &x {p: 1, q: 2}\nb: {<<: *x, p: 3}\n", `{a@1:1 {p@1:8 1=1@1:11, q@1:14 2=2@1:17}@1:7, b@2:1 {p@2:13 3=3@2:16, q@1:14 2=2@1:17}@2:4}@1:1`},
		{"byte order mark", "a.yaml", "\ufeffa: 1\r\nb: 2\r\n", `{a@1:1 1=1@1:4, b@2:1 2=2@2:4}@1:1`},
		{"empty", "a.yaml", "# nothing\n", `null@0:0`},
		{"keys", "a.yaml", "1: a\ntrue: b\n", `{1@1:1 "a"@1:4, true@2:1 "b"@2:7}@1:1`},
		{"JSON", "a.json", "{\n\t// é\n\t\"é\": [1, 2.50, true, null, \"\\u00e9\\n\",],\n}", `{é@3:2 [1=1@3:8, 2.50=2.50@3:11, true=true@3:17, null@3:23, "é\n"@3:29]@3:7}@1:1`},
		{"JSON by its other ending", "A.JSONC", `{"a": /* x */ {}}`, `{a@1:2 {}@1:15}@1:1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, bad := source.NewFile(tt.path, 1).Parse([]byte(tt.text))
			if bad != nil {
				t.Fatal(source.Problems([]source.Mistake{*bad}))
			}
			if diff := cmp.Diff(tt.want, outline(root)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestProblems: by file, line and column, each once, with an excerpt that hides
// what was marked and keeps its caret below the column.
func TestProblems(t *testing.T) {
	first, second := source.NewFile("first.yaml", 1), source.NewFile("second.yaml", 2)
	text := "a: 1\n\tb: {key: \"sécret-1\", port: 80}\n"
	root, bad := first.Parse([]byte(strings.ReplaceAll(text, "\t", "")))
	if bad != nil {
		t.Fatal("cannot parse")
	}
	inner := root.Field("b")
	inner.Field("key").Hide()
	all := []source.Mistake{
		second.Mistake("in the second file", ""),
		inner.Field("port").Mistake("wants another", "try 81"),
		root.Field("a").Mistake("is one", ""),
		inner.Field("port").Mistake("wants another", "try 81"),
	}
	var got strings.Builder
	for _, p := range source.Problems(all) {
		fmt.Fprintf(&got, "%s\n%s\n", p, p.Excerpt)
	}
	want := `first.yaml:1:4: is one
    1 | a: 1
      |    ^
first.yaml:2:28: wants another (try 81)
    2 | b: {key: "••••••-•", port: 80}
      |                            ^
second.yaml: in the second file

`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestUnreadable: the excerpt of a text that cannot be parsed shows its shape
// alone, for nobody knows what is a secret there.
func TestUnreadable(t *testing.T) {
	tests := []struct{ path, text, want string }{
		{"a.yaml", "a: [hunter2", "a.yaml:1:4: not valid YAML: sequence end token ']' not found\n    1 | a: [•••••••\n      |    ^"},
		{"a.yaml", "hunter2: \"x\"y", "a.yaml:1:13: not valid YAML: value is not allowed in this context. map key-value is pre-defined\n    1 | hunter2: \"•\"•\n      |             ^"},
		{"a.json", `{"é": hunter2}`, "a.json:1:7: not valid JSON: invalid literal\n    1 | {\"é\": •••••••}\n      |       ^"},
		{"a.json", "hunter2", "a.json:1:1: not valid JSON: invalid literal\n    1 | •••••••\n      | ^"},
		{"a.yaml", strings.Repeat("[", 101), "a.yaml:1:101: nested deeper than 100\n    1 | " + strings.Repeat("[", 101) + "\n      | " + strings.Repeat(" ", 100) + "^"},
		{"a.yaml", "a: 1\n---\nb: hunter2\n", "a.yaml:3:1: holds a second document (one file holds one; remove the line ---)\n    3 | b: •••••••\n      | ^"},
		{"a.yaml", "a: 1\nb: \xff", "a.yaml:2:1: is not UTF-8 text\n"},
	}
	for _, tt := range tests {
		root, bad := source.NewFile(tt.path, 1).Parse([]byte(tt.text))
		if bad == nil {
			t.Errorf("%q: read as %s", tt.text, outline(root))
			continue
		}
		p := source.Problems([]source.Mistake{*bad})[0]
		if diff := cmp.Diff(tt.want, p.String()+"\n"+p.Excerpt); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// TestJSON: what a node holds comes out as JSON, in its order.
func TestJSON(t *testing.T) {
	root, bad := source.NewFile("a.yaml", 1).Parse([]byte("z: [1, 0x10, .5, yes, true, ~, {}]\na: \"<é\\n\"\n"))
	if bad != nil {
		t.Fatal("cannot parse")
	}
	got := root.JSON(func(n *source.Node) string { return n.Text + "!" })
	if want := `{"z":[1,16,0.5,"yes!",true,null,{}],"a":"\u003cé\n!"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzParse: no text makes a parser panic, and every place is in the file.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1\n", "a: &x [*x]", "<<: {a: b}", "? [a]\n: b", "a: |\n x", "{\"a\": [1,]}", "\x00", "a: !!str", "- - -"} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, asJSON bool) {
		path := "a.yaml"
		if asJSON {
			path = "a.json"
		}
		file := source.NewFile(path, 1)
		root, bad := file.Parse(data)
		if (root == nil) == (bad == nil) {
			t.Fatal("neither a tree nor a mistake, or both")
		}
		if bad != nil {
			if p := source.Problems([]source.Mistake{*bad})[0]; p.Text == "" {
				t.Fatalf("a mistake without a text: %+v", p)
			}
			return
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + 1
		var walk func(*source.Node)
		walk = func(n *source.Node) {
			if n.Line < 0 || n.Line > lines || n.Column < 0 {
				t.Fatalf("place %d:%d in a file of %d lines", n.Line, n.Column, lines)
			}
			for _, item := range n.Items {
				walk(item)
			}
			for _, p := range n.Pairs {
				walk(p.Key)
				walk(p.Value)
			}
		}
		walk(root)
		root.Hide()
		source.Problems(append(root.Flaws(), root.Mistake("x", "")))
	})
}
