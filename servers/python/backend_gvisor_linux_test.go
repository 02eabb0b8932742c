package python_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/python"
)

// TestGvisor works in a sandbox that has a kernel of its own, and hears what is wrong
// with its options.
func TestGvisor(t *testing.T) {
	t.Parallel()
	o := python.Options{Backend: "gvisor", Dir: filepath.Join(t.TempDir(), "sandboxes"), GvisorOptions: python.GvisorOptions{GvisorRunsc: testenv.Program(t, "runsc")}}
	c := start(t, o)
	out := c.good("create_sandbox", map[string]any{})
	if out["level"] != "kernel" {
		t.Errorf("got %v", out)
	}
	id := out["sandbox_id"]
	c.good("run_python_code", map[string]any{"sandbox_id": id, "code_block": "x = 40"})
	if out := c.good("run_python_code", map[string]any{"sandbox_id": id, "code_block": "x + 2"}); out["result"] != "42" {
		t.Errorf("got %v", out)
	}
	if out := c.good("run_command", map[string]any{"sandbox_id": id, "command": "cat /proc/version; ls -a /home/user; exit 3"}); out["exit_code"] != 3.0 || !strings.HasSuffix(out["stdout"].(string), "\n.\n..\n") {
		t.Errorf("got %v", out)
	}
	c.good("kill_sandbox", map[string]any{"sandbox_id": id})
	o.GvisorPlatform = "native"
	start(t, o).bad("create_sandbox", map[string]any{}, "option gvisor_platform")
	o.GvisorPlatform, o.Network = "", []string{"pypi.org"}
	if text, _ := start(t, o).call("python", map[string]any{"code": "import os\nos.environ['https_proxy']"}); !strings.Contains(text, "127.0.0.1:3128") {
		t.Errorf("a network: %s", text)
	}
	if _, err := python.NewIn(python.Options{Backend: "e2b", Network: o.Network}, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "option network") {
		t.Errorf("a network at E2B: %v", err)
	}
}
