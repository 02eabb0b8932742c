//go:build unix

package document_test

import (
	"runtime"
	"syscall"
	"time"
)

// childUsage returns how long children that have ended have computed, and how many
// bytes the largest of them had.
func childUsage() (computed time.Duration, resident int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u) != nil {
		return 0, 0
	}
	resident = int64(u.Maxrss)
	if runtime.GOOS == "linux" {
		resident *= 1024
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), resident
}
