package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/cli"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// A shown is what a terminal shows, and can be waited for.
type shown struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (s *shown) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.text.Write(p)
}

// wait waits until a text was shown so many times.
func (s *shown) wait(t *testing.T, text string, n int) {
	t.Helper()
	for {
		s.mu.Lock()
		all := s.text.String()
		s.mu.Unlock()
		if strings.Count(all, text) >= n {
			return
		}
		select {
		case <-s.more:
		case <-time.After(time.Minute):
			t.Fatalf("%q is not shown %d times:\n%s", text, n, all)
		}
	}
}

// A person at a terminal decides what watch shows.
func TestWatchOnATerminal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	if err := os.WriteFile(path, []byte("version: 1\npolicy: {mode: ask_destructive}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const token = "not-a-real-token-000"
	o := tenon.Options{Config: path, Env: []string{"TENON_APPROVER_TOKEN=" + token}}
	tenon.AddTool(&o, tenon.Function{Name: "act"}, func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	gw, err := tenon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(rest.New(gw, rest.Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	keys, typed := io.Pipe()
	screen := &shown{more: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	wg.Go(func() {
		code := cli.Main(ctx, cli.Options{
			Args: []string{"approvals", "watch", "--gateway", srv.URL}, Env: []string{"TENON_APPROVER_TOKEN=" + token},
			Stdin: keys, Stdout: screen, Stderr: screen, Width: 100, Watched: true,
		})
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = typed.Close()
		wg.Wait()
		srv.Close()
		if err := gw.Close(); err != nil {
			t.Error(err)
		}
	})
	act := func(session string) <-chan *tool.Result {
		out := make(chan *tool.Result, 1)
		wg.Go(func() {
			out <- gw.Call(t.Context(), tool.Call{Server: "go", Tool: "act", Session: session, Caller: tool.Caller{Name: "a\u3164\nb"}, Arguments: json.RawMessage(`{}`)})
		})
		return out
	}
	for i, c := range []struct {
		session, line string
		kind          tool.Kind
	}{{"", "y", ""}, {"s", "what\nn", tool.Denied}, {"s", "s", ""}} {
		got := act(c.session)
		screen.wait(t, "Let it run?", i+1)
		if _, err := io.WriteString(typed, c.line+"\n"); err != nil {
			t.Fatal(err)
		}
		if res := <-got; res.Kind != c.kind {
			t.Errorf("%q: %s %s", c.line, res.Kind, res.Text())
		}
	}
	if res := <-act("s"); res.Kind != "" { // for the session
		t.Error(res.Text())
	}
	screen.wait(t, "go/act: denied by approver", 1)
	screen.wait(t, "y, s, n or nothing", 1)
	screen.wait(t, `who          a\u3164\u000ab`, 3)

	// What is left to somebody else is asked no more, and the next one is.
	first, second := act("t"), act("u")
	screen.wait(t, "Let it run?", 4)
	if _, err := io.WriteString(typed, "\n"); err != nil {
		t.Fatal(err)
	}
	screen.wait(t, "Let it run?", 5)
	if _, err := io.WriteString(typed, "y\n"); err != nil {
		t.Fatal(err)
	}
	select { // whichever came second
	case <-first:
		first = second
	case <-second:
	}
	all, err := gw.Approvals().Pending(t.Context(), 10)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d wait, %v", len(all), err)
	}
	if _, err := gw.Approvals().Decide(t.Context(), all[0].ID, tool.Verdict{By: "x", Why: "no\ngo/act: approved"}); err != nil {
		t.Error(err)
	}
	<-first
	screen.wait(t, "go/act: denied by x: no\n  go/act: approved", 1) // no line of its own
}
