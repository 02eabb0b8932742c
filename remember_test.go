package tenon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// hanging returns an entry whose server hangs at its start while the file flag
// exists.
func hanging(t *testing.T, name, flag string, s upstreamtest.Script, more string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the entry is a shell script")
	}
	key, value := s.Env()
	return fmt.Sprintf("  %s: {command: sh, args: [-c, %q], env: {%s: %q, FLAG: %q, SERVER: %q}%s}\n", name,
		`test -e "$FLAG" && exec sleep 600; exec "$SERVER"`, key, value, flag, upstreamtest.Executable(t), more)
}

func names(tools []tool.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

// TestToolsAreRemembered: what a server offered in the run before is listed at
// once, whatever its process does, and it is said that it is remembered.
func TestToolsAreRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flag := filepath.Join(dir, "hang")
	config := write(t, "version: 1\nservers:\n"+hanging(t, "s", flag, upstreamtest.Script{Tools: 2}, ", start_timeout: 60s"))
	run := func() *tenon.Gateway {
		return open(t, tenon.Options{Config: config, Env: []string{"XDG_CACHE_HOME=" + dir}, Start: true})
	}
	list := func(g *tenon.Gateway) tool.ServerTools {
		t.Helper()
		l, err := g.Tools(t.Context(), tenon.ListOptions{})
		if err != nil || len(l.Servers) != 1 {
			t.Fatalf("%+v, %v", l, err)
		}
		return l.Servers[0]
	}

	first := run()
	fresh := list(first)
	if fresh.RememberedAt != nil || len(fresh.Tools) < 3 {
		t.Fatalf("the first run lists %+v", fresh)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	second := run()
	kept := list(second)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the list took %s", took)
	}
	if kept.RememberedAt == nil || kept.State != tool.StateStarting {
		t.Errorf("it is not said that the list is remembered: %+v", kept)
	}
	if !slices.Equal(names(kept.Tools), names(fresh.Tools)) {
		t.Errorf("remembered %v, were %v", names(kept.Tools), names(fresh.Tools))
	}
	offer, err := second.Offer(t.Context(), tenon.Viewer{})
	if err != nil || !slices.Equal(offer.Remembered(), []string{"s"}) {
		t.Errorf("remembered: %v, %v", offer.Remembered(), err)
	}
	if st := second.Status()[0]; st.RememberedAt == nil || st.Tools != len(fresh.Tools) {
		t.Errorf("status %+v", st)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}

	if err := os.Remove(flag); err != nil {
		t.Fatal(err)
	}
	third := run()
	events := third.Watch(t.Context())
	if res := third.Call(t.Context(), tool.Call{Server: "s", Tool: "echo"}); res.Kind != "" {
		t.Fatal(res.Text())
	}
	if now := list(third); now.RememberedAt != nil || now.State != tool.StateReady {
		t.Errorf("after the start: %+v", now)
	}
	for len(events) > 0 {
		if e := <-events; e.Kind == tenon.ToolsChanged {
			t.Error("the same list counts as a change")
		}
	}
}

// TestRememberedLazyServerIsNotStarted: a list does not start what is remembered
// and starts on its first use.
func TestRememberedLazyServerIsNotStarted(t *testing.T) {
	dir := t.TempDir()
	count := filepath.Join(dir, "count")
	config := write(t, "version: 1\nservers:\n"+entry(t, "s", upstreamtest.Script{CountFile: count}, ", start: lazy"))
	for starts := range 2 {
		g := open(t, tenon.Options{Config: config, Env: []string{"XDG_CACHE_HOME=" + dir}, Start: true})
		offer, err := g.Offer(t.Context(), tenon.Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		offered := false
		for name := range offer.All {
			offered = offered || name == "s__echo"
		}
		if !offered {
			t.Fatal("s__echo is not offered")
		}
		if n := upstreamtest.Starts(t, count); n != 1 {
			t.Errorf("run %d: started %d times after the list, want once in the first run", starts, n)
		}
		if starts == 1 {
			if res := g.Call(t.Context(), tool.Call{Server: "s", Tool: "echo"}); res.Kind != "" {
				t.Error(res.Text())
			}
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := upstreamtest.Starts(t, count); n != 2 {
		t.Errorf("started %d times, want once more for the call", n)
	}
}

// TestNothingIsRemembered where the configuration, the entry or the folder says so.
func TestNothingIsRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flag := filepath.Join(dir, "hang")
	for _, c := range []struct{ name, gateway, more, cache string }{
		{"switched off", "gateway: {remember_tools: false}\n", "", dir},
		{"no folder", "", "", filepath.Join(dir, "file", "below")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			config := write(t, "version: 1\n"+c.gateway+"servers:\n"+hanging(t, "s", flag, upstreamtest.Script{}, c.more))
			for range 2 {
				g := open(t, tenon.Options{Config: config, Env: []string{"XDG_CACHE_HOME=" + c.cache}, Start: true})
				if offer, err := g.Offered(tenon.Viewer{}); err != nil || len(offer.Remembered()) > 0 {
					t.Errorf("remembered: %v", offer.Remembered())
				}
				if _, err := g.Offer(t.Context(), tenon.Viewer{}); err != nil {
					t.Error(err)
				}
				if err := g.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
