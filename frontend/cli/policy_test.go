package cli_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestPolicyKnowsContentRules: what a content rule refuses is explained, expected in
// a table, and recorded as that.
func TestPolicyKnowsContentRules(t *testing.T) {
	config := configFile(t, `version: 1
servers:
  clock: {bundled: time}
blacklist: [clock/convert_time]
content_rules: {exams: {addresses: [answers.example.com], tools: ["clock/*"], refusal: No exam is a source.}}
`)
	table := config + ".table"
	rows := `- {server: clock, tool: get_current_time, args: {timezone: "https://answers.example.com/1"}, expect: deny, reason_type: content_rule}
- {server: clock, tool: get_current_time, args: {timezone: UTC}, expect: allow, reason_type: ok}
- {server: clock, tool: convert_time, args: {time: "https://answers.example.com/1"}, expect: deny, reason_type: blacklist}
`
	if err := os.WriteFile(table, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(), "TENON_GATEWAY=")
	run := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		c := command{args: append(args, "--config", config), stdout: &out, env: env}
		if code := c.run(t.Context(), t); code != want {
			t.Errorf("%q gives %d, want %d:\n%s%s", args, code, want, &out, &c.log)
		}
		return out.String()
	}
	const args = `{"timezone": "https://answers.example.com/1"}`
	if got := run(4, "policy", "explain", "clock", "get_current_time", "--args", args); !strings.HasPrefix(got, "deny: clock/get_current_time (content_rule)\n") || !strings.Contains(got, "No exam is a source.") {
		t.Errorf("it is explained so:\n%s", got)
	}
	run(0, "policy", "test", table)
	run(4, "call", "clock", "get_current_time", "--args", args)
	if got := run(0, "calls", "--output", "json"); !strings.Contains(got, "denied") {
		t.Fatal(got)
	} else if _, id, _ := strings.Cut(got, `"id": "`); !strings.Contains(run(0, "calls", id[:strings.IndexByte(id, '"')]), "deny by content_rule") {
		t.Errorf("the record does not say which rule refused the call:\n%s", got)
	}
}
