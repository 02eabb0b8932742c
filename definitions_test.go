package tenon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/definitions"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// accept accepts what the servers of a configuration say now.
func accept(t *testing.T, config string) {
	t.Helper()
	g := open(t, tenon.Options{Config: config})
	r, err := g.Definitions().Compare(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Definitions().Accept(r); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
}

// offered returns the names of the tools that g shows on each of its ways.
func offered(t *testing.T, g *tenon.Gateway) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	l, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range l.Servers {
		out["list"] = append(out["list"], names(s.Tools)...)
	}
	matches, err := g.Find(t.Context(), tenon.FindOptions{Words: "dummy does", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matches {
		out["search"] = append(out["search"], m.Name)
	}
	return out
}

// TestPinnedTool: a tool that appears after the others were accepted is shown to
// nobody and called by nobody, until it is accepted too.
func TestPinnedTool(t *testing.T) {
	t.Parallel()
	config := write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{}, "")+"policy: {definitions: pin}\n")
	accept(t, config)
	g := open(t, tenon.Options{Config: config, Start: true})
	events := g.Watch(t.Context())
	ask(t, g, "s", "change", `{}`) // one more tool, tool_0000
	for e := range events {
		if e.Kind == tenon.ToolsChanged && len(g.Status()[0].Concerns) > 0 {
			break
		}
	}
	for way, tools := range offered(t, g) {
		if len(tools) == 0 || slices.Contains(tools, "tool_0000") {
			t.Errorf("%s: %q", way, tools)
		}
	}
	for name, c := range map[string]tool.Call{
		"by its name":     {Server: "s", Tool: "tool_0000"},
		"without server":  {Tool: "tool_0000"},
		"a spelling near": {Server: "s", Tool: "tool-0000"},
	} {
		if res := g.Call(t.Context(), c); res.Kind != tool.Denied && res.Kind != tool.NotFound {
			t.Errorf("%s: %q %s", name, res.Kind, res.Text())
		}
	}
	for _, res := range g.CallBatch(t.Context(), []tool.Call{{Server: "s", Tool: "tool_0000"}}) {
		if res.Kind != tool.Denied || !strings.Contains(res.Text(), "is new since the definitions") {
			t.Errorf("%q %s", res.Kind, res.Text())
		}
	}
	ask(t, g, "s", "echo", `{}`)

	r, err := g.Definitions().Compare(t.Context(), nil, nil)
	if err != nil || r.OK || len(r.Servers[0].Tools) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	if changed, err := g.Definitions().Accept(r); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if !slices.Contains(g.Files(), filepath.Join(filepath.Dir(config), "tenon.lock")) {
		t.Error("nobody watches the file")
	}
	if done, err := g.Reload(t.Context()); err != nil || !done.Changed {
		t.Fatal(done, err)
	}
	for way, tools := range offered(t, g) {
		if !slices.Contains(tools, "tool_0000") {
			t.Errorf("%s: %q", way, tools)
		}
	}
	if done, err := g.Reload(t.Context()); err != nil || done.Changed {
		t.Error("nothing has changed: ", done, err)
	}
}

// TestPinnedMemory: a list that is remembered from the run before is held back like
// any other one.
func TestPinnedMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flag := filepath.Join(dir, "hang")
	config := write(t, "version: 1\nservers:\n"+hanging(t, "s", flag, upstreamtest.Script{Tools: 2}, ", start_timeout: 60s")+"policy: {definitions: pin}\n")
	accept(t, config)
	options := tenon.Options{Config: config, Env: []string{"XDG_CACHE_HOME=" + dir}, Start: true}
	first := open(t, options)
	offered(t, first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(filepath.Dir(config), "tenon.lock")
	lock, err := definitions.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	s := *lock.Server("s")
	s.Tools = slices.DeleteFunc(slices.Clone(s.Tools), func(d definitions.Tool) bool { return d.Name == "tool_0001" })
	lock.Accept(&s)
	if err := lock.Write(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := open(t, options)
	for way, tools := range offered(t, second) {
		if !slices.Contains(tools, "tool_0000") || slices.Contains(tools, "tool_0001") {
			t.Errorf("%s: %q", way, tools)
		}
	}
	if res := second.Call(t.Context(), tool.Call{Server: "s", Tool: "tool_0001"}); res.Kind != tool.Denied {
		t.Errorf("%q %s", res.Kind, res.Text())
	}
}

// TestLockOfRealServers: what real servers say is the same each time, and a tool that
// is not as it was accepted is found.
func TestLockOfRealServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := fmt.Sprintf("version: 1\nservers:\n  everything: {command: %q, args: [stdio]}\n  files: {command: %q, args: [%q]}\n  memory: {command: %q, env: {MEMORY_FILE_PATH: %q}}\n",
		testenv.NPM(t, "mcp-server-everything"), testenv.NPM(t, "mcp-server-filesystem"), dir,
		testenv.NPM(t, "mcp-server-memory"), filepath.Join(dir, "memory.jsonl"))
	config := write(t, text)
	accept(t, config)
	g := open(t, tenon.Options{Config: config})
	r, err := g.Definitions().Compare(t.Context(), nil, nil)
	if err != nil || !r.OK {
		t.Fatalf("%+v %v", r, err)
	}
	for _, s := range r.Servers {
		if s.State != "equal" || s.Count < 5 {
			t.Errorf("%+v", s)
		}
		for _, f := range s.Findings {
			if f.Serious() {
				t.Errorf("%+v", f)
			}
		}
	}
	path := filepath.Join(filepath.Dir(config), "tenon.lock")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Somebody else's server in the place of one, with the same tools but for a word.
	lock, err := definitions.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	s := *lock.Server("files")
	s.Source.Reported = "secure-filesystem-server 0.0.1"
	s.Tools = slices.Clone(s.Tools)
	d, err := definitions.New([]byte(`{"name":"read_file","description":"Reads a file."}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Tools[slices.IndexFunc(s.Tools, func(d definitions.Tool) bool { return d.Name == "read_file" })] = d
	lock.Accept(&s)
	if err := lock.Write(path); err != nil {
		t.Fatal(err)
	}
	r, err = g.Definitions().Compare(t.Context(), []string{"files"}, nil)
	if err != nil || r.OK || len(r.Servers) != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	got := r.Servers[0]
	if got.State != "changed" || len(got.Source) != 1 || got.Source[0].Place != "/reported" || len(got.Tools) != 1 || got.Tools[0].Name != "read_file" {
		t.Errorf("%+v", got)
	}
}

// TestBuiltInPoolHasNoLock: there is no file to put one beside.
func TestBuiltInPoolHasNoLock(t *testing.T) {
	g := open(t, tenon.Options{})
	if _, err := g.Definitions().Compare(t.Context(), nil, nil); tool.KindOf(err) != tool.Invalid {
		t.Error(err)
	}
}

// TestConcernsAreVisible: what is told of a server's definitions hides nothing itself, and
// is one line.
func TestConcernsAreVisible(t *testing.T) {
	t.Parallel()
	odd := `{"name":"odd","inputSchema":{"type":"object","properties":{"\u001b]0;x\u0007\u202e\u200b\nwarning: all is well":{"type":"string","description":"\u001b[31m"}}}}`
	for _, mode := range []string{"report", "pin"} {
		g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{Extra: []string{odd}}, "")+"policy: {definitions: "+mode+"}\n"), Start: true})
		offered(t, g)
		concerns := strings.Join(g.Status()[0].Concerns, "|")
		if !strings.Contains(concerns, "odd") || strings.ContainsFunc(concerns, func(r rune) bool { return r < ' ' || r == '\u202e' || r == '\u200b' }) {
			t.Errorf("%s: %q", mode, concerns)
		}
	}
}
