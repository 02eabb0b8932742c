//go:build unix

package secrets

import "io/fs"

// worldReadable reports whether anybody on this machine can read the file.
func worldReadable(info fs.FileInfo) bool { return info.Mode().Perm()&0o004 != 0 }
