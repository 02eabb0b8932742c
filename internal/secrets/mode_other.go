//go:build !unix

package secrets

import "io/fs"

// worldReadable reports false: the mode says nothing here.
func worldReadable(fs.FileInfo) bool { return false }
