//go:build unix

package flock

import (
	"os"

	"golang.org/x/sys/unix"
)

// Try locks a file for as long as it is open, and reports whether it could.
func Try(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
