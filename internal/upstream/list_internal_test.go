package upstream

import (
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// TestPagesByTheirExactNames: a page of tools has the names of the protocol letter for
// letter, and each once.
func TestPagesByTheirExactNames(t *testing.T) {
	for page, want := range map[string]struct {
		tools      int
		next, fail string
	}{
		`{"tools":[{},{}],"nextCursor":"b"}`:        {2, "b", ""},
		`{"tools":[],"nextCursor":null}`:            {0, "", ""},
		`{}`:                                        {0, "", ""},
		`{"tools":null}`:                            {0, "", ""},
		`{"tools":[{}],"Tools":[{},{}]}`:            {0, "", `"tools" is written in another case`},
		`{"tools":[{}],"NextCursor":"b"}`:           {0, "", `"nextCursor" is written in another case`},
		`{"tools":[{}],"tools":[]}`:                 {0, "", `"tools"`},
		`{"\u0074ools":[{}],"nextcursor2":"other"}`: {1, "", ""},
		`{"tools":{}}`:                              {0, "", "tools: "},
		`{"tools":[],"nextCursor":1}`:               {0, "", "nextCursor: "},
		`[]`:                                        {0, "", "object"},
	} {
		tools, next, err := readPage(tool.OneOf([]byte(page)))
		if len(tools) != want.tools || next != want.next || (err != nil) != (want.fail != "") || err != nil && !strings.Contains(err.Error(), want.fail) {
			t.Errorf("%s: %d tools, next %q, %v", page, len(tools), next, err)
		}
	}
}

// TestOldWordsHaveTheirAge: what a server wrote long before it failed is not told as the
// cause of that.
func TestOldWordsHaveTheirAge(t *testing.T) {
	for age, want := range map[time.Duration]string{
		0:                            "its last words",
		9 * time.Second:              "its last words",
		29*time.Second + 5e8:         "its last words, 29s before",
		3 * time.Minute:              "its last words, 3m before, so perhaps of something else",
		49*time.Hour + 3*time.Minute: "its last words, 49h3m before, so perhaps of something else",
	} {
		if got := lastWords(age); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
}
