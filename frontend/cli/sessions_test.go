package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSessionsOfABundledServer: what one session keeps at a bundled server no other one
// sees, however they come; nor does another caller who calls his session the same, or
// who says to be that session. A session of before is known again after a restart.
func TestSessionsOfABundledServer(t *testing.T) {
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(), "TENON_GATEWAY=")
	config := configFile(t, fmt.Sprintf("version: 1\nservers:\n  tp: {bundled: task_planner, options: {dir: %q}}\n", t.TempDir()))
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		c := command{args: args, stdout: &out, env: env}
		if code := c.run(t.Context(), t); code != 0 {
			t.Fatalf("%q gives %d: %s%s", args, code, &out, &c.log)
		}
		return out.String()
	}
	serve := func() (mcp, api string, end func() int) {
		t.Helper()
		c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json", "--config", config}, env: env}
		stdout, interrupt := c.start(t)
		var at struct{ MCP, REST string }
		if err := json.NewDecoder(stdout).Decode(&at); err != nil {
			t.Fatal(err, c.log.String())
		}
		return at.MCP, at.REST, interrupt
	}
	keys := map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		keys[name] = strings.TrimSpace(run("keys", "create", name))
	}
	url, api, end := serve()
	add := func(title, session string) string {
		return run("call", "tp", "add_todo", "-a", fmt.Sprintf("titles=[%q]", title), "--session", session, "--gateway", api)
	}
	list := func(session string) string {
		return run("call", "tp", "list_todos", "--session", session, "--gateway", api)
	}
	add("of-s1", "s1")
	if got := list("s2"); strings.Contains(got, "of-s1") {
		t.Errorf("s2 sees what s1 plans: %s", got)
	}

	one, two := connect(t, url, "2025-11-25"), connect(t, url, "2025-11-25")
	ask := func(s *sdk.ClientSession, name string, args map[string]any, meta sdk.Meta) string {
		t.Helper()
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Meta: meta, Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		said, _ := json.Marshal(res)
		return string(said)
	}
	ask(one, "tp__add_todo", map[string]any{"titles": []string{"of-one"}}, nil)
	if got := ask(one, "tp__list_todos", nil, nil); !strings.Contains(got, "of-one") {
		t.Errorf("a session does not find its own plan: %s", got)
	}
	if got := ask(two, "tp__list_todos", nil, nil); strings.Contains(got, "of-one") {
		t.Errorf("another session over MCP sees the plan: %s", got)
	}

	as := func(who, session, tool, args string) string {
		t.Helper()
		body := fmt.Sprintf(`{"server":"tp","tool":%q,"session":%q,"arguments":%s}`, tool, session, args)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api+"/calls", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+keys[who])
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var said bytes.Buffer
		_, _ = said.ReadFrom(res.Body)
		return said.String()
	}
	for _, session := range []string{"s1", ""} {
		as("ann", session, "add_todo", `{"titles":["of-ann"]}`)
		if got := as("ann", session, "list_todos", `{}`); !strings.Contains(got, "of-ann") {
			t.Errorf("ann does not find her own plan: %s", got)
		}
		if got := as("bob", session, "list_todos", `{}`) + list("s1") + list(""); strings.Contains(got, "of-ann") || strings.Contains(as("bob", session, "list_todos", `{}`), "of-s1") {
			t.Errorf("bob, or the local user, sees what ann plans in %q: %s", session, got)
		}
	}
	end()

	_, api, _ = serve()
	if got := list("s1"); !strings.Contains(got, "of-s1") {
		t.Errorf("the plan of a session is gone after a restart: %s", got)
	}
}
