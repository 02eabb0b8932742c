package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// await returns when a child of ours has ended, or at once where only Wait can wait.
//
// Wait keeps a thread in the kernel for as long as the child lives, and one that has just
// gone there keeps its place among those that run Go code for up to 10 ms. On a machine
// with two processors the child and its guard had both, and nobody heard what came over
// the network. A pidfd is waited for like a connection.
func await(p *os.Process) {
	fd, err := unix.PidfdOpen(p.Pid, unix.PIDFD_NONBLOCK) // nobody else reaps it: the number is its own
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	if conn, err := f.SyscallConn(); err == nil {
		_ = conn.Read(func(fd uintptr) bool { // where it cannot be waited for, Wait does
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			return n > 0 || err != nil && err != unix.EINTR
		})
	}
}
