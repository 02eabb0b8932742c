package cage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Names of our cgroups: the process that has made them, and its start.
const cagePrefix = "tenon-sandbox-"

// A Set is where the cgroups of this process are made: a folder that bounds all of
// them together, in one hierarchy of version 2 or in each of version 1.
type Set struct {
	memory, pids string // the same one for version 2
	v2           bool
	mu           sync.Mutex
	serial       int
}

// New returns a set that may use so much memory together, 0 being no bound; nil where
// no cgroup can be made. It removes what processes that were killed have left.
func New(memory int64) *Set {
	bases, v2 := ownGroups()
	c := &Set{v2: v2}
	name := cagePrefix + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	for controller, into := range map[string]*string{"memory": &c.memory, "pids": &c.pids} {
		base := bases[controller]
		if base == "" {
			c.Close()
			return nil
		}
		sweepCages(base)
		*into = filepath.Join(base, name)
		if err := os.Mkdir(*into, 0o750); err != nil && (!v2 || !errors.Is(err, os.ErrExist)) {
			*into = ""
			c.Close()
			return nil
		}
		if v2 {
			if err := put(*into, "cgroup.subtree_control", "+memory +pids"); err != nil {
				c.Close()
				return nil
			}
		}
	}
	if memory > 0 {
		_ = limitMemory(c.memory, v2, memory) // each has a limit of its own
	}
	return c
}

// ownGroups returns the folders below which we may make cgroups, by controller.
func ownGroups() (map[string]string, bool) {
	bases, ours := map[string]string{}, membership()
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	unified := ""
	for line := range strings.Lines(string(mounts)) {
		front, back, _ := strings.Cut(line, " - ")
		f, k := strings.Fields(front), strings.Fields(back)
		if len(f) < 5 || len(k) < 3 {
			continue
		}
		switch k[0] {
		case "cgroup2":
			unified = joinGroup(f[4], f[3], ours[""])
		case "cgroup":
			for name := range strings.SplitSeq(k[2], ",") {
				if (name == "memory" || name == "pids") && bases[name] == "" {
					bases[name] = joinGroup(f[4], f[3], ours[name])
				}
			}
		}
	}
	if bases["memory"] != "" && bases["pids"] != "" {
		return bases, false
	}
	for _, dir := range []string{unified, filepath.Dir(unified)} {
		if unified == "" || unix.Access(dir, unix.W_OK) != nil {
			continue
		}
		_ = put(dir, "cgroup.subtree_control", "+memory +pids") // it may be on already, or not ours to switch
		on, _ := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		if strings.Contains(string(on), "memory") && strings.Contains(string(on), "pids") {
			return map[string]string{"memory": dir, "pids": dir}, true
		}
	}
	return nil, true
}

// membership returns the cgroup of this process, by controller; that of version 2 has
// no name.
func membership() map[string]string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	ours := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 {
			for name := range strings.SplitSeq(parts[1], ",") {
				ours[name] = parts[2]
			}
		}
	}
	return ours
}

func joinGroup(mount, root, ours string) string {
	below, within := strings.CutPrefix(ours, strings.TrimSuffix(root, "/"))
	if !within {
		return ""
	}
	return filepath.Join(mount, below)
}

func put(dir, name, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func limitMemory(dir string, v2 bool, n int64) error {
	value := strconv.FormatInt(n, 10)
	if v2 {
		_ = put(dir, "memory.swap.max", "0") // where there is swap
		return put(dir, "memory.max", value)
	}
	err := put(dir, "memory.limit_in_bytes", value)
	_ = put(dir, "memory.memsw.limit_in_bytes", value) // where swap is counted
	return err
}

// sweepCages removes what a process that was killed has left.
func sweepCages(base string) {
	left, _ := filepath.Glob(filepath.Join(base, cagePrefix+"*")) // the pattern is good
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cagePrefix), "-")
		n, err := strconv.Atoi(pid)
		if err == nil && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
			removeCage(dir)
		}
	}
}

// removeCage kills what is in a cgroup and in those below it, and removes them.
func removeCage(dir string) {
	below, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs")) // the pattern is good
	for _, procs := range below {
		emptyCage(filepath.Dir(procs))
	}
	emptyCage(dir)
}

// emptyCage ends each process of a cgroup and removes it. One that has just ended may
// still be in it for a moment.
func emptyCage(dir string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 400 {
		err := os.Remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return
		}
		procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for f := range strings.FieldsSeq(string(procs)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 1 && pid != os.Getpid() {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
		<-tick.C
	}
}

// Close removes all of them.
func (c *Set) Close() {
	if c == nil {
		return
	}
	for _, dir := range c.dirs() {
		removeCage(dir)
	}
}

func (c *Set) dirs() []string {
	var all []string
	for _, dir := range []string{c.memory, c.pids} {
		if dir != "" && (len(all) == 0 || all[0] != dir) {
			all = append(all, dir)
		}
	}
	return all
}

// A Cage is the cgroup of one sandbox.
type Cage struct {
	memory, pids string
	v2           bool
}

// Add makes a cgroup with limits.
func (c *Set) Add(memory int64, processes int) (*Cage, error) {
	c.mu.Lock()
	c.serial++
	name := strconv.Itoa(c.serial)
	c.mu.Unlock()
	g := &Cage{memory: filepath.Join(c.memory, name), pids: filepath.Join(c.pids, name), v2: c.v2}
	for _, dir := range c.dirs() {
		if err := os.Mkdir(filepath.Join(dir, name), 0o750); err != nil {
			g.Close()
			return nil, fmt.Errorf("make a cgroup: %w", err)
		}
	}
	err := errors.Join(limitMemory(g.memory, c.v2, memory), put(g.pids, "pids.max", strconv.Itoa(processes)))
	if err != nil {
		g.Close()
		return nil, fmt.Errorf("limit a cgroup: %w", err)
	}
	return g, nil
}

// Join moves a process into the cgroup.
func (g *Cage) Join(pid int) error {
	err := put(g.memory, "cgroup.procs", strconv.Itoa(pid))
	if g.pids != g.memory && err == nil {
		err = put(g.pids, "cgroup.procs", strconv.Itoa(pid))
	}
	return err
}

// Close ends what is in the cgroup, and removes it.
func (g *Cage) Close() {
	if g == nil {
		return
	}
	emptyCage(g.memory)
	emptyCage(g.pids)
}

// Used is the memory that is in use.
func (g *Cage) Used() int64 {
	name := "memory.usage_in_bytes"
	if g.v2 {
		name = "memory.current"
	}
	b, _ := os.ReadFile(filepath.Join(g.memory, name))
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}

// Kills counts the processes that were ended since there was no memory left, and the
// times that there was no room for a process.
func (g *Cage) Kills() (memory, processes int) {
	return max(countOf(g.memory, "memory.events", "oom_kill"), countOf(g.memory, "memory.oom_control", "oom_kill")), countOf(g.pids, "pids.events", "max")
}

func countOf(dir, file, name string) int {
	b, _ := os.ReadFile(filepath.Join(dir, file))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}
