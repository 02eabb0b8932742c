package python_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/python"
	"github.com/tenon-mcp/tenon/tool"
)

// TestToldOnce cancels a call, which costs the interpreter its life, and wants the next
// answer to say so.
func TestToldOnce(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{})
	var id, text string
	var b []byte
	for limit := 300 * time.Millisecond; ; limit *= 3 { // on a busy machine the code may not have come to ignoring anything
		id = c.create()
		c.good("run_python_code", map[string]any{"sandbox_id": id, "code_block": "x = 1"})
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "run_python_code", Arguments: map[string]any{
			"sandbox_id": id, "code_block": "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ndeaf = True\ntime.sleep(600)",
		}}); err == nil {
			t.Error("it was not canceled")
		}
		cancel()
		var res *mcp.CallToolResult
		text, res = c.call("run_python_code", map[string]any{"sandbox_id": id, "code_block": "'x' in globals() and not 'deaf' in globals()"})
		b, _ = json.Marshal(res.StructuredContent)
		if limit > 20*time.Second || !strings.Contains(string(b), `"result":"True"`) {
			break
		}
	}
	if !strings.Contains(text, "canceled") || !strings.Contains(text, "variables and imports of before are lost") || !strings.Contains(string(b), `"interpreter_restarted":true`) || !strings.Contains(string(b), `"result":"False"`) {
		t.Errorf("got %s, %s", text, b)
	}
	if out := c.good("run_python_code", map[string]any{"sandbox_id": id, "code_block": "1"}); out["interpreter_restarted"] != false {
		t.Errorf("told twice: %v", out)
	}
}

// TestWhole hands on more where the caller keeps it.
func TestWhole(t *testing.T) {
	t.Parallel()
	c := connect(t, newServer(t, python.Options{}, map[string]string{tool.KeepsResults: "1"}))
	id := c.create()
	for name, arguments := range map[string]map[string]any{
		"run_python_code": {"sandbox_id": id, "code_block": "print('a' * 150_000)\n'b' * 150_000"},
		"run_command":     {"sandbox_id": id, "command": "head -c 300000 /dev/zero | tr '\\0' c"},
	} {
		text, res := c.call(name, arguments)
		b, _ := json.Marshal(res.StructuredContent)
		if len(text) < 300_000 || len(text) > 301_000 || len(b) < 300_000 || strings.Contains(text, "left out") {
			t.Errorf("%s: %d characters, %d of data", name, len(text), len(b))
		}
	}
	// A cell that others went before has as much room, and data of text alone is not cut in two.
	text, res := c.call("run_python_code", map[string]any{"sandbox_id": id, "code_block": "print('a' * 900_000)"})
	if data, _ := json.Marshal(res.StructuredContent); len(text) < 900_000 || len(data) < 900_000 || strings.Contains(text+string(data), "left out") {
		t.Errorf("a later cell: %d characters, %d of data", len(text), len(data))
	}
	// What was cut here is said where a reader of the beginning sees it, and the end is there.
	for name, arguments := range map[string]map[string]any{
		"run_python_code": {"sandbox_id": id, "code_block": "print('a' * 3_000_000 + 'end')"},
		"run_command":     {"sandbox_id": id, "command": "head -c 3000000 /dev/zero | tr '\\0' c; echo end"},
	} {
		if text, _ := c.call(name, arguments); !strings.Contains(text[:500], "bytes of output were left out") || !strings.Contains(text[:500], "into a file") || !strings.HasSuffix(strings.TrimSpace(text), "end") {
			t.Errorf("%s: %.500s … %s", name, text, text[len(text)-100:])
		}
	}
	text, res = c.call("run_python_code", map[string]any{"sandbox_id": id, "code_block": "print('a' * 1_200_000)\n'\\0' * 300_000"})
	b, _ := json.Marshal(res.StructuredContent)
	if n := utf8.RuneCountInString(text); n != 1_000_000 || utf8.RuneCount(b) > 1_000_000 {
		t.Errorf("%d characters, %d of data", n, utf8.RuneCount(b))
	}
}

// TestTooLarge says what was left out.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{})
	text, res := c.call("python", map[string]any{"code": "class Big:\n    def _repr_png_(self): return b'x' * 3_000_000\n    def _repr_html_(self): return 'y' * 30_000\nfor i in range(70): display(i)\nBig()"})
	b, _ := json.Marshal(res.StructuredContent)
	for _, want := range []string{"image of 2.9 MiB is left out", "save it to a file", "HTML of 30000 characters", "21 more values"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not said: %s", want, text)
		}
	}
	if !strings.Contains(string(b), "image of 2.9 MiB is left out") || !strings.Contains(string(b), `"not_shown":21`) {
		t.Errorf("the data does not say it: %s", b)
	}
}

func TestRisk(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"run_python_code", "run_command", "python"} {
		if m := python.Meta()[name]; m.RiskLevel != tool.RiskMedium || slices.Contains(m.Labels, tool.LabelEgress) {
			t.Errorf("%s without a network: %+v", name, m)
		}
		if m := python.MetaFor(python.Options{Network: []string{"public"}})[name]; m.RiskLevel != tool.RiskHigh || !slices.Contains(m.Labels, tool.LabelEgress) {
			t.Errorf("%s with a network: %+v", name, m)
		}
	}
	if m := python.MetaFor(python.Options{Network: []string{"public"}})["list_files"]; m.RiskLevel != tool.RiskLow || slices.Contains(m.Labels, tool.LabelEgress) {
		t.Errorf("list_files: %+v", m)
	}
}

// TestNoList refuses a list where nothing would hold code to it.
func TestNoList(t *testing.T) {
	t.Parallel()
	_, err := python.NewIn(python.Options{Backend: "e2b", Network: []string{"example.com"}}, func(name string) string {
		return map[string]string{"E2B_API_KEY": "e2b_" + strings.Repeat("0", 40)}[name]
	})
	if err == nil || !strings.Contains(err.Error(), "option network") || !strings.Contains(err.Error(), "e2b") {
		t.Errorf("got %v", err)
	}
}

// TestNetwork lets code reach one host, and tells the model which.
func TestNetwork(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "fetched") }))
	t.Cleanup(site.Close)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("reached") }))
	t.Cleanup(other.Close)
	host := strings.TrimPrefix(site.URL, "http://")
	c := start(t, python.Options{Network: []string{host}})
	text, res := c.call("create_sandbox", map[string]any{})
	if res.IsError || !strings.Contains(text, host) || strings.Contains(text, "no network") {
		t.Fatal(text)
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools.Tools {
		if strings.Contains(strings.ToLower(tl.Description), "no network") {
			t.Errorf("%s: %s", tl.Name, tl.Description)
		}
	}
	const ask = "import os, urllib.request\nfor n in ('no_proxy', 'NO_PROXY'): os.environ.pop(n, None)\n"
	// As code is written, which heeds no_proxy.
	if out := c.good("python", map[string]any{"code": "import urllib.request\nurllib.request.urlopen('" + site.URL + "').read()"}); out["result"] != "b'fetched'" {
		t.Errorf("got %v", out)
	}
	for _, url := range []string{other.URL, "http://169.254.169.254/", "https://169.254.169.254/", "http://localhost/"} {
		if text, _ := c.call("python", map[string]any{"code": ask + "try: urllib.request.urlopen('" + url + "')\nexcept Exception as e: print(e, getattr(e, 'reason', ''))"}); !strings.Contains(text, "refused: ") || !strings.Contains(text, "option network") {
			t.Errorf("%s: %s", url, text)
		}
	}
}

// TestShares keeps a session from taking all places of others.
func TestShares(t *testing.T) {
	t.Parallel()
	c := start(t, python.Options{MaxSandboxes: 8, Processes: 16})
	as := func(session, name string, arguments map[string]any) (string, bool) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{"tenon/session": session}, Name: name, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text, !res.IsError
	}
	made, text := 0, ""
	for ok := true; ok && made < 9; made++ {
		text, ok = as("greedy", "create_sandbox", map[string]any{})
	}
	if made != 7 || !strings.Contains(text, "as one caller may have") {
		t.Errorf("%d: %s", made, text)
	}
	if text, ok := as("other", "create_sandbox", map[string]any{}); !ok {
		t.Errorf("another one gets none: %s", text)
	}
}
