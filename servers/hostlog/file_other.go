//go:build !unix

package hostlog

import "io/fs"

const nonblock = 0

func groupOf(fs.FileInfo) string { return "" }
