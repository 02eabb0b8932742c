package rest_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestTableOfWithheldTools: a server all of whose tools are withheld has some.
func TestTableOfWithheldTools(t *testing.T) {
	l := tool.Listing{Servers: []tool.ServerTools{{Name: "files", State: tool.StateReady, Withheld: []tool.Withheld{{Name: "a"}, {Name: "b"}}}}}
	if got := string(rest.TableOf(l, 0)); !strings.Contains(got, "ready: all of its tools are withheld (2)") || strings.Contains(got, "offers no tools") {
		t.Errorf("%s", got)
	}
}
