package mcp_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

// TestArgumentsAreChecked: what is wrong is the tool's error for the model, and
// never reaches the server.
func TestArgumentsAreChecked(t *testing.T) {
	counted := `{"name":"counted","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`
	_, url := front(t, map[string]upstreamtest.Script{"one": {Extra: []string{counted}}}, "")
	id := session(t, url)
	for _, c := range []struct {
		args string
		want []string
	}{
		{`{"n":"five"}`, []string{`"isError":true`, `"tenon/error_kind":"invalid"`, `/n: expected an integer; got the string \"five\"`, `{\"n\": 1}`}},
		{`{}`, []string{`"isError":true`, "/n: is missing"}},
		// The script does not know its extra tools: that it says so shows that the
		// mended call reached it.
		{`{"n":"5"}`, []string{`"tenon/notes":[{"stage":"repair"`, `was read as the number 5`, "Unknown tool: counted"}},
		{`{"n":5}`, []string{"Unknown tool: counted"}},
	} {
		_, answer, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"one__counted","arguments":`+c.args+`}}`, "Mcp-Session-Id", id)
		for _, want := range c.want {
			if !strings.Contains(answer, want) {
				t.Errorf("%s: lacks %s: %s", c.args, want, answer)
			}
		}
	}
}
