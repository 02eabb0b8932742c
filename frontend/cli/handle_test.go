package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/tool"
)

func TestHandle(t *testing.T) {
	config := configFile(t, "version: 1\nservers:\n  time: {bundled: time}\ntools:\n  \"time/*\": {max_result_chars: 20}\n")
	c := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json", "--config", config}, env: []string{"HOME=" + t.TempDir()}}
	stdout, _ := c.start(t)
	var at struct{ REST string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, c.log.String())
	}
	run := func(args ...string) (string, string) {
		t.Helper()
		var out bytes.Buffer
		c := command{args: append(args, "--gateway", at.REST), stdout: &out}
		if code := c.run(t.Context(), t); code != 0 {
			t.Fatalf("%q gives %d: %s", args, code, c.log.String())
		}
		return out.String(), c.log.String()
	}
	answer, _ := run("call", "time", "get_current_time", "-a", "timezone=Asia/Shanghai", "--output", "json")
	var res struct{ Handle tool.Handle }
	if err := json.Unmarshal([]byte(answer), &res); err != nil || res.Handle.ID == "" {
		t.Fatalf("%v: %s", err, answer)
	}
	id := res.Handle.ID
	if whole, _ := run("handle", id); !strings.Contains(whole, "+08:00") {
		t.Errorf("the whole is %s", whole)
	}
	if part, note := run("handle", id, "--limit", "5", "--offset", "1"); len(part) != 6 || !strings.Contains(note, "note: there is more: --offset 6") {
		t.Errorf("a part is %q, %s", part, note)
	}
	if found, note := run("handle", id, "--grep", "no such text"); found != "" || !strings.Contains(note, "note: no line matches") {
		t.Errorf("found %q, %s", found, note)
	}
	if js, _ := run("handle", id, "--grep", "Shanghai", "--output", "json"); !strings.Contains(js, `"matches": 1`) {
		t.Errorf("as JSON %s", js)
	}
}
