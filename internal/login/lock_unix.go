//go:build unix

package login

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file for as long as it is open, and reports whether it could.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
