package era

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/tool"
)

// TestGaps: each server's clients of the other era have the gaps that its capabilities and
// tools make, and those of its own era none but what the configuration makes.
func TestGaps(t *testing.T) {
	must := tool.Tool{ID: tool.ID{Name: "must"}, Raw: []byte(`{"name":"must","execution":{"taskSupport":"required"}}`)}
	may := tool.Tool{ID: tool.ID{Name: "may"}, Raw: []byte(`{"name":"may","execution":{"taskSupport":"optional"}}`)}
	list := tool.Tool{ID: tool.ID{Name: "list"}, Output: []byte(`{"type":"array"}`)}
	object := tool.Tool{ID: tool.ID{Name: "object"}, Output: []byte(`{"type":"object"}`)}
	shy := tool.Tool{ID: tool.ID{Name: "shy"}, Needs: "elicitation sampling"}
	for name, c := range map[string]struct {
		server         Era
		said           string
		tools          []tool.Tool
		own            bool
		legacy, modern []string // parts of what is told to clients of each, ! before what is lost
	}{
		"legacy":              {Legacy, `{}`, nil, true, nil, []string{"input_required"}},
		"legacy of sessions":  {Legacy, `{}`, nil, false, []string{"!it can ask its client nothing"}, []string{"!it can ask its client nothing"}},
		"legacy with tasks":   {Legacy, `{"capabilities":{"tasks":{"list":{}}}}`, []tool.Tool{may}, true, nil, []string{"input_required", "its tasks are those of 2025-11-25"}},
		"legacy, tasks alone": {Legacy, `{"capabilities":{"tasks":{}}}`, []tool.Tool{must, may}, true, nil, []string{"input_required", "run only so: must"}},
		"legacy that is choosy": {
			Legacy, `{}`,
			[]tool.Tool{shy, object},
			true,
			[]string{"declare elicitation, sampling are offered: shy"},
			[]string{"input_required", "declare elicitation, sampling are offered: shy"},
		},
		"modern":            {Modern, `{}`, []tool.Tool{object}, true, []string{"at most 10 times"}, nil},
		"modern with tasks": {Modern, `{"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`, nil, true, []string{"at most 10", "its tasks are those of the extension"}, nil},
		"modern with lists": {Modern, `{}`, []tool.Tool{list, object}, false, []string{"at most 10", "!refuse them: list"}, nil},
		"unknown":           {Unknown, `{}`, []tool.Tool{list, must}, true, nil, nil},
		"no JSON":           {Modern, `{`, nil, true, []string{"at most 10"}, nil},
	} {
		gaps := Gaps(c.server, []byte(c.said), c.tools, c.own)
		for client, want := range map[Era][]string{Legacy: c.legacy, Modern: c.modern} {
			var got []string
			for _, g := range gaps {
				if g.For(client) {
					mark := ""
					if g.Lost {
						mark = "!"
					}
					got = append(got, mark+g.Text)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s, clients of %v: %q, want %q", name, client, got, want)
				continue
			}
			for i, w := range want {
				if !strings.Contains(got[i], strings.TrimPrefix(w, "!")) || strings.HasPrefix(got[i], "!") != strings.HasPrefix(w, "!") {
					t.Errorf("%s, clients of %v: %q, want %q", name, client, got[i], w)
				}
			}
		}
	}
	var many []tool.Tool
	for i := range 12 {
		many = append(many, tool.Tool{ID: tool.ID{Name: fmt.Sprint("t", i)}, Raw: must.Raw})
	}
	if gaps := Gaps(Legacy, []byte(`{"capabilities":{"tasks":{}}}`), many, true); !strings.HasSuffix(gaps[1].Text, ": t0, t1, t2, t3, t4 and 7 more") {
		t.Errorf("of many: %s", gaps[1].Text)
	}
}

// TestTasksAreThoseOfTheClientsEra: where calls can be tasks they are offered in the words of
// the other era, and all else stays.
func TestTasksAreThoseOfTheClientsEra(t *testing.T) {
	const legacy, modern = `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`, `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	for said, want := range map[string]string{
		`{"capabilities":{"tools":{"b":1},"tasks":{"list":{}}}}`:                      `"capabilities":{"tools":{"b":1}}`,
		`{"capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}}}`:               `"capabilities":{` + modern + `}`,
		`{"capabilities":{"extensions":{"a":{},"io.modelcontextprotocol/tasks":{}}}}`: `"capabilities":{"extensions":{"a":{}},` + legacy + `}`,
		`{"capabilities":{"z":1, "a":{"tasks":1}}}`:                                   `"capabilities":{"z":1, "a":{"tasks":1}}`,
	} {
		for _, got := range [][]byte{Initialized([]byte(said), LatestLegacy, ""), Discovered([]byte(said), "")} {
			if !strings.Contains(string(got), want) {
				t.Errorf("%s: %s, want %s in it", said, got, want)
			}
		}
	}
}
