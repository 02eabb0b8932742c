package mcp_test

import (
	"strings"
	"testing"
)

// TestIdempotencyKey: a call that is repeated with its key runs once, in both
// eras.
func TestIdempotencyKey(t *testing.T) {
	_, url := front(t, good, "")
	const member = `"tenon/idempotency_key":"KEY"`
	for _, c := range []struct {
		name, body string
		header     []string
	}{
		{"legacy", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one__count","arguments":{},"_meta":{` + member + `}}}`, []string{"Mcp-Session-Id", session(t, url)}},
		{
			"modern", strings.Replace(modern("tools/call", `"name":"two__count"`), `"_meta":{`, `"_meta":{`+member+`,`, 1),
			[]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "two__count"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			call := func(key string) string {
				_, answer, _ := post(t, url, strings.Replace(c.body, "KEY", key, 1), c.header...)
				return answer
			}
			first, second, third := call("k"), call("k"), call("other")
			if !strings.Contains(first, `"text":"1"`) || !strings.Contains(second, `"text":"1"`) || !strings.Contains(third, `"text":"2"`) {
				t.Errorf("got %s, then %s, then %s", first, second, third)
			}
			if !strings.Contains(second, "already done at") || strings.Contains(first, "tenon/notes") {
				t.Errorf("notes: %s, then %s", first, second)
			}
		})
	}
}
