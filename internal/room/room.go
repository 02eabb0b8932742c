// Package room tells a full disk from other reasons why a file cannot be written.
//
//	if err := os.WriteFile(path, text, 0o600); room.None(err) {
//		return fmt.Errorf("make room in %s: %w", filepath.Dir(path), err)
//	}
package room

import (
	"errors"
	"os"
	"runtime"
	"syscall"
)

// None reports whether an error says that there is no room left on a disk, or none that
// its user may take.
func None(err error) bool {
	const windowsFull = syscall.Errno(112)
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, windowsFull)
}

// Left reports whether so many bytes can still be written in a folder, by writing them to
// a file that is removed again. Where that fails for another reason it is true.
func Left(dir string, n int) bool {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return !None(err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, n))
	return !None(errors.Join(err, f.Close()))
}
