//go:build unix

package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// An entry is one running process in a list of all. Zombies are not running.
type entry struct {
	pid, ppid int
	group     int
	// key is shared only by processes of one tree: the session where the system
	// tells it, else the process group.
	key   int
	start uint64 // when it started, in a unit of the system, growing
}

// A tree is a direct child and its descendants, wherever they have gone. It is
// used by one goroutine at a time.
type tree struct {
	root  int // its pid, which is also its session and its group
	start uint64
	mark  string
	// seen is when each process started that was found before, by its pid. What
	// made it a member may have ended since: its parent, say.
	seen map[int]uint64
}

// adopt makes a tree of a process that was just started and is not reaped yet.
func adopt(p *os.Process, mark string) (*tree, error) {
	return &tree{root: p.Pid, start: startOf(p.Pid), mark: mark, seen: make(map[int]uint64)}, nil
}

// id is the session and the group of the direct child.
func (t *tree) id() int { return t.root }

func (t *tree) close() {}

// members returns the processes of the tree that run. Where the system does
// not list its processes, that is the root's group, as one entry.
func (t *tree) members() []entry {
	all, err := processes()
	if err != nil {
		if unix.Kill(-t.root, 0) != nil {
			return nil
		}
		return []entry{{pid: t.root, group: t.root, key: t.root}}
	}
	return t.choose(all, os.Getpid(), hasMark)
}

// choose picks the members of the tree from all that runs. self is our own pid,
// and marked tells whether a process has a mark in its environment.
func (t *tree) choose(all []entry, self int, marked func(pid int, mark string) bool) []entry {
	keys := map[int]bool{t.root: true}
	ours := 0 // our own session: no descendant of the root can be in it
	for _, e := range all {
		switch e.pid {
		case self:
			ours = e.key
		case t.root:
			// A session keeps its number from being given away. Where a younger
			// process has it, nothing of the session was left.
			if t.start != 0 && e.start != t.start {
				delete(keys, t.root)
			}
		}
	}
	var (
		found []entry
		rest  []entry
		pids  = make(map[int]bool)
	)
	join := func(e entry) {
		found = append(found, e)
		pids[e.pid], keys[e.key] = true, true
		t.seen[e.pid] = e.start
	}
	for _, e := range all {
		switch {
		case e.start < t.start || e.key == ours:
		case keys[e.key] || pids[e.ppid] || t.seen[e.pid] == e.start || marked(e.pid, t.mark):
			join(e)
		default:
			rest = append(rest, e)
		}
	}
	// A process may be listed before the one that makes it a member.
	for known := 0; known < len(found); {
		known = len(found)
		var unknown []entry
		for _, e := range rest {
			if keys[e.key] || pids[e.ppid] {
				join(e)
			} else {
				unknown = append(unknown, e)
			}
		}
		rest = unknown
	}
	return found
}

// terminate asks every member to end and returns their pids.
func (t *tree) terminate() []int { return t.signal(unix.SIGTERM) }

// kill kills every member and returns their pids.
func (t *tree) kill() []int { return t.signal(unix.SIGKILL) }

// signal signals the members by group, because that reaches also those that
// were forked since the list was made.
func (t *tree) signal(s syscall.Signal) []int {
	members := t.members()
	pids := make([]int, 0, len(members))
	groups := make(map[int]bool)
	for _, m := range members {
		pids = append(pids, m.pid)
		if !groups[m.group] {
			groups[m.group] = true
			_ = unix.Kill(-m.group, s) // it may have ended meanwhile
		}
	}
	return pids
}
