package system

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/tenon-mcp/tenon/internal/typed"
)

const cgroupChars = 2000

// limits are those of the control groups of this process, the tightest on the way
// from its own to the root. Zero is no limit, or not known.
type limits struct {
	Version     int     `json:"version" jsonschema:"1 or 2; 0: there are no control groups"`
	MemoryLimit uint64  `json:"memory_limit_bytes,omitempty" jsonschema:"missing: none"`
	MemoryUsed  uint64  `json:"memory_used_bytes,omitempty" jsonschema:"with the cache of files"`
	MemoryCache uint64  `json:"memory_cache_bytes,omitempty" jsonschema:"of that, what can be given back"`
	CPUCores    float64 `json:"cpu_limit_cores,omitempty" jsonschema:"missing: none"`
	Periods     uint64  `json:"cpu_periods,omitempty" jsonschema:"periods in which the group ran"`
	Throttled   uint64  `json:"cpu_periods_throttled,omitempty" jsonschema:"of these, those in which it was held back"`
	PidsLimit   uint64  `json:"pids_limit,omitempty" jsonschema:"missing: none"`
	Pids        uint64  `json:"pids,omitempty" jsonschema:"processes and threads now"`
	OOMKills    uint64  `json:"oom_kills,omitempty" jsonschema:"processes killed for the limit of memory"`
}

func (l *limits) any() bool { return l.MemoryLimit > 0 || l.CPUCores > 0 || l.PidsLimit > 0 }

func addCgroup(srv *mcp.Server) {
	typed.Add(srv, spec{
		Name: "get_container_limits", Title: "Limits of the container",
		Description: "Returns the limits of the control groups (cgroup v1 and v2) that this program runs in, and how much of them is used: memory, processor (and how often it was held back), number of processes, and processes killed for want of memory. In a container these count, not what the machine has.",
	}, containerLimits)
}

func containerLimits(ctx context.Context, _ noInput) (string, limits, error) {
	l := readLimits(os.DirFS("/"), hostMemory(ctx))
	return limitsText(l), l, nil
}

func hostMemory(ctx context.Context) uint64 {
	m, err := mem.VirtualMemoryWithContext(ctx)
	if err != nil {
		return 0
	}
	return m.Total
}

func limitsText(l limits) string {
	var b strings.Builder
	b.WriteString("## Limits of the container\n\n")
	if l.Version == 0 {
		if runtime.GOOS != "linux" {
			return b.String() + "Only Linux has control groups.\n"
		}
		return b.String() + "No control group of this process can be read.\n"
	}
	fmt.Fprintf(&b, "Control groups version %d.\n\n", l.Version)
	b.WriteString(limitLines(l))
	if !l.any() {
		b.WriteString("\nNothing is limited: what the machine has is what counts.\n")
	}
	return b.String()
}

// limitLines returns a line for each thing that is known.
func limitLines(l limits) string {
	var b strings.Builder
	switch {
	case l.MemoryLimit > 0:
		percent := 100 * float64(l.MemoryUsed) / float64(l.MemoryLimit)
		fmt.Fprintf(&b, "- Memory: %.1f %%, %s of at most %s used (%s of it cache that can be given back)\n", percent, size(l.MemoryUsed), size(l.MemoryLimit), size(l.MemoryCache))
	case l.MemoryUsed > 0:
		fmt.Fprintf(&b, "- Memory: %s used, not limited\n", size(l.MemoryUsed))
	}
	if l.OOMKills > 0 {
		fmt.Fprintf(&b, "- Killed for want of memory: %d times\n", l.OOMKills)
	}
	if l.CPUCores > 0 {
		fmt.Fprintf(&b, "- CPU: at most %.2f cores", l.CPUCores)
		if l.Periods > 0 {
			fmt.Fprintf(&b, ", held back in %d of %d periods (%.1f %%)", l.Throttled, l.Periods, 100*float64(l.Throttled)/float64(l.Periods))
		}
		b.WriteString("\n")
	} else {
		b.WriteString("- CPU: not limited\n")
	}
	if l.PidsLimit > 0 {
		fmt.Fprintf(&b, "- Processes and threads: %d of at most %d\n", l.Pids, l.PidsLimit)
	}
	return b.String()
}

// readLimits reads from a file system that is the machine's root. What is as much
// as the machine has, or more, is no limit.
func readLimits(root fs.FS, memory uint64) limits {
	groups := ownGroups(root)
	mounts := groupMounts(root)
	var l limits
	if m, ok := mounts["memory"]; ok {
		l.Version = 1
		l.memory1(root, m.dirs(groups["memory"]))
	}
	if m, ok := mounts["cpu"]; ok {
		l.Version = 1
		l.cpu1(root, m.dirs(groups["cpu"]))
	}
	if m, ok := mounts["pids"]; ok {
		l.Version = 1
		l.pids(root, m.dirs(groups["pids"]))
	}
	if m, ok := mounts[""]; ok && l.Version == 0 {
		l.Version = 2
		dirs := m.dirs(groups[""])
		l.memory2(root, dirs)
		l.cpu2(root, dirs)
		l.pids(root, dirs)
	}
	if memory > 0 && l.MemoryLimit >= memory {
		l.MemoryLimit = 0
	}
	return l
}

// ownGroups returns the groups of this process by controller; that of version 2
// under the empty name.
func ownGroups(root fs.FS) map[string]string {
	groups := map[string]string{}
	for _, l := range lines(root, "proc/self/cgroup") {
		parts := strings.SplitN(l, ":", 3) // 5:cpu,cpuacct:/docker/0123
		if len(parts) == 3 {
			for c := range strings.SplitSeq(parts[1], ",") {
				groups[c] = parts[2]
			}
		}
	}
	return groups
}

// A groupMount is where a tree of groups is seen, and from which group on.
type groupMount struct{ at, from string }

// dirs returns the directories of a group and of those above it that can be seen,
// the group's own first. In a container the tree may begin at the group itself.
func (m groupMount) dirs(group string) []string {
	rel, ok := strings.CutPrefix(path.Clean("/"+group), m.from)
	if !ok && m.from != "/" {
		rel = ""
	}
	var dirs []string
	for rel = strings.Trim(rel, "/"); len(dirs) < 32; rel = path.Dir(rel) {
		if rel == "" || rel == "." || strings.HasPrefix(rel, "..") {
			break
		}
		dirs = append(dirs, path.Join(m.at, rel))
	}
	return append(dirs, m.at)
}

func groupMounts(root fs.FS) map[string]groupMount {
	mounts := map[string]groupMount{}
	for _, l := range lines(root, "proc/self/mountinfo") {
		before, after, _ := strings.Cut(l, " - ")
		f, rest := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(rest) < 3 {
			continue
		}
		m := groupMount{at: strings.Trim(f[4], "/"), from: f[3]}
		switch rest[0] {
		case "cgroup2":
			if _, have := mounts[""]; !have {
				mounts[""] = m
			}
		case "cgroup":
			for o := range strings.SplitSeq(rest[2], ",") {
				if _, have := mounts[o]; !have && (o == "memory" || o == "cpu" || o == "pids") {
					mounts[o] = m
				}
			}
		}
	}
	return mounts
}

func (l *limits) memory1(root fs.FS, dirs []string) {
	for _, d := range dirs {
		tighten(&l.MemoryLimit, number(root, d+"/memory.limit_in_bytes"))
	}
	own := dirs[0]
	l.MemoryUsed = number(root, own+"/memory.usage_in_bytes")
	l.MemoryCache = counter(root, own+"/memory.stat", "total_inactive_file")
	l.OOMKills = counter(root, own+"/memory.oom_control", "oom_kill")
}

func (l *limits) memory2(root fs.FS, dirs []string) {
	for _, d := range dirs {
		tighten(&l.MemoryLimit, number(root, d+"/memory.max"))
	}
	own := dirs[0]
	l.MemoryUsed = number(root, own+"/memory.current")
	l.MemoryCache = counter(root, own+"/memory.stat", "inactive_file")
	l.OOMKills = counter(root, own+"/memory.events", "oom_kill")
}

func (l *limits) cpu1(root fs.FS, dirs []string) {
	for _, d := range dirs {
		quota, period := number(root, d+"/cpu.cfs_quota_us"), number(root, d+"/cpu.cfs_period_us")
		l.cores(quota, period)
	}
	l.Periods, l.Throttled = counter(root, dirs[0]+"/cpu.stat", "nr_periods"), counter(root, dirs[0]+"/cpu.stat", "nr_throttled")
}

func (l *limits) cpu2(root fs.FS, dirs []string) {
	for _, d := range dirs {
		b, err := fs.ReadFile(root, d+"/cpu.max") // "150000 100000", or "max 100000"
		if f := strings.Fields(string(b)); err == nil && len(f) == 2 {
			quota, errQ := strconv.ParseUint(f[0], 10, 64)
			period, errP := strconv.ParseUint(f[1], 10, 64)
			if errQ == nil && errP == nil {
				l.cores(quota, period)
			}
		}
	}
	l.Periods, l.Throttled = counter(root, dirs[0]+"/cpu.stat", "nr_periods"), counter(root, dirs[0]+"/cpu.stat", "nr_throttled")
}

func (l *limits) cores(quota, period uint64) {
	if quota == 0 || period == 0 {
		return
	}
	if n := float64(quota) / float64(period); l.CPUCores == 0 || n < l.CPUCores {
		l.CPUCores = n
	}
}

func (l *limits) pids(root fs.FS, dirs []string) {
	for _, d := range dirs {
		tighten(&l.PidsLimit, number(root, d+"/pids.max"))
	}
	l.Pids = number(root, dirs[0]+"/pids.current")
}

// tighten takes a limit that is lower than the one that is known.
func tighten(have *uint64, n uint64) {
	const none = 1 << 62 // version 1 writes a number near that for no limit
	if n > 0 && n < none && (*have == 0 || n < *have) {
		*have = n
	}
}

// number reads a file that holds one number; 0 for "max", -1 and what is no number.
func number(root fs.FS, name string) uint64 {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// counter reads a number from a file of lines "name number".
func counter(root fs.FS, name, key string) uint64 {
	for _, l := range lines(root, name) {
		if k, v, ok := strings.Cut(l, " "); ok && k == key {
			n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

func lines(root fs.FS, name string) []string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	var all []string
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		all = append(all, s.Text())
	}
	return all
}
