//go:build unix

package proc

// A Listed is one running process in a list of all.
type Listed struct {
	Pid, Parent, Session int
	Start                uint64
	Marked               bool
}

// Members returns the pids of the tree whose root is the process root that
// started at start, of all that runs, as our process self sees it.
func Members(root int, start uint64, self int, all []Listed) []int {
	marked := make(map[int]bool)
	var entries []entry
	for _, l := range all {
		marked[l.Pid] = l.Marked
		entries = append(entries, entry{pid: l.Pid, ppid: l.Parent, group: l.Session, key: l.Session, start: l.Start})
	}
	t := &tree{root: root, start: start, seen: make(map[int]uint64)}
	var pids []int
	for _, e := range t.choose(entries, self, func(pid int, _ string) bool { return marked[pid] }) {
		pids = append(pids, e.pid)
	}
	return pids
}
