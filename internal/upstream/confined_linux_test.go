package upstream_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/upstream"
)

// TestConfinedIsTold: a server that fails for what its confinement keeps from it is
// told to be confined; one that is not confined, or fails for something else, is not.
func TestConfinedIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lib")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	spawner := proc.New(proc.Options{})
	t.Cleanup(func() { _ = spawner.Close() })
	shell := func(script string) *proc.Command {
		return &proc.Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(), Confine: &proc.Confinement{}}
	}
	if p, err := spawner.Start(t.Context(), *shell("exit 0")); err != nil {
		t.Skip(err) // this kernel confines nothing
	} else {
		<-p.Done()
	}
	for name, tt := range map[string]struct {
		command *proc.Command
		told    bool
	}{
		"denied":     {shell("cat " + file + " || exit 126"), true},
		"otherwise":  {shell("echo no luck >&2; exit 1"), false},
		"unconfined": {&proc.Command{Path: "/bin/sh", Args: []string{"-c", "echo Permission denied >&2; exit 1"}, Env: os.Environ()}, false},
	} {
		s, err := upstream.New(upstream.Options{Name: "a", Command: tt.command, Spawner: spawner})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Connect(t.Context())
		if err == nil || strings.Contains(err.Error(), "confine may be why") != tt.told {
			t.Errorf("%s: error is %v; told is to be %t", name, err, tt.told)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
