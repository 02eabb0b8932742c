package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/local/cage"
)

// glance is how often what no cgroup and no file system bounds is looked at.
const glance = 50 * time.Millisecond

// watch ends the sandbox when its launcher does, and when it uses more than it may
// where nothing else keeps it from that.
func (x *box) watch() {
	tick := time.NewTicker(glance)
	defer tick.Stop()
	if x.cage != nil && x.dir == "" {
		tick.Stop()
	}
	for {
		select {
		case <-x.quit:
			if x.Why() == "" {
				x.later(strings.TrimSuffix("its first process has ended: "+noteSince(limitsMet(x.cage), x.spec, met{}), ": "))
			}
			return
		case <-tick.C:
		}
		over := ""
		if x.cage == nil && sumPSS(x.cmd.Process.Pid) > x.spec.Memory+x.files() {
			over = fmt.Sprintf("it used more than its %d MiB of memory", x.spec.Memory>>20)
		}
		if x.dir != "" && usage(x.dir, x.spec.Disk, inodes) {
			over = fmt.Sprintf("it wrote more than its %d MiB of disk, or more than %d files", x.spec.Disk>>20, inodes)
		}
		if over != "" {
			x.later(over)
			return
		}
	}
}

// later ends the sandbox from one of its own tasks, which the end waits for.
func (x *box) later(why string) { x.b.ends.Go(func() { x.finish(why) }) }

// sumPSS is the memory of all that runs below a process; what they share counts once.
// The launcher itself, which runs no foreign code, does not count.
func sumPSS(pid int) int64 {
	var sum int64
	for _, pid := range descendants(pid) {
		b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		for line := range bytes.Lines(b) {
			if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "Pss:" {
				n, _ := strconv.ParseInt(string(f[1]), 10, 64)
				sum += n << 10
			}
		}
	}
	return sum
}

// threadsOf counts what runs as a user already.
func threadsOf(uid int) int {
	n := 0
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, dir := range all {
		var s unix.Stat_t
		if unix.Stat(dir, &s) == nil && int(s.Uid) == uid {
			tasks, _ := os.ReadDir(dir + "/task")
			n += len(tasks)
		}
	}
	return n
}

// Memory is what the sandbox uses.
func (x *box) Memory() int64 {
	if x.cage != nil {
		return x.cage.Used()
	}
	if x.cmd == nil {
		return 0
	}
	return sumPSS(x.cmd.Process.Pid)
}

// met counts how often limits were met.
type met struct{ memory, processes int }

func limitsMet(c *cage.Cage) met {
	if c == nil {
		return met{}
	}
	var m met
	m.memory, m.processes = c.Kills()
	return m
}

// noteSince says which limits were met since.
func noteSince(now met, spec sandbox.Spec, before met) string {
	var said []string
	if now.memory > before.memory {
		said = append(said, fmt.Sprintf("a process was killed: the sandbox has %d MiB of memory", spec.Memory>>20))
	}
	if now.processes > before.processes {
		said = append(said, fmt.Sprintf("a process was not started: the sandbox has room for %d", spec.Processes))
	}
	return strings.Join(said, "; ")
}

// spring lays traps on this machine and lets the launcher of a sandbox try them from
// inside. It returns what has worked.
func spring(ctx context.Context, x *box) ([]string, error) {
	t := &traps{Word: rand.Text(), PID: os.Getpid()}
	dir, err := os.MkdirTemp("", "tenon-traps-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // traps
	if err := os.Chmod(dir, 0o777); err != nil {
		return nil, err
	}
	t.File, t.Unix, t.Hidden, t.Dirs = filepath.Join(dir, "secret"), filepath.Join(dir, "socket"), "tenon-"+t.Word, []string{dir}
	if err := os.WriteFile(t.File, []byte(t.Word), 0o644); err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	for _, at := range []struct{ network, address string }{{"tcp4", "127.0.0.1:0"}, {"unix", t.Unix}, {"unix", "@" + t.Hidden}} {
		l, err := listen.Listen(ctx, at.network, at.address)
		if err != nil {
			return nil, fmt.Errorf("lay a trap: %w", err)
		}
		defer func() { _ = l.Close() }() // a trap
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			t.TCP = a.Port
		}
	}
	if err := os.Chmod(t.Unix, 0o777); err != nil {
		return nil, err
	}
	h, err := x.ask(ctx, order{Do: "probe", Probe: t})
	if err != nil {
		return nil, fmt.Errorf("self-test: %w", err)
	}
	return h.Leaks, nil
}

var _ sandbox.Sandbox = (*box)(nil)
