package mapping_test

import (
	"encoding/json"
	"testing"

	"github.com/tenon-mcp/tenon/internal/mapping"
)

func TestFill(t *testing.T) {
	const args = `{"url":"http://x/\"","n":9007199254740993,"list":[1],"null":null}`
	for template, want := range map[string]string{
		`{"uri":"${arguments.url}"}`:                                 `{"uri":"http://x/\""}`,
		`{"a":"${arguments.n}","b":"${arguments.list}"}`:             `{"a":9007199254740993,"b":[1]}`,
		`{"a":"${arguments.null}","b":"${arguments.none}"}`:          `{"a":null}`,
		`{"a":["${arguments.none}",{"b":"${arguments.n}"}]}`:         `{"a":[{"b":9007199254740993}]}`,
		`{"a":"n=${arguments.n} ${arguments.url}${arguments.none}"}`: `{"a":"n=9007199254740993 http://x/\""}`,
		`{"a":"$${arguments.n} $${x} ${x} $"}`:                       `{"a":"${arguments.n} ${x} ${x} $"}`,
		`{"a":1.50,"b":true,"c":null,"d":[]}`:                        `{"a":1.50,"b":true,"c":null,"d":[]}`,
		`{}`:                                                         `{}`,
	} {
		m, err := mapping.Parse([]byte(template))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Fill([]byte(args)); err != nil || string(got) != want {
			t.Errorf("%s gives %s, %v; want %s", template, got, err, want)
		}
	}
	m, err := mapping.Parse([]byte(`{"a":"${arguments.x}"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Fill(nil); err != nil || string(got) != `{}` {
		t.Errorf("no arguments: %s, %v", got, err)
	}
	if _, err := m.Fill([]byte(`[1]`)); err == nil {
		t.Error("a list is no arguments")
	}
	if _, err := mapping.Parse([]byte(`{`)); err == nil {
		t.Error("half an object is no template")
	}
}

func FuzzFill(f *testing.F) {
	f.Add(`{"a":"x ${arguments.b} $${"}`, []byte(`{"b":{"c":[null]}}`))
	f.Fuzz(func(t *testing.T, template string, args []byte) {
		m, err := mapping.Parse([]byte(template))
		if err != nil {
			return
		}
		if got, err := m.Fill(args); err == nil && !json.Valid(got) {
			t.Errorf("%s of %s gives %s", template, args, got)
		}
	})
}
