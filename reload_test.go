package tenon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// reloadable opens a gateway and returns the function that writes its
// configuration anew. Servers are ready when it returns.
func reloadable(t *testing.T, config string) (*tenon.Gateway, func(config string)) {
	t.Helper()
	path := write(t, config)
	g := open(t, tenon.Options{Config: path, Start: true})
	if _, err := g.Tools(t.Context(), tenon.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	return g, func(config string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func ask(t *testing.T, g *tenon.Gateway, server, name, args string) string {
	t.Helper()
	res := g.Call(t.Context(), tool.Call{Server: server, Tool: name, Arguments: []byte(args)})
	if res.Kind != "" {
		t.Fatalf("%s/%s: %s", server, name, res.Text())
	}
	return res.Text()
}

// changes returns how many times the watcher was told that the tools changed.
func changes(events <-chan tenon.Event) int {
	n := 0
	for len(events) > 0 {
		if e := <-events; e.Kind == tenon.ToolsChanged {
			n++
		}
	}
	return n
}

func TestReload(t *testing.T) {
	stays := entry(t, "stays", upstreamtest.Script{}, "")
	leaves := entry(t, "leaves", upstreamtest.Script{}, "")
	comes := entry(t, "comes", upstreamtest.Script{Tools: 1}, "")
	g, rewrite := reloadable(t, "version: 1\nservers:\n"+stays+leaves)
	events := g.Watch(t.Context())
	pid := ask(t, g, "stays", "pid", "{}")

	rewrite("version: 1\nservers:\n" + stays + leaves + "# a comment is no change\n")
	if r, err := g.Reload(t.Context()); err != nil || r.Changed {
		t.Errorf("got %+v, %v", r, err)
	}

	rewrite("version: 1\nservers:\n" + comes + stays)
	r, err := g.Reload(t.Context())
	if err != nil || !r.Changed || !slices.Equal(r.Added, []string{"comes"}) || !slices.Equal(r.Removed, []string{"leaves"}) || len(r.Replaced)+len(r.Later) > 0 {
		t.Fatalf("got %+v, %v", r, err)
	}
	if n := changes(events); n != 1 {
		t.Errorf("the tools changed %d times, want once", n)
	}
	if now := ask(t, g, "stays", "pid", "{}"); now != pid {
		t.Errorf("the server with the same entry is process %s, was %s", now, pid)
	}
	ask(t, g, "comes", "echo", "{}")
	if res := g.Call(t.Context(), tool.Call{Server: "leaves", Tool: "nothing"}); res.Kind != tool.NotFound {
		t.Errorf("got %q: %s", res.Kind, res.Text())
	}
	if st := g.Status(); len(st) != 2 || st[0].Name != "comes" {
		t.Errorf("status %+v", st)
	}

	// What is declared of the tools of a server that stays is new for its next call.
	rewrite("version: 1\nservers:\n" + comes + stays + "tools:\n  stays/big: {max_result_chars: 100}\ngateway: {listen: \"127.0.0.1:9\"}\n")
	if r, err := g.Reload(t.Context()); err != nil || !slices.Equal(r.Later, []string{"gateway.listen"}) {
		t.Errorf("got %+v, %v", r, err)
	}
	if n := changes(events); n != 0 {
		t.Errorf("the tools changed %d times, and the list did not", n)
	}
	res := g.Call(t.Context(), tool.Call{Server: "stays", Tool: "big", Arguments: []byte(`{"size":4096}`)})
	if !res.Truncated {
		t.Errorf("%d characters, want 100", len(res.Text()))
	}
	if now := ask(t, g, "stays", "pid", "{}"); now != pid {
		t.Errorf("the server with the same entry is process %s, was %s", now, pid)
	}
}

// TestReloadIsAllOrNothing: what is wrong leaves everything as it was.
func TestReloadIsAllOrNothing(t *testing.T) {
	t.Parallel()
	good := entry(t, "s", upstreamtest.Script{}, "")
	other := entry(t, "other", upstreamtest.Script{}, "")
	g, rewrite := reloadable(t, "version: 1\nservers:\n"+good)
	pid := ask(t, g, "s", "pid", "{}")
	events := g.Watch(t.Context())
	for _, c := range []struct{ name, config, want string }{
		{"no YAML", "version: 1\nservers: [", ""},
		{"unknown key", "version: 1\nservers:\n" + good + other + "nonsense: 1\n", "nonsense"},
		{"broken entry", "version: 1\nservers:\n" + good + other + "  broken: {comand: x}\n", "comand"},
		{"does not start", "version: 1\nservers:\n" + other + entry(t, "s", upstreamtest.Script{ExitAtOnce: true, Stderr: "no key"}, ", retries: 0"), "no key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rewrite(c.config)
			r, err := g.Reload(t.Context())
			if err == nil || r.Changed || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %+v, %v", r, err)
			}
			if st := g.Status(); len(st) != 1 {
				t.Errorf("%d servers", len(st))
			}
			if now := ask(t, g, "s", "pid", "{}"); now != pid {
				t.Errorf("process %s, was %s", now, pid)
			}
		})
	}
	if n := changes(events); n != 0 {
		t.Errorf("the tools changed %d times", n)
	}
	// A new server that does not start takes nothing away.
	rewrite("version: 1\nservers:\n" + good + entry(t, "new", upstreamtest.Script{ExitAtOnce: true}, ", retries: 0"))
	if r, err := g.Reload(t.Context()); err != nil || !slices.Equal(r.Added, []string{"new"}) {
		t.Errorf("got %+v, %v", r, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	rewrite("version: 1\nservers:\n" + good)
	if _, err := g.Reload(ctx); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// TestCallsEndWhereTheyBegan: a server that is replaced, or taken out, is stopped
// after its last call.
func TestCallsEndWhereTheyBegan(t *testing.T) {
	script := upstreamtest.Script{Extra: []string{upstreamtest.UntilTool}}
	changed := script
	changed.Tools = 1
	flag := filepath.Join(t.TempDir(), "flag")
	g, rewrite := reloadable(t, "version: 1\nservers:\n"+entry(t, "s", script, "")+entry(t, "out", script, ""))
	args := fmt.Sprintf(`{"file":%q}`, flag)
	var wg sync.WaitGroup
	answers := map[string]chan *tool.Result{"s": make(chan *tool.Result, 1), "out": make(chan *tool.Result, 1)}
	pids := map[string]string{}
	for server, answer := range answers {
		pids[server] = ask(t, g, server, "pid", "{}")
		wg.Go(func() {
			answer <- g.Call(t.Context(), tool.Call{Server: server, Tool: "until", Arguments: []byte(args)})
		})
		for !slices.ContainsFunc(g.Status(), func(s tool.ServerStatus) bool { return s.Name == server && s.Running == 1 }) {
			runtime.Gosched()
		}
	}
	rewrite("version: 1\nservers:\n" + entry(t, "s", changed, ""))
	if r, err := g.Reload(t.Context()); err != nil || !slices.Equal(r.Replaced, []string{"s"}) || !slices.Equal(r.Removed, []string{"out"}) {
		t.Fatalf("got %+v, %v", r, err)
	}
	if now := ask(t, g, "s", "pid", "{}"); now == pids["s"] {
		t.Error("the next call came to the server that was replaced")
	}
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for server, answer := range answers {
		if res := <-answer; res.Kind != "" || res.Text() != pids[server] {
			t.Errorf("%s: got %q: %s, want the answer of process %s", server, res.Kind, res.Text(), pids[server])
		}
	}
	wg.Wait()
}

// TestCloseDuringReload: who closes the gateway does not wait for a server that hangs.
func TestCloseDuringReload(t *testing.T) {
	t.Parallel()
	good := entry(t, "s", upstreamtest.Script{}, "")
	g, rewrite := reloadable(t, "version: 1\nservers:\n"+good)
	count := filepath.Join(t.TempDir(), "count")
	rewrite("version: 1\nservers:\n" + good + entry(t, "hangs", upstreamtest.Script{Mute: []string{"server/discover", "initialize"}, CountFile: count}, ", start_timeout: 60s"))
	failed := make(chan error, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		_, err := g.Reload(t.Context())
		failed <- err
	})
	for upstreamtest.Starts(t, count) == 0 {
		runtime.Gosched()
	}
	began := time.Now()
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("closing took %s", took)
	}
	if err := <-failed; tool.KindOf(err) != tool.Unavailable {
		t.Errorf("the reload ended with %v", err)
	}
	if _, err := g.Reload(t.Context()); tool.KindOf(err) != tool.Unavailable {
		t.Errorf("a closed gateway reloads: %v", err)
	}
}

// TestReloadUnderLoad: no call fails for a reload.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	var configs []string
	for i := range 2 {
		configs = append(configs, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{Tools: i}, "")+entry(t, "t", upstreamtest.Script{}, ""))
	}
	g, rewrite := reloadable(t, configs[0])
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, server := range []string{"s", "t"} {
		wg.Go(func() {
			for ctx.Err() == nil {
				if res := g.Call(t.Context(), tool.Call{Server: server, Tool: "echo", Arguments: []byte(`{"a":1}`)}); res.Kind != "" {
					t.Errorf("%s: %s", server, res.Text())
					return
				}
			}
		})
	}
	for i := range 6 {
		rewrite(configs[(i+1)%2])
		if r, err := g.Reload(t.Context()); err != nil || !slices.Equal(r.Replaced, []string{"s"}) {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	stop()
	wg.Wait()
}
