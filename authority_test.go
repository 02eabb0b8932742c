package tenon_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestHiddenIsHiddenEverywhere: what the mode forbids is on no list, and no way
// leads to it; named exactly it is denied with the reason, and nothing of it leaks.
func TestHiddenIsHiddenEverywhere(t *testing.T) {
	t.Parallel()
	path := write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{}, "")+entry(t, "t", upstreamtest.Script{}, "")+`
policy: {mode: read_only}
tools:
  "t/echo": {read_only: true}
  "s/exit": {read_only: true}
fallbacks: {"s/exit": ["s/echo", "t/echo"]}
`)
	g := open(t, tenon.Options{Config: path})
	l, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, s := range l.Servers {
		for _, x := range s.Tools {
			listed = append(listed, x.ID.String())
		}
	}
	if got := strings.Join(listed, " "); got != "s/exit t/echo" {
		t.Errorf("listed: %s", got)
	}
	offer, err := g.Offered(tenon.Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	for name := range offer.All {
		if name != "s__exit" && name != "t__echo" && name != "tenon_read_result" {
			t.Errorf("offered: %s", name)
		}
	}
	if again, err := g.Offered(tenon.Viewer{}); err != nil || again != offer {
		t.Error("two offers of the same are not the same one")
	}
	found, err := g.Find(t.Context(), tenon.FindOptions{Words: "echo count env wait"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found {
		if m.Server+"/"+m.Name != "t/echo" {
			t.Errorf("found: %+v", m)
		}
	}
	for name, c := range map[string]struct {
		call  tool.Call
		kind  tool.Kind
		lacks string
		says  string
	}{
		"named exactly":             {tool.Call{Server: "s", Tool: "count"}, tool.Denied, "", "read_only"},
		"with wrong arguments":      {tool.Call{Server: "s", Tool: "env", Arguments: []byte(`{"nam":1}`)}, tool.Denied, "name", "read_only"},
		"server left out":           {tool.Call{Tool: "count"}, tool.NotFound, "s/", "no tool count"},
		"server misspelt":           {tool.Call{Server: "ss", Tool: "count"}, tool.Denied, "", "read_only"},
		"tool misspelt":             {tool.Call{Server: "s", Tool: "coumt"}, tool.NotFound, "count", ""},
		"one of two may be seen":    {tool.Call{Tool: "echo", Arguments: []byte(`{"a":1}`)}, "", "", `{"a":1}`},
		"corrected to what is seen": {tool.Call{Server: "x", Tool: "echo", Arguments: []byte(`{"a":1}`)}, "", "", `{"a":1}`},
		"a stricter mode is no way": {tool.Call{Server: "s", Tool: "count", Mode: tool.ModeBypass}, tool.Denied, "", "read_only"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, res := range append(g.CallBatch(t.Context(), []tool.Call{c.call, c.call}), g.Call(t.Context(), c.call)) {
				text := res.Text()
				if res.Kind != c.kind || !strings.Contains(text, c.says) || c.lacks != "" && strings.Contains(text, c.lacks) {
					t.Errorf("%q: %s", res.Kind, text)
				}
			}
		})
	}
	// The tool dies of its call. What may not be seen does not stand in for it.
	res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "exit"})
	if res.Kind != "" || res.Server != "t" || !strings.Contains(noteTexts(res), "s/echo was passed over: it is not allowed") {
		t.Errorf("%q from %s: %s\n%s", res.Kind, res.Server, res.Text(), noteTexts(res))
	}
}

// TestLimits: what is used up for one is not for another, and a reload forgets
// nothing.
func TestLimits(t *testing.T) {
	path := write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{}, "")+`
tools: {"s/echo": {spend: 2}}
policy:
  limits:
    - {per: session, calls: 2}
    - {per: tool, tools: ["s/count"], calls_per_minute: 1}
    - {per: caller, spend: 7}
`)
	g := open(t, tenon.Options{Config: path})
	call := func(session, name string) *tool.Result {
		return g.Call(t.Context(), tool.Call{Server: "s", Tool: name, Session: session})
	}
	for i, c := range []struct {
		session, tool string
		kind          tool.Kind
		says          string
	}{
		{"a", "count", "", ""},
		{"a", "count", tool.Unavailable, "1 calls a minute for this tool"},
		{"a", "echo", "", ""},
		{"a", "echo", tool.Denied, "2 calls for this session"},
		{"b", "echo", "", ""},
		{"c", "echo", "", ""},
		{"c", "echo", tool.Denied, "7 units of spend for this caller"},
	} {
		res := call(c.session, c.tool)
		if res.Kind != c.kind || !strings.Contains(res.Text(), c.says) {
			t.Errorf("call %d: %q: %s", i+1, res.Kind, res.Text())
		}
	}
	if _, err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if res := call("a", "echo"); res.Kind != tool.Denied {
		t.Errorf("after a reload: %q", res.Kind)
	}
}

// TestTaint: a session that has read both is kept from sending, by its own reads
// and by handles of others.
func TestTaint(t *testing.T) {
	t.Parallel()
	const tools = `
tools:
  "s/echo": {read_only: true, labels: [private], max_result_chars: 100}
  "s/env": {read_only: true, labels: [untrusted]}
  "s/count": {read_only: true, labels: [egress]}
`
	for mode, c := range map[string]struct {
		kind tool.Kind
		note bool
	}{"off": {}, "warn": {note: true}, "block": {kind: tool.Denied}} {
		t.Run(mode, func(t *testing.T) {
			g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{}, "")+tools+"policy: {taint: "+mode+"}\n")})
			call := func(session, name, args string) *tool.Result {
				return g.Call(t.Context(), tool.Call{Server: "s", Tool: name, Session: session, Arguments: []byte(args)})
			}
			clean := func(session string) {
				t.Helper()
				if res := call(session, "count", "{}"); res.Kind != "" || len(res.Notes) > 0 {
					t.Errorf("session %s: %q, %s", session, res.Kind, noteTexts(res))
				}
			}
			long := call("a", "echo", `{"text":"`+strings.Repeat("x", 200)+`"}`)
			if long.Handle == nil {
				t.Fatalf("%q: %s", long.Kind, long.Text())
			}
			clean("a")
			call("b", "env", `{"name":"PATH"}`)
			clean("b")
			tainted := func(session string) {
				t.Helper()
				res := call(session, "count", "{}")
				said := strings.Contains(noteTexts(res)+res.Text(), "s/echo") && strings.Contains(noteTexts(res)+res.Text(), "s/env")
				if res.Kind != c.kind || said != (mode != "off") {
					t.Errorf("session %s: %q: %s\n%s", session, res.Kind, res.Text(), noteTexts(res))
				}
			}
			// One passes the long result of the other on, another one reads it.
			call("b", "env", `{"name":{"$handle":"`+long.Handle.ID+`","path":"/text"}}`)
			tainted("b")
			call("c", "env", `{"name":"PATH"}`)
			clean("c")
			g.Call(t.Context(), tool.Call{Server: "tenon", Tool: "tenon_read_result", Session: "c", Arguments: []byte(`{"id":"` + long.Handle.ID + `"}`)})
			tainted("c")
		})
	}
}

// TestDecidedAnewAfterApproval: what became forbidden while a call waited for a person
// stays forbidden, whatever they say.
func TestDecidedAnewAfterApproval(t *testing.T) {
	t.Parallel()
	const before = "policy: {mode: ask_destructive, block_high_risk: false}\n"
	for name, c := range map[string]struct {
		after string
		kind  tool.Kind
		says  string
	}{
		"another mode":     {"policy: {mode: read_only, block_high_risk: false}\n", tool.Denied, "read_only"},
		"the blacklist":    {before + "blacklist: [[s, count]]\n", tool.Denied, "blacklist"},
		"a parameter rule": {"policy: {mode: ask_destructive, block_high_risk: false, parameters: {s/count: {to: {one_of: [here]}}}}\n", tool.Denied, "to"},
		"something else":   {before + "gateway: {call_timeout: 1m}\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			servers := "version: 1\nservers:\n" + entry(t, "s", upstreamtest.Script{}, "")
			path := write(t, servers+before)
			g := open(t, tenon.Options{Config: path})
			got := during(t, func() *tool.Result {
				return g.Call(t.Context(), tool.Call{Server: "s", Tool: "count", Arguments: []byte(`{"to":"there"}`)})
			})
			asked := waiting(t, g, 1)[0]
			if err := os.WriteFile(path, []byte(servers+c.after), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			decide(t, g, asked.ID, tool.Verdict{Approved: true, By: "anna"})
			if res := <-got; res.Kind != c.kind || !strings.Contains(res.Text(), c.says) {
				t.Errorf("%q: %s", res.Kind, res.Text())
			}
		})
	}
}
