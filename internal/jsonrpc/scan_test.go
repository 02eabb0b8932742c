package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMembers(t *testing.T) {
	keys := []string{"name", "arguments", "_meta"}
	for _, c := range []struct{ in, name, args string }{
		{`{"name":"a","arguments":{"x":[1,{"name":2}]}}`, `"a"`, `{"x":[1,{"name":2}]}`},
		{` { "arguments" : null , "name" : "b" } `, `"b"`, `null`},
		{`{"n\u0061me":"escaped"}`, `"escaped"`, ``},
		{`{"\u006e\u0061\u006d\u0065":"all","\u0061\u0072\u0067\u0075\u006d\u0065\u006e\u0074\u0073":1}`, `"all"`, `1`},
		{`{"name":"q\"}{","x":{}}`, `"q\"}{"`, ``},
		{`{}`, ``, ``},
	} {
		for cut := range len(c.in) + 1 { // in every pair of pieces
			b := tool.Bytes{[]byte(c.in[:cut]), []byte(c.in[cut:])}
			var spans [3]jsonrpc.Span
			if err := jsonrpc.Members(b, keys, spans[:]); err != nil {
				t.Fatalf("%s cut at %d: %v", c.in, cut, err)
			}
			if got := string(spans[0].In(b).Join()); got != c.name {
				t.Fatalf("%s cut at %d: name %s, want %s", c.in, cut, got, c.name)
			}
			if got := string(spans[1].In(b).Join()); got != c.args {
				t.Fatalf("%s cut at %d: arguments %s, want %s", c.in, cut, got, c.args)
			}
		}
	}
}

func TestMembersRefuses(t *testing.T) {
	for _, in := range []string{
		``, `[]`, `1`, `"x"`, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}}`, `{"a":[1}`, `{"a":{]}`, `{a:1}`,
		`{"a":tru}`, `{"a":01}`, `{"a":1.}`, `{"a":+1}`, `{"a":nul}`, `{"a":1 2}`, `{"a":"x}`, `{"a":1}x`,
		`{"name":1,"name":2}`, `{"name":1,"n\u0061me":2}`,
		strings.Repeat(`{"a":`, 600) + `1` + strings.Repeat(`}`, 600),
	} {
		var spans [1]jsonrpc.Span
		if err := jsonrpc.Members(tool.OneOf([]byte(in)), []string{"name"}, spans[:]); err == nil {
			t.Errorf("%.40s is accepted", in)
		}
	}
}

func TestEdit(t *testing.T) {
	for _, c := range []struct {
		in     string
		fields []jsonrpc.Field
		want   string
	}{
		{`{"name":"s__t","arguments":{"n":9007199254740993}}`, []jsonrpc.Field{{"name", []byte(`"t"`)}}, `{"name":"t","arguments":{"n":9007199254740993}}`},
		{``, []jsonrpc.Field{{"a", []byte(`1`)}}, `{"a":1}`},
		{`{ }`, []jsonrpc.Field{{"a", []byte(`1`)}, {"b", []byte(`2`)}}, `{ "a":1,"b":2}`},
		{`{"b":0,"x": [1] ,"a":0}`, []jsonrpc.Field{{"a", []byte(`1`)}, {"b", []byte(`2`)}, {"c", []byte(`3`)}}, `{"b":2,"x": [1] ,"a":1,"c":3}`},
	} {
		got, err := jsonrpc.Edit([]byte(c.in), c.fields...)
		if err != nil || string(got) != c.want {
			t.Errorf("Edit(%s) = %s, %v; want %s", c.in, got, err, c.want)
		}
	}
	meta, err := jsonrpc.EditMeta([]byte(`{"a":1,"_meta":{"progressToken":"mine","k":2}}`), jsonrpc.Field{"progressToken", []byte(`7`)})
	if want := `{"a":1,"_meta":{"progressToken":7,"k":2}}`; err != nil || string(meta.Join()) != want {
		t.Errorf("EditMeta = %s, %v; want %s", meta.Join(), err, want)
	}
	if _, err := jsonrpc.EditMeta([]byte(`{"_meta":1}`), jsonrpc.Field{"k", []byte(`1`)}); err == nil {
		t.Error("a _meta that is no object is accepted")
	}
}

// FuzzParse holds that what Parse takes is what encoding/json would take, and
// that cutting the text changes nothing.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[true,null,-1.5e3,"\\\""]}}`,
		`{"result":{},"jsonrpc":"2.0","id":"a"}`, `{"jsonrpc":"2.0","error":{"code":1,"message":""},"id":null}`, `{`,
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		m, err := jsonrpc.Parse(tool.OneOf(in))
		if cut = min(max(cut, 0), len(in)); cut >= 0 {
			m2, err2 := jsonrpc.Parse(tool.Bytes{in[:cut], in[cut:]})
			if (err == nil) != (err2 == nil) {
				t.Fatalf("whole: %v, in two pieces: %v", err, err2)
			}
			if err == nil && (string(m.ID) != string(m2.ID) || string(m.Params.Join()) != string(m2.Params.Join()) || m.Method != m2.Method) {
				t.Fatalf("pieces differ: %+v and %+v", m, m2)
			}
		}
		if err != nil {
			return
		}
		for _, part := range []tool.Bytes{m.Params, m.Result, m.Error, tool.OneOf(m.ID)} {
			p := part.Join()
			if len(p) == 0 || json.Valid(p) {
				continue
			}
			// Only the inside of strings goes unchecked.
			if !strings.ContainsAny(string(p), "\"") {
				t.Fatalf("accepted invalid JSON %q", p)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"200B":   `{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"server__echo","arguments":{"text":"` + strings.Repeat("a", 100) + `"}}}`,
		"32KiB":  `{"result":{"content":[{"type":"text","text":"` + strings.Repeat("a", 32<<10) + `"}]},"jsonrpc":"2.0","id":1}`,
		"nested": `{"jsonrpc":"2.0","id":1,"result":{"tools":[` + strings.Repeat(`{"name":"t","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}},`, 99) + `{}]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			in := tool.OneOf([]byte(text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jsonrpc.Parse(in); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/json.Valid", func(b *testing.B) { // what a check by the standard library costs
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				json.Valid([]byte(text))
			}
		})
	}
}

// TestOwnMembers: a name in another case is refused, whether or not the right one
// stands beside it, for some readers take the one for the other.
func TestOwnMembers(t *testing.T) {
	keys := []string{"name", "arguments"}
	for in, ok := range map[string]bool{
		`{"name":"a","arguments":{"Arguments":1},"x":{"Name":1}}`: true,
		`{"name":"a","arguments":{},"Arguments":{}}`:              false,
		`{"name":"a","ARGUMENTS":{}}`:                             false,
		`{"name":"a","argument\u017f":{}}`:                        false,
		`{"n\u0041me":"b","name":"a"}`:                            false,
		`{"name":"a","args":{}}`:                                  true,
		`{"name":"a","name":"b"}`:                                 false,
	} {
		var spans [2]jsonrpc.Span
		if err := jsonrpc.OwnMembers(tool.OneOf([]byte(in)), keys, spans[:]); (err == nil) != ok {
			t.Errorf("%s: error is %v", in, err)
		}
		if err := jsonrpc.Members(tool.OneOf([]byte(in)), keys, spans[:]); err != nil && in != `{"name":"a","name":"b"}` {
			t.Errorf("%s is refused where nobody decides: %v", in, err)
		}
	}
}
