package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { upstreamtest.Main(m) }

// a pool of one, and what it listed.
type one struct {
	*upstream.Server
	mu      sync.Mutex
	tools   []json.RawMessage
	changed chan struct{}
}

func start(t *testing.T, script upstreamtest.Script, o upstream.Options) *one {
	t.Helper()
	o.Command = upstreamtest.Command(t, script)
	return open(t, o)
}

func open(t *testing.T, o upstream.Options) *one {
	t.Helper()
	spawner := proc.New(proc.Options{})
	p := &one{changed: make(chan struct{}, 100)}
	o.Name, o.Spawner = "script", spawner
	o.Listed = func(tools []json.RawMessage) { p.mu.Lock(); p.tools = tools; p.mu.Unlock() }
	o.Changed = func() {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
	var err error
	if p.Server, err = upstream.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(); _ = spawner.Close() })
	return p
}

// await waits for the start to end and returns the status.
func (p *one) await(t *testing.T) tool.ServerStatus {
	t.Helper()
	err := p.Await(t.Context())
	st := p.Status()
	if (err != nil) != (st.State == tool.StateFailed) {
		t.Fatalf("await: %v; status %+v", err, st)
	}
	return st
}

// until waits until ok, after each change of the state.
func (p *one) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for !ok() {
		select {
		case <-p.changed:
		case <-limit:
			t.Fatalf("%s: still not so after a minute; status %+v", what, p.Status())
		}
	}
}

func (p *one) names(t *testing.T) []string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, raw := range p.tools {
		var named struct{ Name string }
		if err := json.Unmarshal(raw, &named); err != nil {
			t.Fatal(err)
		}
		out = append(out, named.Name)
	}
	return out
}

func call(name, args string) upstream.Call {
	return upstream.Call{Params: []byte(`{"name":"` + name + `","arguments":` + args + `}`)}
}

func (p *one) text(t *testing.T, c upstream.Call) string {
	t.Helper()
	raw, err := p.Call(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return (&tool.Result{Raw: raw}).Text()
}

func TestStarts(t *testing.T) {
	for _, c := range []struct {
		name   string
		script upstreamtest.Script
		era    string
		tools  int
	}{
		{"legacy", upstreamtest.Script{}, "legacy", 13},
		{"oldest version", upstreamtest.Script{Version: "2024-11-05"}, "legacy", 13},
		{"a version nobody knows", upstreamtest.Script{Version: "1999-01-01"}, "legacy", 13},
		{"modern", upstreamtest.Script{Modern: true}, "modern", 13},
		{"refuses initialize after server/discover", upstreamtest.Script{Both: true}, "legacy", 13},
		{"dies of server/discover", upstreamtest.Script{DiscoverKill: true}, "legacy", 13},
		{"never answers server/discover", upstreamtest.Script{Mute: []string{"server/discover"}}, "legacy", 13},
		{"prints to standard output", upstreamtest.Script{First: []string{
			"Code Runner MCP Server running on stdio", `{"level":"info","msg":"pino"}`, "",
			`{"jsonrpc":"2.0","method":"log","params":{}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`,
		}}, "legacy", 13},
		{"asks for roots", upstreamtest.Script{Greeted: []string{
			`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`, `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`,
			`{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		}}, "legacy", 13},
		{"two thousand tools", upstreamtest.Script{Tools: 2000}, "legacy", 2013},
		{"pages", upstreamtest.Script{Tools: 100, Page: 7}, "legacy", 113},
		{"endless pages", upstreamtest.Script{EndlessPages: true}, "legacy", 26},
		{"a list of one long line", upstreamtest.Script{Long: 1 << 20}, "legacy", 14},
		{"broken schemas", upstreamtest.Script{Extra: []string{
			`{"name":"none"}`, `{"name":"no_type","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"}}`,
			`{"name":"odd","inputSchema":"a string","annotations":7}`, `{"description":"no name"}`,
		}}, "legacy", 17},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, c.script, upstream.Options{RetryDelay: time.Millisecond, Retries: 1})
			st := p.await(t)
			if st.State != tool.StateReady || st.Era != c.era || st.Tools != c.tools || len(p.tools) != c.tools {
				t.Fatalf("status %+v with %d tools listed, want %s and %d", st, len(p.tools), c.era, c.tools)
			}
			if got := p.text(t, call("echo", `{"n":9007199254740993}`)); got != `{"n":9007199254740993}` {
				t.Errorf("echo %s", got)
			}
		})
	}
}

func TestFailedStarts(t *testing.T) {
	for _, c := range []struct {
		name   string
		script upstreamtest.Script
		path   string
		limit  time.Duration
		want   []string
	}{
		{name: "exits at once", script: upstreamtest.Script{ExitAtOnce: true, Stderr: "API_KEY is not set\n"}, want: []string{"exit status 3", "API_KEY is not set"}},
		{name: "exits on tools/list", script: upstreamtest.Script{ExitOn: "tools/list"}, want: []string{"tools/list", "exit status 3", "told to exit"}},
		{name: "never answers", script: upstreamtest.Script{Mute: []string{"server/discover", "initialize"}, Stderr: "waiting for a browser"}, limit: 700 * time.Millisecond, want: []string{"not ready within 700ms", "waiting for a browser"}},
		{name: "never lists", script: upstreamtest.Script{Mute: []string{"tools/list"}}, limit: 700 * time.Millisecond, want: []string{"not ready within 700ms"}},
		{name: "no such program", path: "/nonexistent/server", want: []string{"/nonexistent/server"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := upstream.Options{StartTimeout: c.limit, RetryDelay: time.Millisecond, Retries: 1}
			var p *one
			var st tool.ServerStatus
			for { // with more time, where a busy machine has not even begun it
				if c.path != "" {
					o.Command = &proc.Command{Path: c.path}
					p = open(t, o)
				} else {
					p = start(t, c.script, o)
				}
				st = p.await(t)
				if st.State != tool.StateFailed || st.NextTry == nil {
					t.Fatalf("status %+v", st)
				}
				if strings.Contains(st.Reason, c.script.Stderr) || o.StartTimeout == 0 || o.StartTimeout > time.Minute {
					break
				}
				o.StartTimeout *= 4
			}
			if c.limit > 0 {
				c.want[0] = "not ready within " + o.StartTimeout.String()
			}
			for _, w := range c.want {
				if !strings.Contains(st.Reason, w) {
					t.Errorf("reason %q lacks %q", st.Reason, w)
				}
			}
			_, err := p.Call(t.Context(), call("echo", "{}"))
			if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.Unavailable || !strings.Contains(e.Text, "tried again in") {
				t.Errorf("call: %#v", err)
			}
		})
	}
}

func TestRetriesOnceByItself(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{ExitOn: "initialize", CountFile: count}, upstream.Options{Retries: 1, RetryDelay: time.Millisecond})
	if st := p.await(t); st.State != tool.StateFailed {
		t.Fatalf("status %+v", st)
	}
	if n := upstreamtest.Starts(t, count); n != 2 {
		t.Errorf("started %d times, want 2", n)
	}
}

// TestKeepTriesAgain: a gateway tries a server that failed again by itself.
func TestKeepTriesAgain(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{ExitOn: "initialize", CountFile: count}, upstream.Options{Keep: true})
	p.await(t)
	p.until(t, "a second start", func() bool { return upstreamtest.Starts(t, count) >= 2 })
}

func TestDeathWhileCalling(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{CountFile: count}, upstream.Options{})
	p.await(t)
	waiting := make(chan error, 1)
	var began sync.WaitGroup
	began.Go(func() {
		_, err := p.Call(context.Background(), call("wait", "{}"))
		waiting <- err
	})
	p.text(t, call("echo", "{}"))
	_, err := p.Call(t.Context(), call("exit", "{}")) // how soon is what TestDeathAtOnce measures
	for _, err := range []error{err, <-waiting} {
		lost, ok := errors.AsType[*upstream.LostError](err)
		if !ok || !strings.Contains(lost.Error(), "exit status 7") || !strings.Contains(lost.Error(), "the exit tool was called") {
			t.Errorf("got %v", err)
		}
	}
	began.Wait()
	// The next use starts it again.
	if got := p.text(t, call("echo", `{"again":1}`)); got != `{"again":1}` {
		t.Errorf("echo %s", got)
	}
	if st := p.Status(); st.Restarts != 1 || upstreamtest.Starts(t, count) != 2 {
		t.Errorf("status %+v", st)
	}
}

func TestKilledWhileIdle(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{})
	p.await(t)
	var pid int
	if _, err := fmt.Sscan(p.text(t, call("pid", "{}")), &pid); err != nil {
		t.Fatal(err)
	}
	victim, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Kill(); err != nil {
		t.Fatal(err)
	}
	p.until(t, "death noticed", func() bool { return p.Status().State == tool.StateFailed })
	if got := p.text(t, call("echo", `{"back":1}`)); got != `{"back":1}` {
		t.Errorf("echo %s", got)
	}
}

func TestCancelReachesTheServer(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{})
	p.await(t)
	cause := errors.New("the deadline of the call")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := p.Call(ctx, call("wait", "{}"))
		done <- err
	})
	p.text(t, call("echo", "{}"))
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
	wg.Wait()
	p.text(t, call("echo", "{}"))
	limit := time.After(time.Minute)
	for !strings.Contains(p.Status().Stderr, "canceled") {
		select {
		case <-limit:
			t.Fatalf("the server was not told: %+v", p.Status())
		default:
			p.text(t, call("echo", "{}"))
		}
	}
}

func TestProgress(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{})
	p.await(t)
	var got []string
	c := call("progress", "{}")
	c.Progress = func(b tool.Bytes) { got = append(got, string(b.Join())) }
	p.text(t, c)
	if len(got) != 3 || !strings.Contains(got[2], `"unknown":{"z":1,"a":2}`) {
		t.Errorf("progress %q", got)
	}
}

func TestListChanged(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{})
	p.await(t)
	p.text(t, call("change", "{}"))
	p.until(t, "the new list", func() bool { return p.Status().Tools == 14 })
	if names := p.names(t); names[len(names)-1] != "tool_0000" {
		t.Errorf("names %q", names)
	}
}

func TestTaskIsolation(t *testing.T) {
	for _, c := range []struct {
		isolation upstream.Isolation
		env       string
	}{{upstream.Shared, ""}, {upstream.PerSession, "task-1"}, {upstream.PerCall, "task-1"}} {
		t.Run(string(c.isolation), func(t *testing.T) {
			p := start(t, upstreamtest.Script{}, upstream.Options{Isolation: c.isolation})
			withTask := func(name, args string) upstream.Call {
				x := call(name, args)
				x.Task, x.Key.Session = "task-1", "task-1"
				return x
			}
			if got := p.text(t, withTask("env", `{"name":"TASK_ID"}`)); got != "TASK_ID="+c.env {
				t.Errorf("%q, want %q", got, c.env)
			}
			if got := p.text(t, withTask("meta", `{}`)); !strings.Contains(got, `"tenon/task":"task-1"`) {
				t.Errorf("_meta %s", got)
			}
			other := call("env", `{"name":"TASK_ID"}`)
			if got := p.text(t, other); got != "TASK_ID=" {
				t.Errorf("a call without a task sees %q", got)
			}
		})
	}
}

func TestPerCallIsFresh(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{Isolation: upstream.PerCall})
	for range 2 {
		if got := p.text(t, call("count", "{}")); got != "1" {
			t.Errorf("count %s", got)
		}
	}
}

func TestIdleTimeout(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{CountFile: count}, upstream.Options{IdleTimeout: 100 * time.Millisecond})
	p.await(t)
	limit := time.After(time.Minute)
	for p.Status().State != tool.StateIdle {
		select {
		case <-limit:
			t.Fatalf("status %+v", p.Status())
		case <-time.After(10 * time.Millisecond):
		}
	}
	p.text(t, call("echo", "{}"))
	if n := upstreamtest.Starts(t, count); n != 2 {
		t.Errorf("started %d times", n)
	}
}

// TestKnownToolsNeedNoProcess is how bundled servers are listed.
func TestKnownToolsNeedNoProcess(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	p := start(t, upstreamtest.Script{CountFile: count}, upstream.Options{Tools: []json.RawMessage{[]byte(`{"name":"echo"}`)}})
	if st := p.await(t); st.State != tool.StateIdle || st.Tools != 1 || len(p.tools) != 1 {
		t.Fatalf("status %+v", st)
	}
	if n := upstreamtest.Starts(t, count); n != 0 {
		t.Fatalf("listing started it %d times", n)
	}
	p.text(t, call("echo", "{}"))
	if st := p.Status(); st.State != tool.StateReady {
		t.Errorf("status %+v", st)
	}
}

func TestDeafServerIsStopped(t *testing.T) {
	p := start(t, upstreamtest.Script{Deaf: true}, upstream.Options{})
	p.await(t)
	began := time.Now()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	if _, err := p.Call(t.Context(), call("echo", "{}")); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a call after Close: %v", err)
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	p := start(t, upstreamtest.Script{}, upstream.Options{MaxMessage: 1 << 20})
	_, err := p.Call(t.Context(), call("no_such", "{}"))
	if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != -32602 {
		t.Errorf("got %v", err)
	}
	_, err = p.Call(t.Context(), call("big", `{"size":2000000}`))
	if _, ok := errors.AsType[*jsonrpc.TooLargeError](err); !ok {
		t.Errorf("got %v", err)
	}
	if got := p.text(t, call("echo", "{}")); got != "{}" {
		t.Errorf("a call after it: %s", got)
	}
}
