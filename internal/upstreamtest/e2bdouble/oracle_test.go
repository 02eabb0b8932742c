package e2bdouble_test

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/e2bdouble"
)

//go:embed testdata/oracle.mjs
var script []byte

// TestOracle has E2B's own client for JavaScript use the double, and compares what it
// makes of the answers with what E2B is known to answer.
func TestOracle(t *testing.T) {
	node, dir := testenv.Program(t, "node"), testenv.NPMDir(t)
	for _, p := range []string{"e2b", "@e2b/code-interpreter"} {
		if _, err := os.Stat(filepath.Join(dir, "node_modules", p)); err != nil {
			t.Skip("needs the npm package " + p + " (make npm)")
		}
	}
	d := e2bdouble.New(t)
	// A module finds packages by where it lies.
	file := filepath.Join(t.TempDir(), "oracle.mjs")
	if err := os.WriteFile(file, script, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(filepath.Dir(file), "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, file)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "E2B_API_KEY=" + e2bdouble.Key, "E2B_API_URL=" + d.URL, "E2B_SANDBOX_URL=" + d.URL}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := map[string]any{
		"read": "hello", "listed": []any{"dir dir", "file a.txt"}, "missing": "FileNotFoundError",
		"command":    map[string]any{"exitCode": 0.0, "stdout": "out\n", "stderr": "err\n"},
		"streamed":   []any{"one\n", "two\n"},
		"failed":     "CommandExitError 7",
		"late":       "TimeoutError",
		"killed":     true,
		"background": "CommandExitError",
		"state":      "42",
		"stdout":     []any{"printed\n"},
		"figure":     true,
		"raised":     "ZeroDivisionError",
		"context":    "NameError",
		"running":    true, "listedSandboxes": 1.0, "metadata": "b",
		"gone": false, "wrongKey": "AuthenticationError",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if left := d.Machines(); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}
