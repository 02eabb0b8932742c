package proc

import (
	"bytes"
	"syscall"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// sessionOfItsOwn makes a child the leader of a session: what is in it descends
// from the child, no keyboard signal of our terminal reaches it, and no prompt
// of it the terminal.
func sessionOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// processes lists what runs. The kernel tells sessions as addresses, so groups
// take their place: in a session of its own a tree shares none with others.
func processes() ([]entry, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	all := make([]entry, 0, len(list))
	for i := range list {
		k := &list[i]
		if k.Proc.P_stat == zombie {
			continue
		}
		all = append(all, entry{
			pid:   int(k.Proc.P_pid),
			ppid:  int(k.Eproc.Ppid),
			group: int(k.Eproc.Pgid),
			key:   int(k.Eproc.Pgid),
			start: micros(k.Proc.P_starttime),
		})
	}
	return all, nil
}

// startOf returns when a process started, in microseconds.
func startOf(pid int) uint64 {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return micros(k.Proc.P_starttime)
}

func micros(t unix.Timeval) uint64 { return uint64(t.Sec)*1e6 + uint64(t.Usec) }

// hasMark reports whether a process was started with mark in its environment.
// The kernel shows that of our own user's programs, but for its protected ones.
func hasMark(pid int, mark string) bool {
	args, err := unix.SysctlRaw("kern.procargs2", pid)
	return err == nil && bytes.Contains(args, []byte(mark))
}
