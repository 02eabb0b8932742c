//go:build unix

package results

import (
	"errors"
	"os"
)

// unlink removes a file that is locked, and lets go of it. In this order, so that
// nobody locks what is about to go.
func unlink(f *os.File) error {
	return errors.Join(os.Remove(f.Name()), f.Close())
}
