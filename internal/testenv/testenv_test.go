package testenv_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

func TestRootHoldsTheModule(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(testenv.Root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(mod), "module github.com/tenon-mcp/tenon\n") {
		t.Errorf("go.mod in the root is of another module:\n%s", mod)
	}
}

// Every pinned server starts and has tools, so that a test that fails on one of
// them fails by Tenon's fault.
func TestServersAnswer(t *testing.T) {
	for name, args := range map[string][]string{
		"mcp-server-everything": {"stdio"},
		"mcp-server-filesystem": {t.TempDir()},
		"mcp-server-memory":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), testenv.NPM(t, name), args...)
			cmd.Env = append(os.Environ(), "MEMORY_FILE_PATH="+filepath.Join(t.TempDir(), "memory.jsonl"))
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			list, err := session.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Tools) == 0 {
				t.Error("no tools")
			}
		})
	}
}

func TestMissingServer(t *testing.T) {
	for _, test := range []struct {
		name, ci, want string
	}{
		{"a person sees a skip", "", "skip"},
		{"in CI it is a failure", "true", "fatal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("CI", test.ci)
			t.Setenv("TENON_TEST_NPM", t.TempDir())
			r := record(t, func(tb testing.TB) { testenv.NPM(tb, "mcp-server-everything") })
			if r.outcome != test.want || !strings.Contains(r.reason, "make npm") {
				t.Errorf("got %s %q, want %s with the command that installs it", r.outcome, r.reason, test.want)
			}
		})
	}
}

func TestCorpus(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, corpus, elem, want string
	}{
		{"not named", "", "there.json", "skip"},
		{"named and there", dir, "there.json", ""},
		{"named and not there", dir, "absent.json", "fatal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TENON_TEST_CORPUS", test.corpus)
			r := record(t, func(tb testing.TB) { testenv.Corpus(tb, test.elem) })
			if r.outcome != test.want {
				t.Errorf("got %q (%s), want %q", r.outcome, r.reason, test.want)
			}
		})
	}
}

// A recorder stands for a test: it keeps how it ended in place of ending it.
type recorder struct {
	testing.TB
	outcome, reason string
}

func (r *recorder) Helper()           {}
func (r *recorder) Skip(args ...any)  { r.end("skip", args) }
func (r *recorder) Fatal(args ...any) { r.end("fatal", args) }

func (r *recorder) end(outcome string, args []any) {
	r.outcome, r.reason = outcome, fmt.Sprint(args...)
	panic(r) // stands for runtime.Goexit, which would end the real test
}

// record returns what f did with its test.
func record(t *testing.T, f func(testing.TB)) (r *recorder) {
	r = &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	f(r)
	return r
}

// TestPorts are free, and below those that systems hand out by themselves.
func TestPorts(t *testing.T) {
	port := testenv.Port(t)
	first, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	l, err := testenv.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	again, err := net.Listen("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for _, p := range []int{port, testenv.Port(t), l.Addr().(*net.TCPAddr).Port} {
		if p >= 32_768 {
			t.Errorf("port %d is one that anybody may get", p)
		}
	}
}
