package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/local"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == local.Command {
		if err := local.Launch(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 5 && os.Args[1] == "hold" {
		fmt.Fprintln(os.Stderr, hold(os.Args[2], os.Args[3], os.Args[4]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func newBackend(t testing.TB, o local.Options) *local.Backend {
	t.Helper()
	o.Launcher = []string{"/proc/self/exe", local.Command}
	if o.Python == "" {
		o.Python = "/usr/bin/python3"
	}
	o.Path = "/usr/bin:/bin"
	b := local.New(o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

var levels = []string{sandbox.LevelNamespaces, sandbox.LevelLandlock}

func TestConformance(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			sandboxtest.Conformance(t, func(t testing.TB) sandbox.Backend { return newBackend(t, local.Options{Levels: []string{level}}) })
		})
	}
}

// TestEscape runs the attempts as who runs the test, and where that is root as an
// unprivileged user as well.
func TestEscape(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			o := sandboxtest.Options{Fixed: true}
			if level == sandbox.LevelLandlock {
				o = sandboxtest.Options{Shared: true, HomeOf: homeOf}
			}
			o.Watched = os.Geteuid() != 0 // who can make no cgroup here
			sandboxtest.Escape(t, func(t testing.TB) sandbox.Backend { return newBackend(t, local.Options{Levels: []string{level}}) }, o)
		})
	}
}

// TestNetwork has a network where the walls can hold one, and none elsewhere.
func TestNetwork(t *testing.T) {
	sandboxtest.Network(t, func(t testing.TB) sandbox.Backend {
		return newBackend(t, local.Options{Levels: levels[:1]})
	})
	b := newBackend(t, local.Options{Levels: levels[1:]})
	_, err := b.Create(t.Context(), sandbox.Spec{Network: func(context.Context, io.ReadWriteCloser) {}})
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Kind != sandbox.Unavailable || !strings.Contains(e.Text, "landlock") {
		t.Errorf("got %v", err)
	}
}

func homeOf(t testing.TB, x sandbox.Sandbox) string {
	return strings.TrimSpace(sandboxtest.Sh(t, x, "pwd").Stdout)
}

func TestControl(t *testing.T) { sandboxtest.Control(t, "/usr/bin/python3") }
