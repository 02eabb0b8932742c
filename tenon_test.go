package tenon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/servers"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { upstreamtest.Main(m) }

// bundled returns the servers that come with Tenon.
func bundled() []tenon.Bundled {
	var out []tenon.Bundled
	for _, s := range servers.All() {
		out = append(out, tenon.Bundled{Name: s.Name, Summary: s.Summary, Keyless: s.Keyless, New: s.New, Meta: s.Meta, MetaFor: s.MetaFor, AliasOptions: servers.AliasOptions(s.Name), Also: s.Also})
	}
	return out
}

// write puts a configuration into a folder of its own.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// open opens a pool with the bundled servers in process.
func open(t testing.TB, o tenon.Options) *tenon.Gateway {
	t.Helper()
	if o.Bundled == nil {
		o.Bundled = bundled()
	}
	o.Env = append(append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir()), o.Env...)
	g, err := tenon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

// entry returns a server entry of the configuration for a script.
func entry(t testing.TB, name string, s upstreamtest.Script, more string) string {
	t.Helper()
	key, value := s.Env()
	env, err := json.Marshal(map[string]string{key: strings.ReplaceAll(value, "$", "$$"), "GORACE": "atexit_sleep_ms=0"})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("  %s: {command: %q, env: %s%s}\n", name, upstreamtest.Executable(t), env, more)
}

// pool is a configuration with good and bad servers.
func pool(t testing.TB) string {
	return "version: 1\nservers:\n" +
		entry(t, "first", upstreamtest.Script{Tools: 2}, "") +
		entry(t, "hangs", upstreamtest.Script{Mute: []string{"server/discover", "initialize"}}, ", start_timeout: 1s") +
		entry(t, "dies", upstreamtest.Script{ExitAtOnce: true, Stderr: "no key"}, ", retries: 0") +
		entry(t, "noisy", upstreamtest.Script{First: []string{"hello", "{}"}, Tools: 1}, "") +
		"  broken: {command: 7, args: no list}\n" +
		"  absent: {command: /nonexistent/server}\n" +
		"  system: {bundled: system}\n" +
		"blacklist: [[first, exit], [\"*\", \"tool_0001\"]]\n"
}

func TestPoolListsTheGoodBesideTheBad(t *testing.T) {
	t.Parallel()
	g := open(t, tenon.Options{Config: write(t, pool(t))})
	l, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]tool.ServerTools{}
	var order []string
	for _, s := range l.Servers {
		got[s.Name] = s
		order = append(order, s.Name)
	}
	if want := "first hangs dies noisy broken absent system"; strings.Join(order, " ") != want {
		t.Errorf("order %q, want %q", order, want)
	}
	for name, want := range map[string]struct {
		state tool.State
		tools int
		err   string
	}{
		"first":  {tool.StateReady, 13, ""}, // 13 + 2 less the two of the blacklist
		"hangs":  {tool.StateFailed, 0, "not ready within 1s"},
		"dies":   {tool.StateFailed, 0, "exit status 3"},
		"noisy":  {tool.StateReady, 14, ""},
		"broken": {tool.StateFailed, 0, "args wants a list"},
		"absent": {tool.StateFailed, 0, "/nonexistent/server"},
		"system": {tool.StateIdle, 15, ""},
	} {
		s := got[name]
		if s.State != want.state || len(s.Tools) != want.tools || !strings.Contains(s.Error, want.err) || (s.Error == "") != (want.err == "") {
			t.Errorf("%s: %s with %d tools, %q; want %+v", name, s.State, len(s.Tools), s.Error, want)
		}
	}
	for _, x := range got["first"].Tools {
		if x.Name == "exit" || x.Name == "tool_0001" {
			t.Errorf("%s is blacklisted and listed", x.Name)
		}
	}
	if hits, err := g.Find(t.Context(), tenon.FindOptions{Words: "exit"}); err != nil || len(hits) == 0 {
		t.Errorf("search: %v, %v", hits, err)
	} else {
		for _, h := range hits {
			if h.Server == "first" && h.Name == "exit" {
				t.Error("the search finds a blacklisted tool")
			}
		}
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	g := open(t, tenon.Options{Config: write(t, pool(t))})
	for _, c := range []struct {
		name   string
		call   tool.Call
		kind   tool.Kind
		server string
		text   string
		note   string
	}{
		{name: "right", call: tool.Call{Server: "noisy", Tool: "echo", Arguments: []byte(`{"n":9007199254740993}`)}, server: "noisy", text: `{"n":9007199254740993}`},
		{name: "no arguments", call: tool.Call{Server: "noisy", Tool: "echo"}, server: "noisy", text: `{}`},
		{name: "arguments that are no object", call: tool.Call{Server: "noisy", Tool: "echo", Arguments: []byte(`[1]`)}, kind: tool.Invalid, server: "noisy", text: "Send a JSON object"},
		{name: "wrong server, one has it", call: tool.Call{Server: "nowhere", Tool: "get_local_cpu_memory"}, server: "system", text: "CPU", note: `there is no server "nowhere": corrected to "system"`},
		{name: "known server lacks it, one has it", call: tool.Call{Server: "first", Tool: "get_local_cpu_memory"}, server: "system", text: "CPU", note: `server "first" has no tool`},
		{name: "no server", call: tool.Call{Tool: "get_local_cpu_memory"}, server: "system", text: "CPU", note: "no server was named"},
		{name: "wrong server, several have it", call: tool.Call{Server: "nowhere", Tool: "echo"}, kind: tool.NotFound, server: "nowhere", text: "first, noisy"},
		{name: "mixed up", call: tool.Call{Server: "get_local_cpu_memory", Tool: "system"}, kind: tool.NotFound, server: "get_local_cpu_memory", text: "mixed up. The nearest tools are: system/get_local_cpu_memory."},
		{name: "no such tool", call: tool.Call{Server: "system", Tool: "get_local_cpu_memorie"}, kind: tool.NotFound, server: "system", text: "system/get_local_cpu_memory"},
		{name: "no tool named", call: tool.Call{Server: "system"}, kind: tool.Invalid, server: "system", text: "names no tool"},
		{name: "blacklisted", call: tool.Call{Server: "first", Tool: "exit"}, kind: tool.Denied, server: "first", text: "blacklist"},
		{name: "blacklisted by a pattern", call: tool.Call{Server: "first", Tool: "tool_0001"}, kind: tool.Denied, server: "first", text: "blacklist"},
		{name: "failed server", call: tool.Call{Server: "dies", Tool: "echo"}, kind: tool.Unavailable, server: "dies", text: "no key"},
		{name: "broken entry", call: tool.Call{Server: "broken", Tool: "echo"}, kind: tool.Unavailable, server: "broken", text: "this server cannot be used before its operator has put that right"},
		{name: "broken entry, why", call: tool.Call{Server: "broken", Tool: "echo"}, kind: tool.Unavailable, server: "broken", text: "args wants a list"},
		{name: "the tool says no", call: tool.Call{Server: "noisy", Tool: "fail"}, kind: tool.Failed, server: "noisy", text: "it did not work"},
		{name: "the server forgot it", call: tool.Call{Server: "noisy", Tool: "forget"}, kind: tool.NotFound, server: "first", text: "Unknown tool", note: `corrected to server "first"`},
		{name: "the connection is lost", call: tool.Call{Server: "noisy", Tool: "exit"}, kind: tool.OutcomeUnknown, server: "noisy", text: "exit status 7"},
		{name: "and back", call: tool.Call{Server: "noisy", Tool: "echo"}, server: "noisy", text: "{}"},
		{name: "too late", call: tool.Call{Server: "noisy", Tool: "wait", Timeout: 50 * time.Millisecond}, kind: tool.Timeout, server: "noisy", text: "50ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := g.Call(t.Context(), c.call)
			if res.Kind != c.kind || res.Server != c.server || !strings.Contains(res.Text(), c.text) {
				t.Errorf("got %q from %s: %s (%v)", res.Kind, res.Server, res.Text(), res.Err)
			}
			var notes string
			for _, n := range res.Notes {
				notes += n.Text
			}
			if !strings.Contains(notes, c.note) || (c.note == "") != (notes == "") {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			if rec, ok := g.CallRecord(res.ID); !ok || rec.Kind != c.kind || rec.Server != c.server {
				t.Errorf("record %+v", rec)
			}
		})
	}
}

// TestCallStartsOnlyItsServer: a call whose server is configured starts no other.
func TestCallStartsOnlyItsServer(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	cfg := "version: 1\nservers:\n" +
		entry(t, "mine", upstreamtest.Script{}, "") +
		entry(t, "other", upstreamtest.Script{CountFile: count}, "")
	g := open(t, tenon.Options{Config: write(t, cfg)})
	if res := g.Call(t.Context(), tool.Call{Server: "mine", Tool: "echo"}); res.Kind != "" {
		t.Fatal(res.Text())
	}
	if n := upstreamtest.Starts(t, count); n != 0 {
		t.Errorf("the other server was started %d times", n)
	}
}

func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	g := open(t, tenon.Options{Config: write(t, pool(t))})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res := g.Call(ctx, tool.Call{Server: "first", Tool: "echo"}); res.Kind != tool.Canceled {
		t.Errorf("got %q: %s", res.Kind, res.Text())
	}
	if res := g.Call(ctx, tool.Call{Server: "nowhere", Tool: "echo"}); res.Kind != tool.Canceled {
		t.Errorf("got %q: %s", res.Kind, res.Text())
	}
}

func TestResultsAreCut(t *testing.T) {
	t.Parallel()
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+
		entry(t, "s", upstreamtest.Script{}, "")+"tools:\n  s/big: {max_result_chars: 1000}\n")})
	res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "big", Arguments: []byte(`{"size":100000}`)})
	if res.Kind != "" || !res.Truncated || len(res.Notes) != 1 {
		t.Fatalf("%+v", res)
	}
	if text := res.Text(); len(text) > 1200 || !strings.Contains(text, "of 100000 characters") {
		t.Errorf("%d characters, ending in %q", len(text), text[len(text)-100:])
	}
}

func TestFailSilently(t *testing.T) {
	t.Parallel()
	cfg := "version: 1\nfail_silently: false\nservers:\n" +
		entry(t, "good", upstreamtest.Script{}, ", required: true") +
		entry(t, "bad", upstreamtest.Script{ExitAtOnce: true}, ", required: true, retries: 0") +
		entry(t, "optional", upstreamtest.Script{ExitAtOnce: true}, ", retries: 0")
	_, err := tenon.Open(t.Context(), tenon.Options{Config: write(t, cfg), Start: true, Env: os.Environ()})
	if err == nil || !strings.Contains(err.Error(), "required server bad") || strings.Contains(err.Error(), "optional") {
		t.Fatalf("got %v", err)
	}
}

func TestWatch(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{}, ""))})
	events := g.Watch(t.Context())
	g.Call(t.Context(), tool.Call{Server: "s", Tool: "change"})
	limit := time.After(time.Minute)
	for changes := 0; changes < 2; { // the first list, and the changed one
		select {
		case e := <-events:
			if e.Kind == tenon.ToolsChanged {
				changes++
			}
		case <-limit:
			t.Fatalf("only %d changes of the tools", changes)
		}
	}
}

// TestReferenceServers holds the reference servers by every transport.
func TestReferenceServers(t *testing.T) {
	t.Parallel()
	everything := testenv.NPM(t, "mcp-server-everything")
	memory, files := testenv.NPM(t, "mcp-server-memory"), testenv.NPM(t, "mcp-server-filesystem")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("hello from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	http := runEverything(t, everything, "streamableHttp")
	sse := runEverything(t, everything, "sse")
	g := open(t, tenon.Options{Config: write(t, fmt.Sprintf(`version: 1
policy: {block_high_risk: false}
servers:
  stdio: {command: %[1]q}
  http: {url: "http://127.0.0.1:%[2]d/mcp"}
  http-only: {url: "http://127.0.0.1:%[2]d/mcp", transport: streamable-http}
  sse: {url: "http://127.0.0.1:%[3]d/sse"}
  sse-only: {url: "http://127.0.0.1:%[3]d/sse", transport: sse}
  memory: {command: %[4]q, env: {MEMORY_FILE_PATH: %[5]q}}
  files: {command: %[6]q, args: [%[7]q]}
`, everything, http, sse, memory, filepath.Join(dir, "memory.jsonl"), files, dir)), Start: true})
	l, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range l.Servers {
		if s.State != tool.StateReady || len(s.Tools) < 9 {
			t.Errorf("%s is %s with %d tools: %s", s.Name, s.State, len(s.Tools), s.Error)
		}
	}
	transports := map[string]string{}
	for _, st := range g.Status() {
		transports[st.Name] = st.Transport
		if st.Era != "legacy" {
			t.Errorf("%s is of era %q", st.Name, st.Era)
		}
	}
	if transports["http"] != "streamable-http" || transports["sse"] != "sse" || transports["stdio"] != "stdio" {
		t.Errorf("transports %v", transports)
	}
	for _, server := range []string{"stdio", "http", "http-only", "sse", "sse-only"} {
		t.Run(server, func(t *testing.T) {
			res := g.Call(t.Context(), tool.Call{Server: server, Tool: "echo", Arguments: []byte(`{"message":"ünï"}`)})
			if res.Kind != "" || !strings.Contains(res.Text(), "ünï") {
				t.Errorf("echo: %s", res.Text())
			}
			var steps int
			res = g.Call(t.Context(), tool.Call{
				Server: server, Tool: "trigger-long-running-operation", Arguments: []byte(`{"duration":0.4,"steps":4}`),
				Progress: func(json.RawMessage) { steps++ },
			})
			if res.Kind != "" || steps != 4 {
				t.Errorf("long operation: %d steps, %s", steps, res.Text())
			}
			res = g.Call(t.Context(), tool.Call{Server: server, Tool: "get-tiny-image"})
			if content := res.Content(); len(content) < 2 || !strings.Contains(res.Text(), "[image image/png") {
				t.Errorf("image: %s", res.Text())
			}
		})
	}
	if res := g.Call(t.Context(), tool.Call{Server: "files", Tool: "read_text_file", Arguments: []byte(fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "hello.txt")))}); res.Text() != "hello from a file" {
		t.Errorf("file: %s", res.Text())
	}
	if res := g.Call(t.Context(), tool.Call{Server: "memory", Tool: "create_entities", Arguments: []byte(`{"entities":[{"name":"Tenon","entityType":"joint","observations":["holds"]}]}`)}); res.Kind != "" {
		t.Errorf("memory: %s", res.Text())
	}
	if res := g.Call(t.Context(), tool.Call{Server: "memory", Tool: "read_graph"}); !strings.Contains(res.Text(), "holds") {
		t.Errorf("memory: %s", res.Text())
	}
}

// runEverything starts server-everything on a port of its own.
func runEverything(t *testing.T, path, mode string) int {
	t.Helper()
	port := testenv.Port(t)
	cmd := exec.Command(path, mode)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	limit := time.Now().Add(time.Minute)
	for {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err == nil {
			_ = c.Close()
			return port
		}
		if time.Now().After(limit) {
			t.Fatalf("%s %s does not listen: %v", path, mode, err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// goEnv returns a setting of the go command.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestBundledListStaysTheSame: starting a bundled server changes nothing in the list.
func TestBundledListStaysTheSame(t *testing.T) {
	g := open(t, tenon.Options{})
	events := g.Watch(t.Context())
	before, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if res := g.Call(t.Context(), tool.Call{Server: "time", Tool: "get_current_time", Arguments: []byte(`{"timezone":"Europe/Berlin"}`)}); res.Kind != "" {
		t.Fatal(res.Text())
	}
	after, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range before.Servers {
		a, _ := json.Marshal(before.Servers[i].Tools)
		b, _ := json.Marshal(after.Servers[i].Tools)
		if string(a) != string(b) || len(before.Servers[i].Tools) == 0 {
			t.Errorf("the tools of %s changed", before.Servers[i].Name)
		}
	}
	for len(events) > 0 {
		if e := <-events; e.Kind == tenon.ToolsChanged {
			t.Errorf("%+v", e)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	g := open(t, tenon.Options{Config: write(t, pool(t))})
	r := g.Check(t.Context(), false)
	if r.OK() || len(r.Broken) != 1 || len(r.Servers) != 7 {
		t.Errorf("%+v", r)
	}
	r = g.Check(t.Context(), true)
	states := map[string]tool.State{}
	for _, s := range r.Servers {
		states[s.Name] = s.State
	}
	if states["first"] != tool.StateReady || states["system"] != tool.StateReady || states["dies"] != tool.StateFailed {
		t.Errorf("states %v", states)
	}
	if len(r.Undeclared) == 0 || r.Undeclared[0] != "first/echo" {
		t.Errorf("undeclared %v", r.Undeclared)
	}
}

// TestSecretsStayHidden: what a server says as it dies, or on its standard error,
// often has its key in it.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-VALUE-zz9"
	script := func(s upstreamtest.Script) string {
		key, value := s.Env()
		env, _ := json.Marshal(map[string]string{key: value, "GORACE": "atexit_sleep_ms=0"})
		return strings.TrimSuffix(string(env), "}") + `, API_KEY: "${env:KEY}"}`
	}
	cfg := fmt.Sprintf("version: 1\nservers:\n  dies: {command: %[1]q, retries: 0, env: %[2]s}\n  lives: {command: %[1]q, env: %[3]s}\n",
		upstreamtest.Executable(t),
		script(upstreamtest.Script{ExitAtOnce: true, Stderr: "fatal: bad key " + secret + "\n"}),
		script(upstreamtest.Script{Stderr: "starting with key " + secret + "\n"}))
	var log lockedBuffer
	g := open(t, tenon.Options{
		Config: write(t, cfg), Env: []string{"KEY=" + secret},
		Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	shown := []string{
		g.Call(t.Context(), tool.Call{Server: "dies", Tool: "echo"}).Text(),
		g.Call(t.Context(), tool.Call{Server: "lives", Tool: "exit"}).Text(),
	}
	listing, err := g.Tools(t.Context(), tenon.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{listing, g.Status(), g.Check(t.Context(), true), g.Calls(10)} {
		js, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, string(js))
	}
	shown = append(shown, log.String())
	all := strings.Join(shown, "\n")
	if !strings.Contains(all, "fatal: bad key •••") || !strings.Contains(all, "starting with key •••") {
		t.Errorf("the words themselves are lost: %s", all)
	}
	for _, s := range shown {
		if strings.Contains(s, secret) {
			t.Errorf("shown: %s", s)
		}
	}
}

// lockedBuffer is a buffer that goroutines share.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
