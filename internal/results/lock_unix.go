//go:build unix

package results

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file for as long as it is open, and reports whether it could.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// unlink removes a file that is locked, and lets go of it. In this order, so that
// nobody locks what is about to go.
func unlink(f *os.File) error {
	return errors.Join(os.Remove(f.Name()), f.Close())
}
