package flock

import (
	"os"

	"golang.org/x/sys/windows"
)

// Try locks a file for as long as it is open, and reports whether it could.
func Try(f *os.File) bool {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{}) == nil
}
