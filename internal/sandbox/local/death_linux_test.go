package local_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/local"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// hold is a program that makes a sandbox in which processes run, detached ones too,
// says so, and waits to be killed.
func hold(level, dir, mark string) error {
	b := local.New(local.Options{Launcher: []string{"/proc/self/exe", local.Command}, Python: "/usr/bin/python3", Dir: dir, Levels: []string{level}})
	x, err := b.Create(context.Background(), sandbox.Spec{})
	if err != nil {
		return err
	}
	for _, line := range []string{"sleep " + mark + " & setsid sleep " + mark + " & (setsid sh -c 'sleep " + mark + " & sleep " + mark + "' &)", "echo made > file"} {
		if _, err := x.Command(context.Background(), sandbox.Command{Line: line}); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	select {}
}

// TestDeath kills a program that has sandboxes, and wants nothing of them to stay:
// processes at once, the rest at the next start.
func TestDeath(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			together(t, level)
			dir := filepath.Join(open(t), "sandboxes")
			mark := fmt.Sprintf("600.%d", time.Now().UnixNano())
			cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "hold", level, dir, mark)
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err := errors.Join(err, cmd.Start()); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
				t.Fatal(line, err)
			}
			if n := running(mark); n < 4 {
				t.Errorf("%d processes run", n)
			}
			pid := cmd.Process.Pid
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			sandboxtest.Until(t, "processes outlive it", func() bool { return running(mark) == 0 })
			b := newBackend(t, local.Options{Levels: []string{level}, Dir: dir})
			sandboxtest.Create(t, b, sandbox.Spec{})
			if left := cgroups(pid); len(left) > 0 {
				t.Errorf("cgroups stay: %v", left)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "run-*", "*", "file")); len(files) > 0 {
				t.Errorf("files stay: %v", files)
			}
		})
	}
}

// open is a folder that every user may walk through.
func open(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// running counts the processes with a word on their command line.
func running(word string) int {
	n := 0
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		b, _ := os.ReadFile(path)
		if strings.HasPrefix(string(b), "sleep\x00") && strings.Contains(string(b), word) {
			n++
		}
	}
	return n
}

// cgroups finds those that a process has made.
func cgroups(pid int) []string {
	var all []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() && strings.HasPrefix(d.Name(), "tenon-sandbox-"+strconv.Itoa(pid)+"-") {
			all = append(all, path)
		}
		return nil
	})
	return all
}

// TestNothingStays kills a sandbox in good order.
func TestNothingStays(t *testing.T) {
	for _, level := range levels {
		dir := filepath.Join(open(t), "sandboxes")
		b := newBackend(t, local.Options{Levels: []string{level}, Dir: dir})
		x := sandboxtest.Create(t, b, sandbox.Spec{})
		mark := fmt.Sprintf("600.%d", time.Now().UnixNano())
		sandboxtest.Sh(t, x, "mkdir -p a/b; echo x > a/b/c; chmod 0 a/b; setsid sleep "+mark+" & sleep "+mark+" &")
		if running(mark) != 2 {
			t.Errorf("%d processes run", running(mark))
		}
		if err := errors.Join(x.Kill(t.Context()), b.Close()); err != nil {
			t.Error(err)
		}
		if running(mark) > 0 || len(cgroups(os.Getpid())) > 0 {
			t.Errorf("%s: processes %d, cgroups %v", level, running(mark), cgroups(os.Getpid()))
		}
		if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
			t.Errorf("%s: folders %v", level, left)
		}
	}
}

// TestOrphans leaves many processes behind whose parents have gone, and wants none to
// stay when they have ended: where no process namespace hides them, here on the host.
func TestOrphans(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			together(t, level)
			x := sandboxtest.Create(t, newBackend(t, local.Options{Levels: []string{level}}), sandbox.Spec{Processes: 20})
			name := "dead" + strings.ToLower(rand.Text()[:8])
			o := sandboxtest.Sh(t, x, "ln -s /bin/sleep "+name+"; for i in $(seq 60); do (setsid ./"+name+" 0.01 &); sleep 0.01\n"+
				"case $i in *[05]) while grep -qs '("+name+")' /proc/[0-9]*/stat; do sleep 0.01; done;; esac; done; sleep 0.1; echo end") // a busy machine ends them late
			if o.Stdout != "end\n" || o.ExitCode != 0 || strings.Contains(o.Stderr, "ork") {
				t.Errorf("got %+v", o)
			}
			if n := named(name); n > 0 {
				t.Errorf("%d of them stay", n)
			}
			if o := sandboxtest.Sh(t, x, "for i in 1 2 3 4 5 6 7 8; do sleep 0.05 & done; wait; echo end"); o.Stdout != "end\n" {
				t.Errorf("there is no room for others: %+v", o)
			}
		})
	}
}

// named counts processes with a name, dead ones too, until there are none or for a while.
func named(name string) (n int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); <-tick.C {
		n = 0
		all, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, path := range all {
			if b, _ := os.ReadFile(path); strings.Contains(string(b), "("+name+")") {
				n++
			}
		}
		if n == 0 {
			break
		}
	}
	return n
}

// TestLauncherKilled kills the first process of a sandbox from outside.
func TestLauncherKilled(t *testing.T) {
	b := newBackend(t, local.Options{Levels: levels[:1]})
	x := sandboxtest.Create(t, b, sandbox.Spec{})
	children, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
	all, _ := filepath.Glob("/proc/self/task/*/children")
	for _, path := range all {
		more, _ := os.ReadFile(path)
		children = append(append(children, ' '), more...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for f := range strings.FieldsSeq(string(children)) {
		pid, _ := strconv.Atoi(f)
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

// TestWatched bounds memory where no cgroup can be made.
func TestWatched(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			together(t, level)
			watched(t, newBackend(t, local.Options{Levels: []string{level}, NoCgroup: true}))
		})
	}
}

func watched(t *testing.T, b sandbox.Backend) {
	x := sandboxtest.Create(t, b, sandbox.Spec{Memory: 96 << 20, Disk: 8 << 20, Processes: 20})
	o, err := x.Code(t.Context(), sandbox.Cell{Source: "held = bytearray(200 << 20)", Timeout: 20 * time.Second})
	if err != nil || o.Error == nil || o.Error.Name != "MemoryError" {
		t.Errorf("%v, %+v", err, o)
	}
	_, err = x.Code(t.Context(), sandbox.Cell{Source: "import os, time\nfor _ in range(4):\n    if os.fork() == 0:\n        held = bytearray(b'x') * (60 << 20)\n        time.sleep(600); os._exit(0)\ntime.sleep(600)", Timeout: 2 * time.Minute})
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Kind != sandbox.Gone || !strings.Contains(e.Text, "memory") {
		t.Errorf("got %v", err)
	}
	if x := sandboxtest.Create(t, b, sandbox.Spec{Processes: 20}); sandboxtest.Sh(t, x, `for i in $(seq 100); do sleep 5 & done 2>/dev/null; jobs | wc -l`).Stdout == "100\n" {
		t.Error("processes are not bounded")
	}
}

// TestUnprivileged runs the suites as users that are nobody, where this is root: one for
// each level, since at the level "landlock" all processes of a user count.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the suites have run as an unprivileged user already")
	}
	t.Parallel()
	for i, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			dir := open(t)
			if err := os.Chmod(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^(TestEscape|TestConformance|TestDeath|TestWatched)$/^"+level+"$", "-test.v")
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // so that it says where it hangs
			cmd.WaitDelay = 5 * time.Second
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(65534 - i), Gid: 65534}}
			cmd.Env = append(os.Environ(), "TMPDIR="+dir, "XDG_CACHE_HOME="+dir, "HOME="+dir)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for _, name := range []string{"TestEscape/" + level + "/attempts", "TestConformance/" + level + "/the_end", "TestDeath/" + level, "TestWatched/" + level} {
				if !strings.Contains(string(out), "--- PASS: "+name) {
					t.Errorf("%s has not run", name)
				}
			}
		})
	}
}

func BenchmarkCreate(b *testing.B) {
	back := newBackend(b, local.Options{})
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
	x := sandboxtest.Create(b, newBackend(b, local.Options{}), sandbox.Spec{})
	for b.Loop() {
		sandboxtest.Py(b, x, "1+1")
	}
}

func BenchmarkCommand(b *testing.B) {
	x := sandboxtest.Create(b, newBackend(b, local.Options{}), sandbox.Spec{})
	for b.Loop() {
		sandboxtest.Sh(b, x, "true")
	}
}

// TestFifty holds fifty sandboxes at once, each with an interpreter that has worked.
func TestFifty(t *testing.T) {
	testenv.Long(t)
	const bound = 4 << 30
	b := newBackend(t, local.Options{Memory: bound})
	var all [50]sandbox.Sandbox
	var making sync.WaitGroup
	began := time.Now()
	for i := range all {
		all[i] = sandboxtest.Create(t, b, sandbox.Spec{})
	}
	t.Logf("50 sandboxes after %v", time.Since(began))
	for i, x := range all {
		making.Go(func() {
			if o := sandboxtest.Py(t, x, fmt.Sprintf("import json, re, math, statistics\nheld = bytearray(b'x') * (8 << 20)\n%d", i)); o.Results[0].Text != strconv.Itoa(i) {
				t.Errorf("got %+v", o)
			}
		})
	}
	making.Wait()
	var used int64
	for _, x := range all {
		used += x.Memory()
		if sandboxtest.Sh(t, x, "echo here").Stdout != "here\n" {
			t.Error("one is gone")
		}
	}
	t.Logf("all have worked after %v; they use %d MiB together", time.Since(began), used>>20)
	if used > bound {
		t.Errorf("they use %d MiB", used>>20)
	}
}
