//go:build unix

package proc

import "golang.org/x/sys/unix"

// TryWrite writes as much of b as fits into the pipe at once, and returns how much
// that is. It never waits. What is wrong with the pipe is for Write to tell.
func (i Input) TryWrite(b []byte) (n int) {
	c, err := i.SyscallConn()
	if err != nil {
		return 0
	}
	_ = c.Write(func(fd uintptr) bool { // closed, or past its deadline
		n, _ = unix.Write(int(fd), b)
		return true // whatever came of it
	})
	return max(n, 0)
}
