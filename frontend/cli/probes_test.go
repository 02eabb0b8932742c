package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/tool"
)

// TestCheckTriesKeys: with --connect, a key that works is said to, one that does not is a
// finding, and so is a service that nobody answers for; no key is told.
func TestCheckTriesKeys(t *testing.T) {
	const wrong = "not-a-real-key-999"
	web := doubles.NewWeb()
	tavily, openai := doubles.Tavily(web), doubles.OpenAI()
	good := fmt.Sprintf("{bundled: websearch, options: {rate_file: \"-\"}, env: {NO_PROXY: \"*\", TAVILY_BASE_URL: %q, TAVILY_API_KEY: %s}}", doubles.Start(t, tavily), doubles.Key)
	bad := fmt.Sprintf("{bundled: reasoning, env: {NO_PROXY: \"*\", OPENAI_BASE_URL: %q, OPENAI_API_KEY: %s}}", doubles.Start(t, openai)+"/v1", wrong)
	away := "{bundled: prometheus, options: {url: \"http://127.0.0.1:1\"}}"
	run := func(servers string, more ...string) (string, int) {
		var out bytes.Buffer
		c := command{args: append([]string{"check", "--config", configFile(t, "version: 1\nservers:\n"+servers)}, more...), stdout: &out}
		code := c.run(t.Context(), t)
		if s := out.String() + c.log.String(); strings.Contains(s, doubles.Key) || strings.Contains(s, wrong) {
			t.Errorf("a key is told:\n%s", s)
		}
		return out.String(), code
	}
	if said, code := run("  good: "+good+"\n", "--connect"); code != 0 || !strings.Contains(said, "    ok             tavily\n") {
		t.Errorf("exit code %d:\n%s", code, said)
	}
	all := "  good: " + good + "\n  bad: " + bad + "\n  away: " + away + "\n"
	said, code := run(all, "--connect")
	for _, want := range []string{
		"ok             tavily", "wrong key      OpenAI: it does not take the key, or wants one (status 401 Unauthorized): look at OPENAI_API_KEY",
		"unreachable    Prometheus: http://127.0.0.1:1: connection refused",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if code != 5 {
		t.Errorf("exit code %d", code)
	}
	said, _ = run(all, "--connect", "--output", "json")
	var got struct {
		OK     bool
		Probes []tool.Probe
	}
	if err := json.Unmarshal([]byte(said), &got); err != nil {
		t.Fatal(err)
	}
	states := map[string]tool.ProbeState{}
	for _, p := range got.Probes {
		states[p.Server] = p.State
	}
	if got.OK || len(states) != 3 || states["good"] != tool.ProbeOK || states["bad"] != tool.ProbeWrongKey || states["away"] != tool.ProbeUnreachable {
		t.Errorf("%+v", got)
	}
	asked := len(tavily.Calls()) + len(openai.Calls())
	if said, code := run(all); code != 0 || strings.Contains(said, "tavily") || len(tavily.Calls())+len(openai.Calls()) != asked {
		t.Errorf("without --connect: exit code %d:\n%s", code, said)
	}
}
