package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

// listOf returns the names in an answer to tools/list.
func listOf(t *testing.T, answer string) string {
	t.Helper()
	var m struct {
		Result struct {
			Tools []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		t.Fatalf("%v: %.300s", err, answer)
	}
	var out []string
	for _, x := range m.Result.Tools {
		out = append(out, x.Name)
	}
	return strings.Join(out, " ")
}

const shortList = "mcp_search_tools mcp_execute_tool tenon_read_result"

// TestLazyLists: both eras and the URLs of skills have the short list, a server's own
// URL has all of its tools, and the bytes stay the same.
func TestLazyLists(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sk"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sk", "SKILL.md"), []byte("---\nname: sk\ndescription: d\nallowed_tools: [one/echo, one/pid]\nstrict: true\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, url := front(t, map[string]upstreamtest.Script{"one": {Tools: 3}, "two": {Modern: true}},
		fmt.Sprintf("lazy: {mode: on, pinned: [one/pid]}\nskills: {built_in: false, dirs: [%q]}\npolicy: {mode: bypass}\n", dir))
	id := session(t, url)
	legacy := func(path string) string {
		_, answer, h := post(t, url+path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		if h.Get("Mcp-Session-Id") == "" {
			t.Fatal(answer)
		}
		_, answer, _ = post(t, url+path, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", h.Get("Mcp-Session-Id"))
		return answer
	}
	modernList := func(path string) string {
		_, answer, _ := post(t, url+path, modern("tools/list", ""), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list")
		return answer
	}
	for path, want := range map[string]string{"": "one__pid " + shortList, "/mcp/k/sk": "one__pid " + shortList} {
		for _, list := range []func(string) string{legacy, modernList} {
			first := list(path)
			if got := listOf(t, first); got != want {
				t.Errorf("%s: got %s", path, got)
			}
			if again := list(path); again != first {
				t.Errorf("%s: %s, then %s", path, first, again)
			}
		}
	}
	for _, answer := range []string{legacy("/mcp/s/one"), modernList("/mcp/s/one")} {
		if got := listOf(t, answer); !strings.Contains(got, "echo") || strings.Contains(got, "mcp_") {
			t.Errorf("the server alone: %s", got)
		}
	}
	// The skill holds for both tools.
	for _, path := range []string{"", "/mcp/k/sk"} {
		_, found, _ := post(t, url+path, modern("tools/call", `"name":"mcp_search_tools","arguments":{"query":"two__echo"}`), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "mcp_search_tools")
		_, ran, _ := post(t, url+path, modern("tools/call", `"name":"mcp_execute_tool","arguments":{"tool_name":"two__echo","arguments":{"a":1}}`), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "mcp_execute_tool")
		if skilled := path != ""; strings.Contains(found, "JSON schema of its arguments") == skilled || strings.Contains(ran, `"tenon/error_kind":"denied"`) != skilled {
			t.Errorf("%s: %.400s\n%.400s", path, found, ran)
		}
	}
	// What is not listed can be called by its name, and the answer is the server's own.
	direct := func(params string) string {
		_, answer, _ := post(t, url, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":`+params+`}`, "Mcp-Session-Id", id)
		return answer
	}
	want := `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"z\":9007199254740993,\"a\":2}"}]}}`
	for _, params := range []string{
		`{"name":"one__echo","arguments":{"z":9007199254740993,"a":2}}`,
		`{"name":"mcp_execute_tool","arguments":{"tool_name":"one__echo","arguments":{"z":9007199254740993,"a":2}}}`,
		`{"name":"mcp_execute_tool","arguments":{"tool_name":"one__echo","arguments_json":"{\"z\":9007199254740993,\"a\":2}"}}`,
	} {
		if got := direct(params); got != want {
			t.Errorf("%s: %s", params, got)
		}
	}
	// The _meta of the call reaches the server.
	if got := direct(`{"_meta":{"x.example/y":[1]},"name":"mcp_execute_tool","arguments":{"tool_name":"one__meta"}}`); !strings.Contains(got, `x.example/y`) {
		t.Errorf("meta: %s", got)
	}
	// Ten megabytes of text that is no object.
	huge := `{"name":"mcp_execute_tool","arguments":{"tool_name":"one__echo","arguments_json":"` + strings.Repeat("[", 10<<20) + `"}}`
	if got := direct(huge); len(got) > 10_000 || !strings.Contains(got, `isError`) && !strings.Contains(got, `"error"`) {
		t.Errorf("huge: %.300s", got)
	}
}

// TestLazyIsAskedFor: a client may ask for a short list, by a header or by _meta, and
// not for a longer one than the configuration says.
func TestLazyIsAskedFor(t *testing.T) {
	for cfg, c := range map[string]struct {
		body, header string
		short        bool
	}{
		"":                        {modern("tools/list", ""), "", false},
		"lazy: off\n":             {modern("tools/list", ""), "on", true},
		"lazy: {mode: off}\n":     {strings.Replace(modern("tools/list", ""), `"_meta":{`, `"_meta":{"tenon/lazy":"on",`, 1), "", true},
		"lazy: on\n":              {modern("tools/list", ""), "off", true},
		"lazy: auto\n":            {modern("tools/list", ""), "", false},
		"lazy: {mode: auto}\n":    {modern("tools/list", ""), "auto", false},
		"lazy: {mode: on}\n":      {strings.Replace(modern("tools/list", ""), `"_meta":{`, `"_meta":{"tenon/lazy":"off",`, 1), "", true},
		"fail_silently: true\n":   {modern("tools/list", ""), "nonsense", false},
		"lazy: {mode: \"off\"}\n": {modern("tools/list", ""), "off", false},
	} {
		t.Run(cfg+c.header, func(t *testing.T) {
			_, url := front(t, map[string]upstreamtest.Script{"one": {}}, cfg)
			header := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/list"}
			if c.header != "" {
				header = append(header, "X-Tenon-Lazy", c.header)
			}
			status, answer, _ := post(t, url, c.body, header...)
			if c.header == "nonsense" {
				if status != 400 || !strings.Contains(answer, "off, auto or on") {
					t.Errorf("%d %s", status, answer)
				}
				return
			}
			if got := listOf(t, answer); (got == shortList) != c.short || !c.short && !strings.Contains(got, "one__echo") {
				t.Errorf("got %s", got)
			}
		})
	}
}

// TestSessionKeepsItsForm: with lazy: auto a session that has begun keeps the tools that
// it knows, when a server makes the list long.
func TestSessionKeepsItsForm(t *testing.T) {
	_, url := front(t, map[string]upstreamtest.Script{"one": {Tools: 1500}}, "lazy: auto\ntools: {\"one/echo\": {read_only: true}}\n")
	list := func(id, mode string) string {
		body := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"tenon/mode":"` + mode + `"}}}`
		_, answer, _ := post(t, url, body, "Mcp-Session-Id", id)
		return listOf(t, answer)
	}
	long, short := session(t, url), session(t, url)
	if got := list(long, "normal"); got != shortList {
		t.Fatalf("got %.200s", got)
	}
	if got := list(short, "read_only"); got != "one__echo tenon_read_result" {
		t.Fatalf("got %.200s", got)
	}
	if got := list(long, "read_only"); got != shortList {
		t.Errorf("the tools of a session come back as others: %.200s", got)
	}
	if got := list(short, "normal"); !strings.Contains(got, "one__tool_1499") {
		t.Errorf("a session loses the tools that it knows: %.200s", got)
	}
}

// TestLazyWithTheSDK: the official client finds a tool and calls it.
func TestLazyWithTheSDK(t *testing.T) {
	_, url := front(t, good, "lazy: on\n")
	cs := connect(t, url, "2025-11-25", nil)
	res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "mcp_search_tools", Arguments: map[string]any{"query": "echo", "server": "two"}})
	if err != nil || !strings.Contains(text(res), "- two__echo(") {
		t.Fatalf("%v %v", res, err)
	}
	res, err = cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "mcp_execute_tool", Arguments: map[string]any{"tool_name": "two__echo", "arguments": map[string]any{"k": "v"}}})
	if err != nil || res.IsError || !strings.Contains(text(res), `{"k":"v"}`) {
		t.Fatalf("%v %v", res, err)
	}
	if bytes.Contains([]byte(text(res)), []byte("mcp_execute_tool")) {
		t.Errorf("the answer is not that of the tool: %s", text(res))
	}
}
