package toml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/toml"
)

// show writes a tree on one line.
func show(n *toml.Node) string {
	var parts []string
	for _, i := range n.Items {
		parts = append(parts, show(i))
	}
	for _, p := range n.Pairs {
		parts = append(parts, p.Key+":"+show(p.Value))
	}
	all := strings.Join(parts, " ")
	marks := map[toml.Kind]string{toml.Text: "'" + n.Text + "'", toml.List: "[" + all + "]", toml.Table: "{" + all + "}"}
	if text, ok := marks[n.Kind]; ok {
		return text
	}
	return n.Text
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"":                                    "{}",
		"# only\n\n":                          "{}",
		"a = 1":                               "{a:1}",
		"a = 1 # c\r\nb=true\r\n":             "{a:1 b:true}",
		"a.b.c = 'x'\na.d = \"y\"":            "{a:{b:{c:'x'} d:'y'}}",
		"\"q.r\" = 1\n'' = 2":                 "{q.r:1 :2}",
		"[a]\nx=1\n[a.b]\ny=2\n[c]":           "{a:{x:1 b:{y:2}} c:{}}",
		"[a.b]\n[a]\nx=1":                     "{a:{b:{} x:1}}",
		"[[t]]\nx=1\n[[t]]\n[t.u]\ny=2":       "{t:[{x:1} {u:{y:2}}]}",
		"a=[1, 'x', [true,], # c\n {b=2}]":    "{a:[1 'x' [true] {b:2}]}",
		`a="\t\"\\\u00e9\U0001F600"`:          "{a:'\t\"\\é😀'}",
		`a='C:\dir\n'`:                        `{a:'C:\dir\n'}`,
		"a=\"\"\"\nx\\\n   y\"\"\"\"":         "{a:'xy\"'}",
		"a='''\n'x'\n'''":                     "{a:''x'\n'}",
		"d = 1979-05-27T07:32:00-08:00":       "{d:1979-05-27T07:32:00-08:00}",
		"d = 1979-05-27 07:32:00\nf=-inf":     "{d:1979-05-27 07:32:00 f:-inf}",
		"h=0xDEAD_beef\nf=6.6e-34":            "{h:0xDEAD_beef f:6.6e-34}",
		"a={}\nb={x.y=1, z={}}":               "{a:{} b:{x:{y:1} z:{}}}",
		"a={\n x=1, # c\n y=\"\\x41\\e\",\n}": "{a:{x:1 y:'A\x1b'}}",
		"[ a . 'b' ]\nx = 1":                  "{a:{b:{x:1}}}",
	} {
		root, _, err := toml.Parse([]byte(in))
		if err != nil {
			t.Errorf("%q: %v", in, err)
		} else if got := show(root); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for in, at := range map[string]int{
		"a":                  1,
		"a = ":               4,
		"a = not-a-real-key": 4,
		"a = 1 b = 2":        4, // no number has a b in it, but letters of hexadecimal ones
		"a = 1\na = 2":       6,
		"[a]\n[a]":           5,
		"a.b = 1\n[a]\nb=2":  12,
		"a = {x=1}\n[a.b]":   11,
		"a = [1, 2":          9,
		"a = [1,":            4,
		"a = 'x":             4,
		"a = \"x\ny\"":       4,
		`a = "\q"`:           5,
		"a = {x=1,,}":        9,
		"a = {x=1":           8,
		"[a":                 2,
		"[[a]":               4,
		"a = [1]\n[[a]]":     10,
		"= 1":                0,
		"a = '''x":           4,
	} {
		_, _, err := toml.Parse([]byte(in))
		e, ok := errors.AsType[*toml.Error](err)
		switch {
		case !ok:
			t.Errorf("%q is no mistake: %v", in, err)
		case e.Offset != at:
			t.Errorf("%q: %v, want it at %d", in, e, at)
		case strings.Contains(e.Text, "real"):
			t.Errorf("%q: the error quotes a value: %v", in, e)
		}
	}
}

// Statements are whole lines, with the path of what they say.
func TestStatements(t *testing.T) {
	in := "# c\nx = 1\n\n[a.b] # h\n  y = [\n 1,\n]\nz.w = 2"
	_, all, err := toml.Parse([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		got = append(got, strings.Join(s.Path, "/")+"|"+in[s.Start:s.End])
	}
	want := []string{"x|x = 1\n", "a/b|[a.b] # h\n", "a/b/y|  y = [\n 1,\n]\n", "a/b/z/w|z.w = 2"}
	if strings.Join(got, ";") != strings.Join(want, ";") {
		t.Errorf("statements %q, want %q", got, want)
	}
}

// No text crashes the reader, and what it accepts has its values where it says.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a = 1", "[[a.b]]\nc='''x'''", "a={b=[1,{c=2}]}", `a="\u00e9"`, "[a]\r\nb.c=1\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, all, err := toml.Parse(data)
		if err != nil {
			if e, ok := errors.AsType[*toml.Error](err); !ok || e.Offset < 0 || e.Offset > len(data) {
				t.Fatalf("%v", err)
			}
			return
		}
		if root == nil {
			t.Fatal("neither a tree nor an error")
		}
		at := 0
		for _, s := range all {
			if s.Start < at || s.End < s.Start || s.End > len(data) {
				t.Fatalf("statement from %d to %d after %d", s.Start, s.End, at)
			}
			at = s.End
		}
	})
}
