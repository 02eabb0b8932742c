package proc_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// Without any guard the kernel still ends the direct children.
func TestDirectChildrenDieWithoutGuard(t *testing.T) {
	g := startGateway(t, "stays")
	guard := g.guard(t, 0)
	g.signal(t, g.Process.Pid, syscall.SIGSTOP) // so that it starts no other
	g.signal(t, guard, syscall.SIGKILL)
	eventually(t, time.Minute, "the end of the guard", func() bool { return !running(t, guard) })
	g.signal(t, g.Process.Pid, syscall.SIGKILL)
	allGone(t, time.Minute, map[string]int{
		"root of the tree":  g.family["deaf-root"],
		"root of the shell": g.family["shell-root"],
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestNothingIsLeftOpen(t *testing.T) {
	cycles := 200
	if testing.Short() {
		cycles = 20
	}
	s := proc.New(proc.Options{Rate: 1e6})
	t.Cleanup(func() { _ = s.Close() })
	sh := proc.Command{Path: "sh", Args: []string{"-c", "read x"}, Env: proc.Environ(os.Environ(), nil)}
	stop(t, start(t, s, sh)) // the guard is there from now on
	script := write(t, filepath.Join(t.TempDir(), "script"), "#!/nowhere/python\n", 0o755)
	before := openFiles(t)
	for range cycles {
		stop(t, start(t, s, sh))
		if _, err := s.Start(t.Context(), proc.Command{Path: "/dev/null/nothing"}); err == nil {
			t.Fatal("started nothing")
		}
		if _, err := s.Start(t.Context(), proc.Command{Path: script}); err == nil {
			t.Fatal("started a script without its interpreter")
		}
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d files are open, %d before", after, before)
	}
}

// A child gets its three pipes and nothing else that we have open. What we have
// inherited ourselves, any child gets.
func TestChildInheritsNoFile(t *testing.T) {
	own, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	want, err := exec.Command("ls", "/proc/self/fd").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := newSpawner(t)
	start(t, s, command("cat", "")) // with pipes that the next must not get
	p := start(t, s, proc.Command{Path: "ls", Args: []string{"/proc/self/fd"}, Env: proc.Environ(os.Environ(), nil)})
	got, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the child has open: %q, a child of os/exec: %q", got, want)
	}
}
