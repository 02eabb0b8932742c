//go:build unix

package reading

import "syscall"

// nonblock lets a pipe that took the place of a file be opened without a wait.
const nonblock = syscall.O_NONBLOCK
