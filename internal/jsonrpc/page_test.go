package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// TestPagesByTheirExactNames: a page of a list has the names of the protocol letter for
// letter, and each once.
func TestPagesByTheirExactNames(t *testing.T) {
	for page, want := range map[string]struct {
		tools      int
		next, fail string
	}{
		`{"tools":[{},{}],"nextCursor":"b"}`:        {2, "b", ""},
		`{"tools":[],"nextCursor":null}`:            {0, "", ""},
		`{}`:                                        {-1, "", ""},
		`{"tools":null}`:                            {0, "", ""},
		`{"tools":[{}],"Tools":[{},{}]}`:            {-1, "", `"tools" is written in another case`},
		`{"tools":[{}],"NextCursor":"b"}`:           {-1, "", `"nextCursor" is written in another case`},
		`{"tools":[{}],"tools":[]}`:                 {-1, "", `"tools"`},
		`{"\u0074ools":[{}],"nextcursor2":"other"}`: {1, "", ""},
		`{"tools":{}}`:                              {-1, "", "tools: "},
		`{"tools":[],"nextCursor":1}`:               {-1, "", "nextCursor: "},
		`[]`:                                        {-1, "", "object"},
	} {
		tools, next, err := jsonrpc.ReadPage(tool.OneOf([]byte(page)), "tools")
		got := len(tools)
		if tools == nil {
			got = -1
		}
		if got != want.tools || next != want.next || (err != nil) != (want.fail != "") || err != nil && !strings.Contains(err.Error(), want.fail) {
			t.Errorf("%s: %d tools, next %q, %v", page, got, next, err)
		}
	}
}

func TestArray(t *testing.T) {
	for _, want := range []string{`[]`, `[1.0]`, `[{"a": 1},null,"x"]`} {
		entries, _, err := jsonrpc.ReadPage(tool.OneOf([]byte(`{"tools":`+want+`}`)), "tools")
		if got := string(jsonrpc.Array(entries)); err != nil || got != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}
