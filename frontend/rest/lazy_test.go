package rest_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
)

// Each format for models can have the short list, and its two tools are called like any
// other.
func TestLazyFormats(t *testing.T) {
	srv := serve(t, pool(t))
	c := newClient(t, srv.URL)
	for f, want := range map[rest.Format]string{
		rest.MCP:       `{"tools":[{"name":"mcp_search_tools"`,
		rest.OpenAI:    `{"tools":[{"type":"function","function":{"name":"mcp_search_tools"`,
		rest.Anthropic: `{"tools":[{"name":"mcp_search_tools"`,
		rest.Gemini:    `{"tools":[{"functionDeclarations":[{"name":"mcp_search_tools"`,
		rest.Prompt:    "### Tool name: mcp_search_tools\n",
	} {
		status, got := do(t, srv, "GET", "/api/v1/tools?lazy=on&format="+string(f), "")
		text := string(got)
		if status != 200 || !strings.Contains(text, want) || !strings.Contains(text, "mcp_execute_tool") || strings.Contains(text, "Gives back its arguments") {
			t.Errorf("%s: %d %s", f, status, text)
		}
		if f != rest.Prompt && !json.Valid(got) {
			t.Errorf("%s is no JSON: %s", f, text)
		}
		if _, again := do(t, srv, "GET", "/api/v1/tools?lazy=on&format="+string(f), ""); !bytes.Equal(again, got) {
			t.Errorf("%s: another answer: %s", f, again)
		}
		if own, err := c.Rendered(t.Context(), tenon.ListOptions{Viewer: tenon.Viewer{Lazy: tenon.LazyOn}}, f); err != nil || !bytes.Equal(own, got) {
			t.Errorf("the client gives %s, %v", own, err)
		}
		_, direct := do(t, srv, "GET", "/api/v1/tools?format="+string(f), "")
		for _, q := range []string{"&lazy=auto", "&lazy=off"} { // the list of this pool is short
			if _, same := do(t, srv, "GET", "/api/v1/tools?format="+string(f)+q, ""); !bytes.Equal(same, direct) {
				t.Errorf("%s%s: %s", f, q, same)
			}
		}
		_, alone := do(t, srv, "GET", "/api/v1/tools?server=words&format="+string(f), "")
		if _, same := do(t, srv, "GET", "/api/v1/tools?server=words&lazy=on&format="+string(f), ""); !bytes.Equal(same, alone) {
			t.Errorf("%s: one server is not listed whole: %s", f, same)
		}
	}
	for path, want := range map[string]string{
		"?lazy=on": "name a format", "?lazy=on&format=table": "name a format", "?lazy=maybe&format=mcp": "off, auto or on",
	} {
		if status, got := do(t, srv, "GET", "/api/v1/tools"+path, ""); status != 400 || !strings.Contains(string(got), want) {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	_, got := do(t, srv, "POST", "/api/v1/calls", `{"tool":"mcp_execute_tool","arguments":{"tool_name":"words__echo","arguments":{"zeta":9007199254740993}}}`)
	if text := string(got); !strings.Contains(text, `"tool_name":"echo"`) || !strings.Contains(text, "9007199254740993") {
		t.Errorf("got %s", text)
	}
	_, got = do(t, srv, "POST", "/api/v1/calls/batch", `{"calls":[{"tool":"mcp_search_tools","arguments":{"query":"echo"}},{"tool":"mcp_execute_tool","arguments":{"tool_name":"nothing"}}]}`)
	if text := string(got); !strings.Contains(text, "words__echo(alpha?: string, zeta?: integer)") || !strings.Contains(text, `"error_kind":"not_found"`) {
		t.Errorf("got %s", text)
	}
}
