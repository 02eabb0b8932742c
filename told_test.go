package tenon_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestNobodyNamesASession: which session a bundled server is told is not for the client to
// say; what other servers are told is what the client sent.
func TestNobodyNamesASession(t *testing.T) {
	t.Parallel()
	g := open(t, tenon.Options{Config: write(t, fmt.Sprintf(
		"version: 1\nservers:\n  tp: {bundled: task_planner, options: {dir: %q}}\n", t.TempDir(),
	)+entry(t, "own", upstreamtest.Script{}, "")), StateDir: t.TempDir()})
	call := func(caller, session, name, args, meta string) string {
		t.Helper()
		params := fmt.Sprintf(`{"name":%q,"arguments":%s,"_meta":%s}`, name, args, meta)
		res := g.Call(t.Context(), tool.Call{
			Server: "tp", Tool: name, Arguments: json.RawMessage(args), Params: json.RawMessage(params),
			Session: session, Caller: tool.Caller{Name: caller},
		})
		if res.Kind != "" {
			t.Fatal(res.Text())
		}
		return res.Text()
	}
	call("ann", "s", "add_todo", `{"titles":["of-ann"]}`, `{"tenon/session":"x"}`)
	for _, forged := range []string{`{}`, `{"tenon/session":"x"}`, `{"tenon\u002fsession":"x"}`, `{"tenon/session":"s"}`} {
		for _, caller := range []string{"", "bob"} {
			for _, session := range []string{"", "s"} {
				if got := call(caller, session, "list_todos", `{}`, forged); strings.Contains(got, "of-ann") {
					t.Errorf("%q in session %q with %s sees what ann plans: %s", caller, session, forged, got)
				}
			}
		}
	}
	call("", "", "add_todo", `{"titles":["of-all"]}`, `{"tenon/session":"x"}`)
	if got := call("", "", "list_todos", `{}`, `{}`); !strings.Contains(got, "of-all") {
		t.Errorf("the local user without a session has a plan by what the client says: %s", got)
	}
	const meta = `{"tenon/session":"mine","other":1`
	res := g.Call(t.Context(), tool.Call{
		Server: "own", Tool: "meta", Arguments: json.RawMessage(`{}`), Params: json.RawMessage(`{"name":"meta","arguments":{},"_meta":` + meta + `}}`),
		Session: "s", Caller: tool.Caller{Name: "ann"},
	})
	if !strings.HasPrefix(res.Text(), meta) || strings.Count(res.Text(), "tenon/") != 1 {
		t.Errorf("a server that is not bundled is told %s, want %s", res.Text(), meta)
	}
}
