package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A group is the cgroup of one tree, or one in each hierarchy of version 1.
type group struct {
	join   []string // cgroup.procs of each
	dirs   []string
	memory string // where each controller is; empty where it is not used
	pids   string
}

// A hierarchy is where this process is in one tree of cgroups.
type hierarchy struct {
	own string // our own cgroup, as a folder
	v2  bool
}

const (
	groupPrefix = "tenon-"
	removeTries = 20
	removePause = 10 * time.Millisecond
	// cpuPeriod is the time over which the share of the cores is measured, in µs.
	cpuPeriod = 100_000
)

// newGroup makes a cgroup with the limits.
func (s *Spawner) newGroup(l Limits) (*group, error) {
	all, err := hierarchies("/proc/self/cgroup", "/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoGroup, err)
	}
	s.mu.Lock()
	s.serial++
	name := fmt.Sprintf("%s%d-%s-%d", groupPrefix, os.Getpid(), s.pool[:8], s.serial)
	s.mu.Unlock()
	return makeGroup(all, name, l)
}

// makeGroup makes the cgroup below what is ours of each hierarchy that is needed.
func makeGroup(all map[string]hierarchy, name string, l Limits) (*group, error) {
	g := &group{}
	made := make(map[string]bool)
	for _, c := range []struct {
		controller string
		wanted     bool
		set        func(dir string, v2 bool) error
	}{
		{"memory", l.Memory > 0, func(dir string, v2 bool) error { g.memory = dir; return setMemory(dir, v2, l.Memory) }},
		{"cpu", l.CPU > 0, func(dir string, v2 bool) error { return setCPU(dir, v2, l.CPU) }},
		{"pids", l.Processes > 0, func(dir string, _ bool) error {
			g.pids = dir
			return write(dir, "pids.max", strconv.Itoa(l.Processes))
		}},
	} {
		if !c.wanted {
			continue
		}
		base, v2, err := baseOf(all, c.controller)
		if err == nil {
			dir := filepath.Join(base, name)
			if !made[dir] {
				sweep(base)
				if err = os.Mkdir(dir, 0o750); err == nil {
					made[dir] = true
					g.dirs = append(g.dirs, dir)
					g.join = append(g.join, filepath.Join(dir, "cgroup.procs"))
				}
			}
			if err == nil {
				err = c.set(dir, v2)
			}
		}
		if err != nil {
			g.close()
			return nil, fmt.Errorf("%w (%w)", errNoGroup, err)
		}
	}
	return g, nil
}

// baseOf returns the folder below which a cgroup with the controller can be made:
// our own where it hands the controller on, else the one above it, which a
// delegation by systemd covers.
func baseOf(all map[string]hierarchy, controller string) (dir string, v2 bool, err error) {
	if h, ok := all[controller]; ok && !h.v2 {
		return h.own, false, nil
	}
	h, ok := all[""]
	if !ok {
		return "", false, fmt.Errorf("no controller %q", controller)
	}
	for _, dir := range []string{h.own, filepath.Dir(h.own)} {
		if !handsOn(dir, controller) {
			// It may have been left to us to do that. Where there are processes in the
			// folder itself, the kernel refuses it.
			_ = write(dir, "cgroup.subtree_control", "+"+controller)
		}
		if handsOn(dir, controller) && unix.Access(dir, unix.W_OK) == nil {
			return dir, true, nil
		}
	}
	return "", false, fmt.Errorf("the controller %q is not handed on to it", controller)
}

// handsOn reports whether what is below a cgroup of version 2 has the controller.
func handsOn(dir, controller string) bool {
	handed, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	return err == nil && slices.Contains(strings.Fields(string(handed)), controller)
}

// setMemory also takes swap away, which would only make the limit slow.
func setMemory(dir string, v2 bool, limit int64) error {
	n := strconv.FormatInt(limit, 10)
	if v2 {
		_ = write(dir, "memory.swap.max", "0")  // where there is swap
		_ = write(dir, "memory.oom.group", "1") // half a tree is of no use
		return write(dir, "memory.max", n)
	}
	if err := write(dir, "memory.limit_in_bytes", n); err != nil {
		return err
	}
	_ = write(dir, "memory.memsw.limit_in_bytes", n) // where swap is counted
	return nil
}

func setCPU(dir string, v2 bool, cores float64) error {
	quota := strconv.Itoa(int(cores * cpuPeriod))
	if v2 {
		return write(dir, "cpu.max", quota+" "+strconv.Itoa(cpuPeriod))
	}
	if err := write(dir, "cpu.cfs_period_us", strconv.Itoa(cpuPeriod)); err != nil {
		return err
	}
	return write(dir, "cpu.cfs_quota_us", quota)
}

func write(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// sweep removes what a process that was killed has left in base.
func sweep(base string) {
	left, _ := filepath.Glob(filepath.Join(base, groupPrefix+"*")) // the pattern is good
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), groupPrefix), "-")
		n, err := strconv.Atoi(pid)
		if err == nil && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
			_ = os.Remove(dir) // one with processes in it stays
		}
	}
}

// verdict says which limits were met.
func (g *group) verdict(l Limits) string {
	var said []string
	if g.memory != "" && (count(g.memory, "memory.events", "oom_kill") > 0 || count(g.memory, "memory.oom_control", "oom_kill") > 0) {
		said = append(said, fmt.Sprintf("it reached its memory limit of %d MiB", l.Memory>>20))
	}
	if g.pids != "" && count(g.pids, "pids.events", "max") > 0 {
		said = append(said, fmt.Sprintf("it reached its limit of %d processes", l.Processes))
	}
	return strings.Join(said, ", and ")
}

// count reads a line "NAME N" of a file of the kernel's.
func count(dir, file, name string) int {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

// close removes the cgroups. A process that has just ended may still be in one
// for a moment.
func (g *group) close() {
	for _, dir := range g.dirs {
		for range removeTries {
			if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			<-time.After(removePause)
		}
	}
}

// hierarchies returns where this process is, by controller; that of version 2 has
// the empty name.
func hierarchies(self, mounts string) (map[string]hierarchy, error) {
	paths := make(map[string]string) // by controller
	text, err := os.ReadFile(self)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			paths[controller] = parts[2]
		}
	}
	text, err = os.ReadFile(mounts)
	if err != nil {
		return nil, err
	}
	all := make(map[string]hierarchy)
	for line := range strings.Lines(string(text)) {
		front, back, ok := strings.Cut(line, " - ")
		f, b := strings.Fields(front), strings.Fields(back)
		if !ok || len(f) < 5 || len(b) < 3 || b[0] != "cgroup" && b[0] != "cgroup2" {
			continue
		}
		names := strings.Split(b[2], ",")
		if b[0] == "cgroup2" {
			names = []string{""}
		}
		for _, name := range names {
			path, ours := paths[name]
			below, within := strings.CutPrefix(path, strings.TrimSuffix(f[3], "/"))
			if _, double := all[name]; ours && within && !double {
				all[name] = hierarchy{own: filepath.Join(f[4], below), v2: b[0] == "cgroup2"}
			}
		}
	}
	return all, nil
}
