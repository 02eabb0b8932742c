//go:build unix

package hostlog

import (
	"io/fs"
	"os/user"
	"strconv"
	"syscall"
)

// groupOf returns the group whose members may read a file, or nothing.
func groupOf(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Perm()&0o040 == 0 || st.Gid == 0 {
		return ""
	}
	g, err := user.LookupGroupId(strconv.FormatUint(uint64(st.Gid), 10))
	if err != nil {
		return ""
	}
	return g.Name
}
