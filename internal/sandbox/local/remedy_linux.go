package local

import (
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// remedy says what to do where no level could be had. What this machine lacks just now is
// not mended by what it may do.
func remedy(failed []error) string {
	for _, c := range []struct {
		causes []unix.Errno
		what   string
	}{
		{[]unix.Errno{unix.ENOSPC, unix.EDQUOT}, "The disk or its quota is full: free space, or set the option dir (or TMPDIR of the server) to a folder with room"},
		{[]unix.Errno{unix.EROFS}, "The folder for sandboxes cannot be written to: set the option dir (or TMPDIR of the server) to one that can"},
		{[]unix.Errno{unix.EMFILE, unix.ENFILE}, "Too many files are open: raise the limit of open files of the server (ulimit -n), or run fewer sandboxes"},
		{[]unix.Errno{unix.ENOMEM}, "There is not enough memory: free some, or raise the limit of the server"},
	} {
		for _, err := range failed {
			for _, no := range c.causes {
				// Programs inside tell of their errors as texts.
				if errors.Is(err, no) || strings.Contains(err.Error(), no.Error()) {
					return c.what
				}
			}
		}
	}
	for _, err := range failed {
		if p, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(p.Err, unix.EACCES) && !strings.HasPrefix(p.Path, "/proc/") {
			return "The user of the server may not use " + p.Path + ": give them the right to, or set the option dir (or TMPDIR of the server) to a folder of theirs"
		}
	}
	return "Allow user namespaces, or start a kernel of Linux 6.2 or newer with Landlock"
}
