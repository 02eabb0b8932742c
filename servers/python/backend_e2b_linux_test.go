package python_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/e2bdouble"
	"github.com/tenon-mcp/tenon/servers/python"
	"github.com/tenon-mcp/tenon/tool"
)

// TestE2B has the server use machines of E2B, set up by variables alone.
func TestE2B(t *testing.T) {
	d := e2bdouble.New(t)
	env := map[string]string{"E2B_API_KEY": e2bdouble.Key, "E2B_API_URL": d.URL, "E2B_SANDBOX_URL": d.URL, "DEFAULT_TEMPLATE_ID": "code-interpreter-v1"}
	o := python.Options{Backend: "e2b", MemoryMB: 4000, DiskMB: 64, Dir: t.TempDir(), Proxy: "none"}
	getenv := func(name string) string { return env[name] }
	srv, err := python.NewIn(o, getenv)
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, srv)
	text, res := c.call("create_sandbox", map[string]any{})
	if res.IsError || !strings.Contains(text, "sbx_") {
		t.Fatal(text)
	}
	// The template says how large it is, and not the options.
	if made, _ := res.StructuredContent.(map[string]any); !strings.Contains(text, "512 MiB of memory, 1024 MiB for files") || made["memory_mb"] != 512.0 || made["disk_mb"] != 1024.0 {
		t.Errorf("got %s, %v", text, made)
	}
	id := c.create()
	if ran := c.good("run_python_code", map[string]any{"sandbox_id": id, "code_block": "6*7"}); ran["result"] != "42" {
		t.Errorf("got %v", ran)
	}
	c.good("kill_sandbox", map[string]any{"sandbox_id": id})
	if left := d.Machines(); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
	for key, want := range map[string]tool.ProbeState{e2bdouble.Key: tool.ProbeOK, "e2b_1": tool.ProbeWrongKey, "": tool.ProbeNotConfigured} {
		env["E2B_API_KEY"] = key
		got := python.Probe(t.Context(), o, getenv)
		if len(got) != 1 || got[0].State != want || key != "" && strings.Contains(got[0].Text, key) {
			t.Errorf("%q: %+v", key, got)
		}
	}
	if got := python.Probe(t.Context(), python.Options{}, func(string) string { return "" }); got != nil {
		t.Errorf("another back end is probed: %+v", got)
	}
	o.E2BInternet = true
	if m := python.MetaFor(o); m["run_command"].RiskLevel != tool.RiskHigh || python.MetaFor(python.Options{})["run_command"].RiskLevel == tool.RiskHigh {
		t.Error("the risk of a network is not told")
	}
}
