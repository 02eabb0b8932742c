package reading

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// ofKernel reports whether a file is one that the kernel makes up: those of processes
// hold secrets, and others do something when they are read.
func ofKernel(f *os.File) bool {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return true
	}
	kinds := []uint32{unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.EFIVARFS_MAGIC}
	return slices.Contains(kinds, uint32(fs.Type))
}
