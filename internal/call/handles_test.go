package call_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// handed returns what reaches the server of a call, and its result.
func handed(t *testing.T, k *kept, c tool.Call) (string, *tool.Result) {
	t.Helper()
	sent := ""
	run := call.New(call.Options{
		Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}},
		Keeper:  k, NewID: func() string { return "c_1" },
		Send: func(_ context.Context, _ *call.Request, params []byte) (tool.Bytes, error) {
			sent = string(params)
			return text("ok"), nil
		},
		Record: func(r *call.Request, _ *tool.Result) {
			if strings.Contains(string(r.Arguments), "expanded") {
				t.Error("the long arguments outlive the call")
			}
		},
	})
	c.Server, c.Tool = "s", "t"
	return sent, run(t.Context(), c)
}

func TestReferencesAreReplaced(t *testing.T) {
	value := func(ref call.Reference, _ int) ([]byte, error) {
		switch {
		case ref.Path != "":
			return []byte(`{"at":"` + ref.Path + `"}`), nil
		case ref.JQ != "":
			return []byte(`[1]`), nil
		}
		return []byte(`"expanded ` + ref.ID + `"`), nil
	}
	for args, want := range map[string]string{
		`{"a":{"$handle":"h_1"}}`: `{"a":"expanded h_1"}`,
		`{"z":9007199254740993,"a":[{"b":{"$handle":"h_1"}},{ "path":"/x", "$handle" : "h_2"}],"c":{"$handle":"h_3","jq":"."}}`: `{"z":9007199254740993,"a":[{"b":"expanded h_1"},{"at":"/x"}],"c":[1]}`,
		`{"a":"{\"$handle\":\"h_1\"}"}`:       `{"a":"{\"$handle\":\"h_1\"}"}`,
		`{"$handle":"other"}`:                 `{"$handle":"other"}`,
		`{"a":{"$handle":1}}`:                 `{"a":{"$handle":1}}`,
		`{"a":{"$handle":"other"}}`:           `{"a":{"$handle":"other"}}`,
		`{"a":{"properties":{"$handle":{}}}}`: `{"a":{"properties":{"$handle":{}}}}`,
	} {
		k := &kept{value: value}
		if sent, res := handed(t, k, tool.Call{Arguments: []byte(args)}); sent != `{"name":"t","arguments":`+want+`}` || res.Kind != "" {
			t.Errorf("%s: sent %s: %s", args, sent, res.Text())
		}
		params := `{"_meta":{"x":1},"arguments":` + args + `,"name":"s__t"}`
		sent, _ := handed(t, k, tool.Call{Arguments: []byte(args), Params: []byte(params)})
		if sent != `{"_meta":{"x":1},"arguments":`+want+`,"name":"s__t"}` {
			t.Errorf("%s: params %s", args, sent)
		}
	}
}

func TestBadReferences(t *testing.T) {
	k := &kept{value: func(ref call.Reference, _ int) ([]byte, error) {
		return nil, &tool.Error{Kind: tool.NotFound, Text: "There is no stored result " + ref.ID}
	}}
	for args, want := range map[string]struct {
		kind tool.Kind
		text string
	}{
		`{"a":{"$handle":"h_1"}}`:            {tool.NotFound, "no stored result h_1."},
		`{"a":{"$handle":"h_1","jpath":""}}`: {tool.Invalid, `may have "path" or "jq"`},
		`{"a":{"$handle":"h_1","path":1}}`:   {tool.Invalid, `may have "path" or "jq"`},
		`{"$handle":"h_1"}`:                  {tool.Invalid, "not for all arguments"},
	} {
		sent, res := handed(t, k, tool.Call{Arguments: []byte(args)})
		if res.Kind != want.kind || !strings.Contains(res.Text(), want.text) || sent != "" {
			t.Errorf("%s: %s %s", args, res.Kind, res.Text())
		}
	}
}

// TestStructuredReference: a server that refuses the value behind a handle is no riddle
// where that value is JSON.
func TestStructuredReference(t *testing.T) {
	for value, told := range map[string]bool{`{"a":1}`: true, `[1]`: true, `"text"`: false, `1`: false} {
		run := call.New(call.Options{
			Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}},
			Keeper:  &kept{value: func(call.Reference, int) ([]byte, error) { return []byte(value), nil }},
			NewID:   func() string { return "c_1" },
			Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
				return nil, &tool.Error{Kind: tool.Invalid, Text: "/message: expected a string"}
			},
			Record: func(*call.Request, *tool.Result) {},
		})
		res := run(t.Context(), tool.Call{Server: "s", Tool: "t", Arguments: []byte(`{"message":{"$handle":"h_1"}}`)})
		if got := strings.Contains(res.Text(), `{"$handle": "h_1", "jq": "tojson"}`); got != told || res.Kind != tool.Invalid {
			t.Errorf("%s: %s", value, res.Text())
		}
	}
}

func TestReferencesShareABound(t *testing.T) {
	var bounds []int
	k := &kept{value: func(_ call.Reference, most int) ([]byte, error) {
		bounds = append(bounds, most)
		return []byte(`"expanded"`), nil
	}}
	handed(t, k, tool.Call{Arguments: []byte(`{"a":[{"$handle":"h_1"},{"$handle":"h_1"}]}`)})
	if len(bounds) != 2 || bounds[0] != call.MaxExpanded || bounds[1] != call.MaxExpanded-10 {
		t.Errorf("bounds %v", bounds)
	}
}

func FuzzReferences(f *testing.F) {
	for _, s := range []string{`{"a":{"$handle":"h_1"}}`, `[[{"$handle":"h_"}]]`, `}{"$handle"`, `{"$handle":{"$handle":"h_1"}}`, `{"a":]"$handle"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		k := &kept{value: func(call.Reference, int) ([]byte, error) { return []byte("1"), nil }}
		handed(t, k, tool.Call{Arguments: []byte(args)})
	})
}

// TestManyNestedReferences: looking for references takes time as the arguments are
// long, and no more, however they are nested, and ends with the call.
func TestManyNestedReferences(t *testing.T) {
	k := &kept{}
	run := call.New(call.Options{
		Catalog: &shelf{tools: []tool.Tool{{ID: tool.ID{Server: "s", Name: "t"}}}}, Keeper: k,
		NewID: func() string { return "c_1" }, Record: func(*call.Request, *tool.Result) {},
		Send: func(context.Context, *call.Request, []byte) (tool.Bytes, error) {
			return tool.OneOf([]byte(`{"content":[]}`)), nil
		},
	})
	key := strings.Repeat("b", 500)
	deep := func(depth int, inner string) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"`+key+`":`, depth) + inner + strings.Repeat("}", depth))
	}
	for name, c := range map[string]struct {
		args json.RawMessage
		kind tool.Kind
	}{
		"deep, and none":                   {deep(9900, `{"$handle":"x"}`), tool.Invalid},
		"references around each other":     {json.RawMessage(`{"x":` + strings.Repeat(`{"$handle":"h_1","path":`, 5000) + `1` + strings.Repeat("}", 5001)), tool.Invalid},
		"too deep":                         {deep(20_000, `{"$handle":"h_1"}`), tool.Invalid},
		"too many":                         {json.RawMessage(`{"x":[` + strings.Repeat(`{"$handle":"h_1"},`, 2000) + `1]}`), tool.Invalid},
		"a reference with an object in it": {json.RawMessage(`{"x":{"$handle":"h_1","path":{}}}`), tool.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			res := run(t.Context(), tool.Call{Server: "s", Tool: "t", Arguments: c.args, Timeout: time.Minute})
			if res.Kind != c.kind {
				t.Errorf("%q: %.200s", res.Kind, res.Text())
			}
			if took := time.Since(began); took > 20*time.Second { // with a pass for each object it is minutes
				t.Errorf("it took %s", took)
			}
		})
	}
}
