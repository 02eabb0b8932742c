// Package regular opens files that were found in a folder, and only those: who can
// write there may have put a pipe or a device in their place since, which would hold
// the reader for ever.
//
//	f, err := regular.Open(root, "log/app.log")
package regular

import (
	"errors"
	"io/fs"
	"os"
)

// ErrNot is the error of what is no regular file.
var ErrNot = errors.New("it is no regular file")

// Open opens a regular file below root for reading. It never waits for somebody who
// writes to a pipe.
func Open(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: ErrNot}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
