//go:build unix

package dockerhost

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// whoMay says who may use a socket, and how to become one of them.
func whoMay(path string) string {
	const root = "Whoever may use it is as good as root on that machine"
	s, err := os.Stat(path)
	if err != nil {
		return "its folder is closed to this user. " + root
	}
	st, ok := s.Sys().(*syscall.Stat_t)
	if !ok {
		return root
	}
	gid := strconv.FormatUint(uint64(st.Gid), 10)
	group := gid
	if g, err := user.LookupGroupId(gid); err == nil {
		group = g.Name
	}
	return fmt.Sprintf("it is open to root and to the group %s. Add the user that runs Tenon (uid %d) to it: sudo usermod -aG %s USER, and log in again. %s", group, os.Getuid(), group, root)
}
