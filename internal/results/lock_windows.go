package results

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks a file for as long as it is open, and reports whether it could.
func tryLock(f *os.File) bool {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{}) == nil
}

// unlink removes a file that is locked, and lets go of it. Windows removes no
// open file; one that somebody else opens in between stays for the next cleaning.
func unlink(f *os.File) error {
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
