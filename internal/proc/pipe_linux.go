package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is how much a pipe to or from a child holds. Linux gives 64 KiB, of
// which two messages of 32 KiB make each side wait for the other. It costs
// nothing while a pipe is empty.
const pipeSize = 512 << 10

// hungUp waits until nobody can read from a pipe any more, and reports true; or
// false once f is closed.
func hungUp(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return false
	}
	return c.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		return err == nil && n == 1 && fds[0].Revents&unix.POLLERR != 0
	}) == nil
}

// enlarge makes a pipe hold more. Where the system refuses, it stays as it is.
func enlarge(f *os.File) {
	c, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
}
