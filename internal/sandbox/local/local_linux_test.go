package local_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
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
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		_ = flag.Set("test.parallel", "8") // most of the time they wait
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

// alone is held by who must not run beside others of the same user.
var alone sync.RWMutex

// together lets a test run beside others. At the level "landlock" all processes of a
// user count, and only root has a user for each sandbox.
func together(t *testing.T, level string) {
	t.Helper()
	t.Parallel()
	switch {
	case os.Geteuid() == 0:
	case level == sandbox.LevelLandlock:
		alone.Lock()
		t.Cleanup(alone.Unlock)
	default:
		alone.RLock()
		t.Cleanup(alone.RUnlock)
	}
}

var levels = []string{sandbox.LevelNamespaces, sandbox.LevelLandlock}

func TestConformance(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			together(t, level)
			sandboxtest.Conformance(t, func(t testing.TB) sandbox.Backend { return newBackend(t, local.Options{Levels: []string{level}}) }, sandboxtest.Options{})
		})
	}
}

// TestEscape runs the attempts as who runs the test, and where that is root as an
// unprivileged user as well.
func TestEscape(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			together(t, level)
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
	together(t, levels[0])
	sandboxtest.Network(t, func(t testing.TB) sandbox.Backend {
		return newBackend(t, local.Options{Levels: levels[:1]})
	}, sandboxtest.Options{})
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

// TestPortable runs an interpreter that somebody has unpacked, below a folder that has
// another content in a sandbox.
func TestPortable(t *testing.T) {
	python := sandboxtest.Portable(t)
	for _, level := range levels {
		sandboxtest.Unpacked(t, newBackend(t, local.Options{Levels: []string{level}, Python: python}), python)
	}
}
