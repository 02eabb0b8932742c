//go:build unix

package system

import (
	"io/fs"
	"syscall"
)

// onDisk returns the file system that a file is on, its number and number of
// names there, and the bytes that it takes on the disk: a sparse file takes less
// than its length.
func onDisk(info fs.FileInfo) (device, number, links, used uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, 1, uint64(max(0, info.Size()))
	}
	return uint64(st.Dev), st.Ino, uint64(st.Nlink), uint64(max(0, st.Blocks)) * 512
}
