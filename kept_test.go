package tenon_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestLimitsReachTheChild: what the configuration says of a process holds for it.
func TestLimitsReachTheChild(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("limits other than that of files exist on Linux alone")
	}
	g := open(t, tenon.Options{Config: write(t, `
version: 1
servers:
  files: {command: sh, args: [-c, "echo limit: $(ulimit -n) >&2"], limits: {files: 77}, retries: 0}
  secret: {command: sh, args: [-c, "read x </proc/self/environ; echo $? >&2; read x <`+write(t, "k")+` || echo refused >&2"], confine: {}, retries: 0}
  missing: {command: sh, confine: {read: [/no/such/folder]}, retries: 0}
  inside: {bundled: time, limits: {memory: 1GiB}}
`)})
	for server, want := range map[string]string{
		"files": "limit: 77", "secret": "refused", "missing": "/no/such/folder", "inside": "inside of this process",
	} {
		res := g.Call(t.Context(), tool.Call{Server: server, Tool: "x"})
		if res.Kind == "" {
			t.Errorf("%s: %s", server, res.Text())
		}
		reason := ""
		for _, st := range g.Status() {
			if st.Name == server {
				reason = st.Reason
			}
		}
		if server == "secret" && strings.Contains(reason, "confine:") {
			continue // this kernel cannot, and says so
		}
		if !strings.Contains(reason, want) {
			t.Errorf("%s failed with %q, want %q", server, reason, want)
		}
	}
}

// TestLostSessionIsTold: in a note, once.
func TestLostSessionIsTold(t *testing.T) {
	t.Parallel()
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+entry(t, "own", upstreamtest.Script{}, ", isolation: session"))})
	call := func(name string) *tool.Result {
		return g.Call(context.WithoutCancel(t.Context()), tool.Call{Server: "own", Tool: name, Session: "mine"})
	}
	if res := call("count"); res.Text() != "1" || len(res.Notes) != 0 {
		t.Fatalf("%s, notes %v", res.Text(), res.Notes)
	}
	if res := call("exit"); res.Kind != tool.OutcomeUnknown || !strings.Contains(res.Text(), "exit status 7") {
		t.Errorf("%s: %s", res.Kind, res.Text())
	}
	res := call("count")
	if res.Text() != "1" || len(res.Notes) != 1 || !strings.Contains(res.Notes[0].Text, "what this session had before at server own is gone, since its process ended (exit status 7)") {
		t.Errorf("%s, notes %v", res.Text(), res.Notes)
	}
	if res := call("count"); res.Text() != "2" || len(res.Notes) != 0 {
		t.Errorf("%s, notes %v", res.Text(), res.Notes)
	}
}
