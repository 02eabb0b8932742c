//go:build unix

package proc_test

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// running reports whether a process runs; one that only waits to be reaped does
// not.
func running(tb testing.TB, pid int) bool {
	tb.Helper()
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		return !strings.Contains(string(stat), ") Z ")
	}
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func allGone(tb testing.TB, within time.Duration, family map[string]int) {
	tb.Helper()
	for name, pid := range family {
		eventually(tb, within, "the end of "+name, func() bool { return !running(tb, pid) })
	}
}

// killLater makes sure that a failed test leaves nothing behind.
func killLater(tb testing.TB, family map[string]int) {
	tb.Cleanup(func() {
		for _, pid := range family {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
}

func TestStopEndsTheWholeTree(t *testing.T) {
	for _, role := range []string{"deaf", "stubborn"} {
		t.Run(role, func(t *testing.T) {
			c := command("tree", role)
			c.StdinGrace, c.TermGrace = 10*time.Millisecond, 200*time.Millisecond
			p := start(t, newSpawner(t), c)
			family := pids(t, p.Stdout(), treeSize)
			killLater(t, family)
			stop(t, p)
			allGone(t, 0, family)
		})
	}
}

// A helper that only its parent gives away is found, also when the parent ends
// at the first request and the helper does not.
func TestStopFindsHelpersWithoutEnvironment(t *testing.T) {
	for _, role := range []string{"deaf", "stubborn"} {
		t.Run(role, func(t *testing.T) {
			c := command("bare", role)
			c.StdinGrace, c.TermGrace = -1, 200*time.Millisecond
			p := start(t, newSpawner(t), c)
			family := pids(t, p.Stdout(), 2)
			killLater(t, family)
			stop(t, p)
			allGone(t, 0, family)
		})
	}
}

// Stopping one tree leaves the others alone.
func TestStopTouchesNoOtherTree(t *testing.T) {
	s := newSpawner(t)
	c := command("tree", "deaf")
	c.StdinGrace = -1
	one, two := start(t, s, c), start(t, s, c)
	pids(t, one.Stdout(), treeSize)
	second := pids(t, two.Stdout(), treeSize)
	stop(t, one)
	for name, pid := range second {
		if !running(t, pid) {
			t.Errorf("%s of the other tree is gone", name)
		}
	}
}

// The end of the child is seen although a helper holds its pipes, and the helper
// ends without being stopped.
func TestHelperThatOutlivesTheChild(t *testing.T) {
	for _, role := range []string{"deaf", "stubborn"} {
		t.Run(role, func(t *testing.T) {
			c := command("holder", role)
			c.TermGrace = 100 * time.Millisecond
			p := start(t, newSpawner(t), c)
			select {
			case <-p.Done():
			case <-time.After(time.Minute):
				t.Fatal("the end of the child was not seen")
			}
			if p.Exit() != "exit status 5" {
				t.Errorf("exit: %q", p.Exit())
			}
			if _, err := io.ReadAll(p.Stdout()); err != nil {
				t.Errorf("standard output did not end: %v", err)
			}
			stop(t, p)
		})
	}
}

// A gatewayProcess is a program that uses the package, to be killed.
type gatewayProcess struct {
	*exec.Cmd
	stdin  *os.File
	family map[string]int
}

func startGateway(t *testing.T, arg string) *gatewayProcess {
	t.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = roleEnv("gateway", arg)
	c.Stdin, c.Stdout, c.Stderr = stdin, stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stdin.Close()
	_ = stdout.Close()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = in.Close()
		_ = out.Close()
	})
	g := &gatewayProcess{Cmd: c, stdin: in, family: pids(t, out, gatewaySize)}
	killLater(t, g.family)
	return g
}

// guard returns the pid of the gateway's guard, once it has one other than not.
func (g *gatewayProcess) guard(t *testing.T, not int) (pid int) {
	t.Helper()
	eventually(t, time.Minute, "a guard", func() bool {
		list, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,command=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(list)) {
			fields := strings.Fields(line)
			if len(fields) > 2 && fields[1] == strconv.Itoa(g.Process.Pid) && fields[2] == "sh" && strings.Contains(line, "# tenon guard") {
				pid, _ = strconv.Atoi(fields[0])
				return pid != not
			}
		}
		return false
	})
	return pid
}

func (g *gatewayProcess) signal(t *testing.T, pid int, s syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		t.Fatal(err)
	}
}

// Whatever ends a gateway, nothing of any tree is left.
func TestTreesDieWithTheGateway(t *testing.T) {
	for _, tt := range []struct {
		name string
		arg  string
		end  func(*testing.T, *gatewayProcess)
	}{
		{"killed", "stays", func(t *testing.T, g *gatewayProcess) {
			g.signal(t, g.Process.Pid, syscall.SIGKILL)
		}},
		{"killed with its group", "stays", func(t *testing.T, g *gatewayProcess) {
			g.signal(t, -g.Process.Pid, syscall.SIGKILL)
		}},
		{"terminated", "stays", func(t *testing.T, g *gatewayProcess) {
			g.signal(t, g.Process.Pid, syscall.SIGTERM)
		}},
		{"leaves without a word", "leaves", func(t *testing.T, g *gatewayProcess) {
			if err := g.stdin.Close(); err != nil {
				t.Fatal(err)
			}
		}},
		{"guard was terminated before", "stays", func(t *testing.T, g *gatewayProcess) {
			g.signal(t, g.guard(t, 0), syscall.SIGTERM)
			g.signal(t, g.Process.Pid, syscall.SIGKILL)
		}},
		{"guard was killed before", "stays", func(t *testing.T, g *gatewayProcess) {
			first := g.guard(t, 0)
			g.signal(t, first, syscall.SIGKILL)
			g.guard(t, first)
			g.signal(t, g.Process.Pid, syscall.SIGKILL)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := startGateway(t, tt.arg)
			for name, pid := range g.family {
				if !running(t, pid) {
					t.Fatalf("%s does not run to begin with", name)
				}
			}
			tt.end(t, g)
			allGone(t, time.Minute, g.family)
		})
	}
}
