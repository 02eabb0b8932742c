package cli_test

import (
	"context"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/cli"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/tool"
)

// A gateway that starts again is watched again, and what was shown is not shown twice.
func TestWatchOutlivesTheGateway(t *testing.T) {
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
	defer gw.Close()
	serve := func(ln net.Listener, err error) *httptest.Server {
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(rest.New(gw, rest.Options{}))
		_ = srv.Listener.Close()
		srv.Listener = ln
		srv.Start()
		return srv
	}
	srv := serve(testenv.Listen(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	screen := &shown{more: make(chan struct{}, 1)}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		if code := cli.Main(ctx, cli.Options{
			Args: []string{"approvals", "watch", "--gateway", srv.URL}, Env: []string{"TENON_APPROVER_TOKEN=" + token},
			Stdin: strings.NewReader(""), Stdout: screen, Stderr: screen,
		}); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	wg.Go(func() { gw.Call(ctx, tool.Call{Server: "go", Tool: "act", Session: "first"}) })
	screen.wait(t, "session first", 1)
	addr := srv.Listener.Addr().String()
	srv.CloseClientConnections()
	srv.Close()
	screen.wait(t, "trying again", 1)
	srv = serve((&net.ListenConfig{}).Listen(t.Context(), "tcp", addr))
	defer srv.Close()
	defer srv.CloseClientConnections()
	screen.wait(t, "answers again", 1)
	wg.Go(func() { gw.Call(ctx, tool.Call{Server: "go", Tool: "act", Session: "second"}) })
	screen.wait(t, "session second", 1)
	cancel()
	screen.mu.Lock()
	defer screen.mu.Unlock()
	if text := screen.text.String(); strings.Count(text, "session first") != 1 {
		t.Errorf("%s", text)
	}
}
