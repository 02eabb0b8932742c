package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/upstreamtest"
)

// perSession is the entry of a scripted server with a process for each session.
func perSession(t *testing.T) string {
	t.Helper()
	key, value := upstreamtest.Script{}.Env()
	env, err := json.Marshal(map[string]string{key: value, "GORACE": "atexit_sleep_ms=0"})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("  own: {command: %q, env: %s, isolation: session}\n", upstreamtest.Executable(t), env)
}

// ends waits for the end of a process.
func ends(t *testing.T, pid string) {
	t.Helper()
	var n int
	if _, err := fmt.Sscan(pid, &n); err != nil {
		t.Fatalf("no pid: %q", pid)
	}
	p, err := os.FindProcess(n)
	if err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(time.Minute); p.Signal(syscall.Signal(0)) == nil; {
		if time.Now().After(limit) {
			t.Fatal("the session has ended, and its process has not")
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestSessionHasItsProcess: what one client opened only that client sees, who
// lost it is told, and it ends with the client's session.
func TestSessionHasItsProcess(t *testing.T) {
	_, url := front(t, nil, perSession(t))
	first, second := connect(t, url, "2025-11-25", nil), connect(t, url, "2025-11-25", nil)
	call := func(cs *sdk.ClientSession, name string) string {
		t.Helper()
		res, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "own__" + name})
		if err != nil {
			t.Fatal(err)
		}
		return text(res)
	}
	for _, step := range []struct {
		cs   *sdk.ClientSession
		want string
	}{{first, "1"}, {first, "2"}, {second, "1"}, {first, "3"}} {
		if got := call(step.cs, "count"); got != step.want {
			t.Fatalf("counts %s, want %s", got, step.want)
		}
	}
	call(first, "exit")
	if got := call(first, "count"); !strings.HasPrefix(got, "[what this session had before at server own is gone, since its process ended (exit status 7)") || !strings.HasSuffix(got, "\n1") {
		t.Errorf("told %q", got)
	}
	if got := call(first, "count") + call(second, "count"); got != "22" {
		t.Errorf("then they count %s", got)
	}
	pid := call(first, "pid")
	if err := first.Close(); err != nil { // DELETE
		t.Fatal(err)
	}
	ends(t, pid)
	if got := call(second, "count"); got != "3" {
		t.Errorf("the other session counts %s", got)
	}
}

// TestStdioSessionEnds: the end of the client's output is the end of its session.
func TestStdioSessionEnds(t *testing.T) {
	s, _ := front(t, nil, perSession(t))
	in, client := io.Pipe()
	answers, out := io.Pipe()
	var tasks sync.WaitGroup
	tasks.Go(func() {
		if err := s.ServeStdio(t.Context(), in, out); err != nil {
			t.Error(err)
		}
		_ = out.Close()
	})
	said := make(chan string, 100)
	tasks.Go(func() { // until out is closed
		for dec := json.NewDecoder(answers); ; {
			var m struct {
				ID     int
				Result struct{ Content []struct{ Text string } }
			}
			switch {
			case dec.Decode(&m) != nil:
				return
			case m.ID == 0: // a notification
			case len(m.Result.Content) > 0:
				said <- m.Result.Content[0].Text
			default:
				said <- ""
			}
		}
	})
	ask := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(client, line+"\n"); err != nil {
			t.Fatal(err)
		}
		return <-said
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	pid := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"own__pid","arguments":{}}}`)
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	tasks.Wait()
	ends(t, pid)
}
