package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

// TestNoPlaceOfItsOwn: a client for which a server can have no process of its own is
// served on the one that all share, and told so; what is of no use there is refused.
func TestNoPlaceOfItsOwn(t *testing.T) {
	key, value := upstreamtest.Script{}.Env()
	env, err := json.Marshal(map[string]string{key: value, "GORACE": "atexit_sleep_ms=0"})
	if err != nil {
		t.Fatal(err)
	}
	entry := fmt.Sprintf("  few: {command: %q, env: %s, max_sessions: 1, retries: 0}\n", upstreamtest.Executable(t), env)
	_, url := front(t, nil, entry)
	url += "/mcp/s/few"
	ask := func(session, method, params string) string {
		_, answer, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"`+method+`","params":`+params+`}`, "Mcp-Session-Id", session)
		return answer
	}
	begin := func() string {
		_, answer, h := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
		if h.Get("Mcp-Session-Id") == "" {
			t.Fatal(answer)
		}
		return h.Get("Mcp-Session-Id")
	}
	first, second := begin(), begin()
	const pid, level = `{"name":"pid","arguments":{}}`, `{"level":"info"}`
	own, shared := ask(first, "tools/call", pid), ask(second, "tools/call", pid)
	if strings.Contains(own, "cannot ask this client") || !strings.Contains(shared, "server few cannot ask this client anything now") ||
		!strings.Contains(shared, "of 1, each a process (max_sessions)") || strings.Contains(shared, `"isError":true`) {
		t.Errorf("the first client: %s\nthe second: %s", own, shared)
	}
	if got := ask(second, "logging/setLevel", level); !strings.Contains(got, `"error"`) || !strings.Contains(got, "max_sessions") {
		t.Errorf("a level of logs that nobody would hear: %s", got)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", first)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C { // its process ends beside
		if shared = ask(second, "tools/call", pid); !strings.Contains(shared, "cannot ask this client") {
			return
		}
	}
	t.Errorf("the place of a session that has ended is not given to the next: %s", shared)
}
