package gvisor_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/gvisor"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// hold is a program that makes a sandbox whose first process is kept from ending by
// itself, says so, and waits to be killed.
func hold(runsc, dir, memory string) error {
	o := gvisor.Options{Runsc: runsc, Dir: dir, Python: "/usr/bin/python3"}
	b := gvisor.New(o)
	x, err := b.Create(context.Background(), sandbox.Spec{})
	if err != nil {
		return err
	}
	if o, err := x.Command(context.Background(), sandbox.Command{Line: "setsid sleep 600 & echo " + memory + " > file"}); err != nil || o.ExitCode != 0 {
		return fmt.Errorf("%w %v", err, o)
	}
	fmt.Println("ready")
	select {}
}

// using returns the processes that have a folder on their command line, without those
// that have ended.
func using(dir string) map[int]string {
	found := map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		b, _ := os.ReadFile(path)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && bytes.Contains(b, []byte("--root="+dir+"/")) {
			found[pid] = string(b)
		}
	}
	return found
}

// TestDeath kills a program that has a sandbox, while another one has its own. Nothing
// of the first may run on, and its folder goes with the next start; the second works on.
func TestDeath(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sandboxes")
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "hold", testenv.Program(t, "runsc"), dir, "x")
	cmd.Env = append(os.Environ(), "TENON_PLANTED=not-a-real-key-000")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	first := using(dir)
	if len(first) < 3 {
		t.Errorf("these run: %v", first)
	}
	for pid := range first {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || strings.Contains(string(b), "PLANTED") {
			t.Errorf("environment of runsc: %q, %v", b, err)
		}
	}
	second := gvisor.New(gvisor.Options{Runsc: testenv.Program(t, "runsc"), Dir: dir, Python: "/usr/bin/python3", Platform: "ptrace"})
	defer func() { _ = second.Close() }()
	x := sandboxtest.Create(t, second, sandbox.Spec{})
	for pid := range first {
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("another one has ended %d: %v", pid, err)
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	sandboxtest.Until(t, "processes outlive it", func() bool {
		left := 0
		for pid := range using(dir) {
			if first[pid] != "" {
				left++
			}
		}
		return left == 0
	})
	if o := sandboxtest.Sh(t, x, "echo here"); o.Stdout != "here\n" {
		t.Errorf("got %+v", o)
	}
	if runs, _ := filepath.Glob(dir + "/run-*"); len(runs) != 2 {
		t.Errorf("got %v", runs)
	}
	orphan := exec.CommandContext(t.Context(), "/bin/sh", "-c", "read -r word", "runsc", "--root="+stale(t, dir)+"/x/state")
	hold, err := orphan.StdinPipe()
	if err := errors.Join(err, orphan.Start()); err != nil {
		t.Fatal(err)
	}
	third := gvisor.New(gvisor.Options{Runsc: "/bin/false", Dir: dir, Python: "/usr/bin/python3", Platform: "ptrace"})
	defer func() { _ = third.Close() }()
	if _, err := third.Check(t.Context()); err == nil {
		t.Error("false makes sandboxes")
	}
	late := time.AfterFunc(time.Minute, func() { _ = hold.Close() })
	defer late.Stop()
	if err := orphan.Wait(); err == nil || orphan.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("the orphan: %v", err)
	}
	if runs, _ := filepath.Glob(dir + "/run-*"); len(runs) != 2 {
		t.Errorf("got %v", runs)
	}
	if o := sandboxtest.Sh(t, x, "echo here"); o.Stdout != "here\n" {
		t.Errorf("got %+v", o)
	}
}

// stale returns the folder that nobody holds.
func stale(t *testing.T, dir string) string {
	t.Helper()
	runs, _ := filepath.Glob(dir + "/run-*")
	for _, run := range runs {
		f, err := os.OpenFile(filepath.Join(run, "lock"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		_ = f.Close()
		if err == nil {
			return run
		}
	}
	t.Fatal("there is none")
	return ""
}

// TestKilled ends sandboxes in all ways, and wants nothing of them to stay.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sandboxes")
	b := newBackend(t, gvisor.Options{Dir: dir, NoCgroup: true})
	x := sandboxtest.Create(t, b, sandbox.Spec{Memory: 64 << 20, Disk: 1 << 20})
	sandboxtest.Sh(t, x, "setsid sleep 600 & sleep 600 &")
	if err := x.Kill(t.Context()); err != nil || len(using(dir)) > 0 {
		t.Errorf("%v; these stay: %v", err, using(dir))
	}
	if left, _ := filepath.Glob(dir + "/run-*/*/config.json"); len(left) > 0 {
		t.Errorf("folders stay: %v", left)
	}
	x = sandboxtest.Create(t, b, sandbox.Spec{Memory: 64 << 20, Disk: 1 << 20})
	if x.Memory() < 10<<20 {
		t.Errorf("it uses %d bytes", x.Memory())
	}
	o, err := x.Code(t.Context(), sandbox.Cell{Source: "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        held = bytearray(b'x') * (50 << 20)\n        time.sleep(600); os._exit(0)\ntime.sleep(600)", Timeout: 2 * time.Minute})
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Kind != sandbox.Gone || !strings.Contains(e.Text, "64 MiB of memory") {
		t.Errorf("%v, %+v", err, o)
	}
	<-x.Done()
	x = sandboxtest.Create(t, b, sandbox.Spec{})
	if o := sandboxtest.Py(t, x, "held = bytearray(b'x') * (800 << 20)"); o.Error == nil || o.Error.Name != "MemoryError" {
		t.Errorf("got %+v", o)
	}
	for pid := range using(dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	select {
	case <-x.Done():
	case <-time.After(time.Minute):
		t.Fatal("it is not done")
	}
	if _, err := x.Command(t.Context(), sandbox.Command{Line: "true"}); err == nil {
		t.Error("it still answers")
	}
}

// TestUnprivileged runs the tests as nobody, where this is root: the few that show what
// is different then.
func TestUnprivileged(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the suites have run as an unprivileged user already")
	}
	testenv.Program(t, "runsc")
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^(TestDeath|TestKilled|TestEscape)$/^attempts$", "-test.v")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // so that it says where it hangs
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "XDG_CACHE_HOME="+dir, "HOME="+dir)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestEscape/attempts") || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("%v\n%s", err, out)
	}
}

func BenchmarkCreate(b *testing.B) {
	back := newBackend(b, gvisor.Options{})
	for b.Loop() {
		x, err := back.Create(b.Context(), sandbox.Spec{})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = x.Kill(b.Context())
		b.StartTimer()
	}
}

func BenchmarkCode(b *testing.B) {
	x := sandboxtest.Create(b, newBackend(b, gvisor.Options{}), sandbox.Spec{})
	for b.Loop() {
		sandboxtest.Py(b, x, "1+1")
	}
}

func BenchmarkCommand(b *testing.B) {
	x := sandboxtest.Create(b, newBackend(b, gvisor.Options{}), sandbox.Spec{})
	for b.Loop() {
		sandboxtest.Sh(b, x, "true")
	}
}
