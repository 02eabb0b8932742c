package results

import (
	"errors"
	"os"
)

// unlink removes a file that is locked, and lets go of it. Windows removes no
// open file; one that somebody else opens in between stays for the next cleaning.
func unlink(f *os.File) error {
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
