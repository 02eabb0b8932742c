package tenon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// execute is a call of a tool by the one that calls others.
func execute(name string, args any) tool.Call {
	raw, _ := json.Marshal(map[string]any{"tool_name": name, "arguments": args}) // of texts and raw JSON
	return tool.Call{Server: "tenon", Tool: "mcp_execute_tool", Arguments: raw}
}

// search is the text of an answer of the tool that finds others.
func search(t *testing.T, g *tenon.Gateway, c tool.Call, args string) string {
	t.Helper()
	c.Server, c.Tool, c.Arguments = "tenon", "mcp_search_tools", []byte(args)
	res := g.Call(t.Context(), c)
	if res.Kind != "" {
		return string(res.Kind) + ": " + res.Message
	}
	return res.Text()
}

func offeredNames(o tenon.Offer) string {
	var out []string
	for name := range o.All {
		out = append(out, name)
	}
	return strings.Join(out, " ")
}

// TestExecuteIsTheTool: whatever holds for a call of a tool holds for one that is made
// with mcp_execute_tool, and the record has the tool.
func TestExecuteIsTheTool(t *testing.T) {
	t.Parallel()
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{}, "")+`
policy:
  mode: read_only
  limits: [{per: tool, tools: ["s/count"], calls: 1}]
tools:
  "s/echo": {read_only: true, max_result_chars: 40}
  "s/wait": {read_only: true, timeout: 100ms}
  "s/count": {read_only: true}
  "s/fail": {read_only: true}
blacklist: [s/exit]
`)})
	for name, c := range map[string]struct {
		call     tool.Call
		kind     tool.Kind
		ran      string
		contains string
	}{
		"result":           {execute("s__echo", map[string]any{"a": json.Number("9007199254740993")}), "", "s/echo", `{"a":9007199254740993}`},
		"server and tool":  {execute("s/echo", map[string]any{}), "", "s/echo", "{}"},
		"tool alone":       {execute("echo", map[string]any{}), "", "s/echo", "{}"},
		"as JSON":          {tool.Call{Tool: "mcp_execute_tool", Arguments: []byte(`{"tool_name":"s__echo","arguments_json":"{\"b\": [1]}"}`)}, "", "s/echo", `{"b": [1]}`},
		"cut":              {execute("s__echo", map[string]any{"text": strings.Repeat("x", 200)}), "", "s/echo", "cut"},
		"its own error":    {execute("s__fail", map[string]any{}), tool.Failed, "s/fail", "it did not work"},
		"timeout":          {execute("s__wait", map[string]any{}), tool.Timeout, "s/wait", ""},
		"mode":             {execute("s__env", map[string]any{"name": "PATH"}), tool.Denied, "s/env", "read_only"},
		"blacklist":        {execute("s__exit", map[string]any{}), tool.Denied, "s/exit", ""},
		"unknown":          {execute("s__nothing", map[string]any{}), tool.NotFound, "s/nothing", "no tool nothing"},
		"unknown server":   {execute("z__echo1", map[string]any{}), tool.NotFound, "z/echo1", "no server z"},
		"read a handle":    {execute("tenon_read_result", map[string]any{"id": "h_none"}), tool.NotFound, "tenon/tenon_read_result", ""},
		"find":             {execute("mcp_search_tools", map[string]any{"query": "echo"}), "", "tenon/mcp_search_tools", "s__echo("},
		"itself":           {execute("mcp_execute_tool", map[string]any{"tool_name": "s__echo"}), tool.Invalid, "tenon/mcp_execute_tool", "does not call itself"},
		"itself, prefixed": {execute("tenon__mcp_execute_tool", map[string]any{"tool_name": "s__echo"}), tool.Invalid, "tenon/mcp_execute_tool", "does not call itself"},
		"itself by path":   {execute("tenon/mcp_execute_tool", map[string]any{"tool_name": "s__echo"}), tool.Invalid, "tenon/mcp_execute_tool", "does not call itself"},
		"itself elsewhere": {execute("z__mcp_execute_tool", map[string]any{"tool_name": "s__echo"}), tool.Invalid, "tenon/mcp_execute_tool", "does not call itself"},
		"itself at s":      {execute("s__mcp_execute_tool", map[string]any{"tool_name": "s__echo"}), tool.NotFound, "s/mcp_execute_tool", ""},
		"no object":        {tool.Call{Tool: "mcp_execute_tool", Arguments: []byte(`{"tool_name":"s__echo","arguments_json":"[1]"}`)}, tool.Invalid, "tenon/mcp_execute_tool", "must be one JSON object"},
		"text in text":     {tool.Call{Tool: "mcp_execute_tool", Arguments: []byte(`{"tool_name":"s__echo","arguments_json":"\"{}\""}`)}, tool.Invalid, "tenon/mcp_execute_tool", "is a text"},
		"deep":             {tool.Call{Tool: "mcp_execute_tool", Arguments: []byte(`{"tool_name":"s__echo","arguments_json":"` + strings.Repeat(`{\"a\":`, 5000) + `1` + strings.Repeat(`}`, 5000) + `"}`)}, tool.Invalid, "s/echo", ""},
		"no name":          {tool.Call{Tool: "mcp_execute_tool", Arguments: []byte(`{"arguments":{}}`)}, tool.Invalid, "tenon/mcp_execute_tool", "tool_name"},
		"nothing":          {tool.Call{Tool: "mcp_execute_tool"}, tool.Invalid, "tenon/mcp_execute_tool", "tool_name"},
		"odd name":         {execute("s__echo\x00\u202e", map[string]any{}), tool.NotFound, "s/echo\x00\u202e", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, res := range append(g.CallBatch(t.Context(), []tool.Call{c.call}), g.Call(t.Context(), c.call)) {
				if res.Kind != c.kind || res.Server+"/"+res.Tool != c.ran || !strings.Contains(res.Text()+noteTexts(res), c.contains) {
					t.Errorf("%q by %s/%s: %.300s\n%.300s", res.Kind, res.Server, res.Tool, res.Text(), noteTexts(res))
				}
				rec, ok := g.CallRecord(res.ID)
				said := false
				for _, n := range rec.Notes {
					said = said || n.Stage == "lazy" && strings.Contains(n.Text, "mcp_execute_tool")
				}
				if !ok || rec.Server+"/"+rec.Tool != c.ran || said != (c.ran != "tenon/mcp_execute_tool") {
					t.Errorf("recorded: %+v", rec)
				}
				if strings.Contains(noteTexts(res), "mcp_execute_tool") {
					t.Errorf("the model is told what it knows: %s", noteTexts(res))
				}
			}
		})
	}
	// The limit of the tool is one for both ways.
	first, second := g.Call(t.Context(), execute("s__count", map[string]any{})), g.Call(t.Context(), tool.Call{Server: "s", Tool: "count"})
	if first.Kind != "" || second.Kind != tool.Denied {
		t.Errorf("%q, then %q: %s", first.Kind, second.Kind, second.Text())
	}
}

// TestExecuteAsksAPerson: the person is asked about the tool and its arguments, and a
// grant for one way is one for the other.
func TestExecuteAsksAPerson(t *testing.T) {
	g, removed := asking(t, "")
	c := execute("go__remove", map[string]any{"path": "/x"})
	c.Session = "s"
	answer := during(t, func() *tool.Result { return g.Call(t.Context(), c) })
	q := waiting(t, g, 1)[0]
	if q.Server != "go" || q.Tool != "remove" || !strings.Contains(string(q.Arguments), "/x") || strings.Contains(string(q.Arguments), "tool_name") {
		t.Errorf("the question is %+v", q)
	}
	if removed.Load() != 0 {
		t.Error("it ran before anybody was asked")
	}
	if _, err := g.Approvals().Decide(t.Context(), q.ID, tool.Verdict{By: "me"}); err != nil {
		t.Fatal(err)
	}
	if res := <-answer; res.Kind != tool.Denied || removed.Load() != 0 {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
}

// TestExplainIsOfTheTool: what is explained of a call by mcp_execute_tool is what is
// decided about it.
func TestExplainIsOfTheTool(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{}, "")+`
policy: {mode: read_only, parameters: {"s/echo": {path: {glob: "/data/**"}}}}
tools: {"s/echo": {read_only: true}}
`)})
	for _, c := range []struct {
		name string
		args map[string]any
		want tool.Behavior
	}{
		{"s__echo", map[string]any{"path": "/data/x"}, tool.Allow}, {"s__echo", map[string]any{"path": "/etc"}, tool.Deny}, {"s__env", nil, tool.Deny},
	} {
		e, err := g.Policy().Explain(t.Context(), execute(c.name, c.args))
		if err != nil || e.Decision.Behavior != c.want || e.Server+"__"+e.Tool != c.name {
			t.Errorf("%s %v: %+v, %v", c.name, c.args, e, err)
		}
		if res := g.Call(t.Context(), execute(c.name, c.args)); (res.Kind == tool.Denied) != (c.want == tool.Deny) {
			t.Errorf("%s %v: %q", c.name, c.args, res.Kind)
		}
	}
}

// TestExecuteIsDoneOnce: a key holds for a call whichever way it is made.
func TestExecuteIsDoneOnce(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{}, ""))})
	direct, by := tool.Call{Server: "s", Tool: "count", Arguments: []byte("{}"), IdempotencyKey: "k"}, execute("s__count", map[string]any{})
	by.IdempotencyKey = "k"
	first, second := g.Call(t.Context(), direct), g.Call(t.Context(), by)
	if first.Kind != "" || second.Kind != "" || first.Text() != second.Text() {
		t.Errorf("%q %s, then %q %s", first.Kind, first.Text(), second.Kind, second.Text())
	}
}

// TestSearchTellsNothingHidden: what may not be seen is not found by any words, by its
// name or in an overview, and is denied when it is called all the same.
func TestSearchTellsNothingHidden(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nlazy: on\nservers:\n"+entry(t, "s", upstreamtest.Script{Tools: 30}, "")+entry(t, "t", upstreamtest.Script{}, "")+`
policy: {mode: read_only}
tools:
  "t/echo": {read_only: true, search_hint: 回声 repeater}
  "s/echo": {search_hint: unobtainium}
`)})
	for _, args := range []string{
		`{"query":"unobtainium"}`, `{"query":"s__echo"}`, `{"query":"s/echo"}`, `{"query":"echo"}`, `{}`, `{"server":"s"}`, `{"server":"s","query":"echo"}`,
		`{"query":"echo unobtainium count","limit":50}`, `{"query":"s"}`,
	} {
		if got := search(t, g, tool.Call{}, args); strings.Contains(got, "s__") || strings.Contains(got, "tool_0") {
			t.Errorf("%s: %s", args, got)
		}
	}
	if got := search(t, g, tool.Call{}, `{"query":"echo unobtainium"}`); !strings.Contains(got, `No tool has: "unobtainium"`) || !strings.Contains(got, "1 of 1 tools") {
		t.Errorf("a word of a hidden tool is told: %s", got)
	}
	for args, want := range map[string]string{
		`{"query":"回声"}`:             "- t__echo(",
		`{"query":"回声查询"}`:           `No tool has: "声查询"`,
		`{"query":"repeaters"}`:      "- t__echo(",
		`{"query":"t__echo"}`:        "JSON schema of its arguments: {",
		`{"query":"t/echo"}`:         "JSON schema of its arguments: {",
		`{}`:                         "- t (1): t__echo\n",
		`{"server":"t"}`:             "- t__echo(",
		`{"server":"tt"}`:            "not_found: There is no server tt. The nearest are: t",
		`{"query":"frob"}`:           `None of 1 tools fits "frob"`,
		`{"query":"the of and"}`:     `None of 1 tools`,
		`{"query":"\ud800 \u0000"}`:  "None of 1 tools",
		`{"query":"echo","limit":0}`: "invalid: ",
		`{"query":["echo"]}`:         "invalid: ",
		`{"query":"` + strings.Repeat("echo ", 100) + `"}`: "- t__echo(",
	} {
		if got := search(t, g, tool.Call{}, args); !strings.Contains(got, want) {
			t.Errorf("%s: got %s\nwant %s", args, got, want)
		}
	}
	if res := g.Call(t.Context(), execute("s__echo", map[string]any{})); res.Kind != tool.Denied || res.Server != "s" {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
	// To stop everything stops these two.
	if err := g.Stops().Stop(t.Context(), tenon.Stop{}); err != nil {
		t.Fatal(err)
	}
	if got := search(t, g, tool.Call{}, `{}`); !strings.HasPrefix(got, "denied: ") {
		t.Errorf("everything is stopped, and found is: %s", got)
	}
	if err := g.Stops().Resume(t.Context(), "*", "*"); err != nil {
		t.Fatal(err)
	}
	// A stop hides as well, from the next search on.
	if err := g.Stops().Stop(t.Context(), tenon.Stop{Server: "t"}); err != nil {
		t.Fatal(err)
	}
	if got := search(t, g, tool.Call{}, `{"query":"echo"}`); strings.Contains(got, "t__echo") {
		t.Errorf("stopped, and found: %s", got)
	}
	if res := g.Call(t.Context(), execute("t__echo", map[string]any{})); res.Kind != tool.Denied {
		t.Errorf("stopped: %q: %s", res.Kind, res.Text())
	}
}

// TestLazyForms: who looks, what is asked for and what is pinned decide what is listed.
func TestLazyForms(t *testing.T) {
	t.Parallel()
	group := t
	const meta = "mcp_search_tools mcp_execute_tool tenon_read_result"
	servers := "servers:\n" + entry(t, "s", upstreamtest.Script{}, "") + entry(t, "big", upstreamtest.Script{Tools: 1500}, "")
	many := "tools: {\"s/echo\": {read_only: true}}\n"
	pools := map[string]*tenon.Gateway{} // by what is configured: they list many tools
	for name, c := range map[string]struct {
		lazy string
		who  tenon.Viewer
		want string // of the list; empty is a direct one
	}{
		"off":                       {"", tenon.Viewer{}, ""},
		"on":                        {"lazy: on\n", tenon.Viewer{}, meta},
		"auto, long":                {"lazy: auto\n", tenon.Viewer{}, meta},
		"auto, short for them":      {"lazy: auto\n", tenon.Viewer{Mode: tool.ModeReadOnly}, "s__echo tenon_read_result"},
		"auto, a high threshold":    {"lazy: {mode: auto, threshold: 1000000}\n", tenon.Viewer{}, ""},
		"asked for":                 {"", tenon.Viewer{Lazy: tenon.LazyOn}, meta},
		"auto is asked for":         {"", tenon.Viewer{Lazy: tenon.LazyAuto}, meta},
		"off is asked for":          {"lazy: on\n", tenon.Viewer{Lazy: tenon.LazyOff}, meta},
		"pinned":                    {"lazy: {mode: on, pinned: [\"s/echo\", \"s/coun*\"]}\n", tenon.Viewer{}, "s__echo s__count " + meta},
		"pinned, and not for them":  {"lazy: {mode: on, pinned: [\"s/echo\", \"s/coun*\"]}\n", tenon.Viewer{Mode: tool.ModeReadOnly}, "s__echo " + meta},
		"pinned is for lazy alone":  {"lazy: {mode: off, pinned: [\"s/echo\"]}\n", tenon.Viewer{}, ""},
		"short for them, and asked": {"lazy: auto\n", tenon.Viewer{Mode: tool.ModeReadOnly, Lazy: tenon.LazyOn}, meta},
	} {
		t.Run(name, func(t *testing.T) {
			g := pools[c.lazy]
			if g == nil {
				g = open(group, tenon.Options{Config: write(group, "version: 1\n"+c.lazy+servers+many)})
				pools[c.lazy] = g
			}
			o, err := g.Offer(t.Context(), c.who)
			if err != nil {
				t.Fatal(err)
			}
			got := offeredNames(o)
			if c.want == "" {
				if o.Lazy() || strings.Contains(got, "mcp_") || strings.Count(got, "big__") < 1500 {
					t.Errorf("got %.300s", got)
				}
			} else if sortWords(got) != sortWords(c.want) {
				t.Errorf("got %.300s, want %s", got, c.want)
			}
			if again, err := g.Offered(c.who); err != nil || again != o {
				t.Error("two offers of the same are not the same one")
			}
			if all := offeredNames(o.Direct()); strings.Contains(all, "mcp_") {
				t.Errorf("direct: %.300s", all)
			}
			if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo", Arguments: []byte("{}")}); res.Kind != "" {
				t.Errorf("a tool that is not listed is not called: %s", res.Text())
			}
		})
	}
	g := open(t, tenon.Options{Config: write(t, "version: 1\n")})
	if _, err := g.Offered(tenon.Viewer{Lazy: "sometimes"}); err == nil || !strings.Contains(err.Error(), "off, auto or on") {
		t.Errorf("got %v", err)
	}
}

func sortWords(s string) string {
	seen := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		seen[w] = true
	}
	return fmt.Sprint(seen)
}

// TestSteadyForm: a session keeps the form of its first list where the length decides,
// and follows the configuration where that does.
func TestSteadyForm(t *testing.T) {
	t.Parallel()
	path := write(t, "version: 1\nlazy: {mode: auto, threshold: 200}\nservers:\n"+entry(t, "s", upstreamtest.Script{}, "")+entry(t, "big", upstreamtest.Script{Tools: 1500}, ""))
	g := open(t, tenon.Options{Config: path})
	offer := func(mode tool.Mode) tenon.Offer {
		o, err := g.Offer(t.Context(), tenon.Viewer{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	var short, long tenon.ListForm
	if offer(tool.ModeReadOnly).Steady(&short).Lazy() || !offer("").Steady(&long).Lazy() {
		t.Fatal("the first list decides by its length")
	}
	if offer("").Steady(&short).Lazy() || !offer(tool.ModeReadOnly).Steady(&long).Lazy() {
		t.Error("a session that has begun gets another form")
	}
	if err := os.WriteFile(path, []byte("version: 1\nlazy: on\nservers: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := g.Watch(ctx)
	if _, err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !offer("").Steady(&short).Lazy() {
		t.Error("the configuration says on, and the list is not lazy")
	}
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Error("nobody is told of the other list")
	}
}

// A search as a model makes it, the whole way of a call, among 5,000 tools of which
// half may not be seen.
func BenchmarkSearchTools(b *testing.B) {
	cfg := "version: 1\npolicy: {mode: read_only}\nstore: {url: memory}\nservers:\n"
	for i := range 5 {
		cfg += entry(b, fmt.Sprintf("s%d", i), upstreamtest.Script{Tools: 1000}, "")
	}
	cfg += "tools: {\"s*/tool_*[02468]\": {read_only: true}}\n"
	g := open(b, tenon.Options{Config: write(b, cfg)})
	c := tool.Call{Server: "tenon", Tool: "mcp_search_tools", Arguments: []byte(`{"query":"a tool that does number 4242 or anything else that is unheard of"}`)}
	if res := g.Call(b.Context(), c); res.Kind != "" || !strings.Contains(res.Text(), "of 2500 tools") {
		b.Fatal(res.Text())
	}
	b.ReportAllocs()
	for b.Loop() {
		g.Call(b.Context(), c)
	}
}

func BenchmarkLazyOffer(b *testing.B) {
	g := open(b, tenon.Options{Config: write(b, "version: 1\nlazy: auto\nservers:\n"+entry(b, "s", upstreamtest.Script{Tools: 5000}, ""))})
	if _, err := g.Offer(b.Context(), tenon.Viewer{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Offered(tenon.Viewer{}); err != nil {
			b.Fatal(err)
		}
	}
}
