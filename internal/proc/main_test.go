package proc_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// The test binary is also the child: roleVar names what it has to be.
const (
	roleVar = "PROC_TEST_ROLE"
	argVar  = "PROC_TEST_ARG"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(roleVar); name != "" {
		role, ok := roles()[name]
		if !ok {
			panic("no role " + name)
		}
		// Not os.Exit, in which the race detector waits a second: GORACE says that it
		// need not, but a confined child cannot read its own environment as it does.
		syscall.Exit(role(os.Getenv(argVar)))
	}
	goleak.VerifyTestMain(m)
}

// command is the test binary in a role.
func command(role, arg string) proc.Command {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return proc.Command{Path: self, Env: roleEnv(role, arg)}
}

func roleEnv(role, arg string) []string {
	return proc.Environ(os.Environ(), map[string]string{roleVar: role, argVar: arg})
}

// newSpawner returns a Spawner that is closed with the test.
func newSpawner(tb testing.TB) *proc.Spawner {
	tb.Helper()
	s := proc.New(proc.Options{})
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

func start(tb testing.TB, s *proc.Spawner, c proc.Command) *proc.Process {
	tb.Helper()
	p, err := s.Start(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// stop stops p and returns how long it took.
func stop(tb testing.TB, p *proc.Process) time.Duration {
	tb.Helper()
	began := time.Now()
	if err := p.Stop(context.Background()); err != nil {
		tb.Fatalf("stop: %v", err)
	}
	return time.Since(began)
}

// pids reads lines "pid NAME N" from r until it has n of them, or "ready" is
// read, and returns the numbers by name.
func pids(tb testing.TB, r *os.File, n int) map[string]int {
	tb.Helper()
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		tb.Fatal(err)
	}
	found := make(map[string]int)
	lines := bufio.NewScanner(r)
	for len(found) < n && lines.Scan() {
		var (
			name string
			pid  int
		)
		if _, err := fmt.Sscanf(lines.Text(), "pid %s %d", &name, &pid); err == nil {
			found[name] = pid
		}
	}
	if len(found) < n {
		tb.Fatalf("only %v of %d processes have told their pid: %v", found, n, lines.Err())
	}
	return found
}

// readLine reads one line from r, without its end.
func readLine(tb testing.TB, r *os.File) string {
	tb.Helper()
	if err := r.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		tb.Fatal(err)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		tb.Fatalf("read a line: %v", err)
	}
	return strings.TrimRight(line, "\r\n")
}

// eventually asks cond until it holds.
func eventually(tb testing.TB, within time.Duration, what string, cond func() bool) {
	tb.Helper()
	limit := time.NewTimer(within)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-limit.C:
			tb.Fatalf("not within %v: %s", within, what)
		}
	}
}
