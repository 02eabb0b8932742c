package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// ErrChanged is the error of a change to a file that somebody else changed since it
// was read.
var ErrChanged = errors.New("was changed by somebody else in the meantime, and left as it is")

// A Change is what a file is to hold in place of what it holds.
type Change struct {
	Path    string
	Before  []byte
	After   []byte
	Existed bool // the file is there
	Gone    bool // it is to be removed

	Mode    fs.FileMode // of a new file
	Values  []Pair      // what is given to servers before or after, of which some may be secret
	private bool        // for its owner alone, whatever it was
	had     bool        // an entry of ours is there already
	roots   []string    // folders that the file must be in; none is any
	hook    func()      // tests: called between the look at the file and the change
}

// Same reports whether there is nothing to do.
func (c Change) Same() bool { return c.Existed != c.Gone && bytes.Equal(c.Before, c.After) }

// maxDiffLine bounds a line of a diff: some files of settings are one line.
const maxDiffLine = 400

// Diff returns the change as a unified diff, with secrets hidden by hide, or
// nothing.
func (c Change) Diff(hide func(string) string) string {
	before, after := []byte(hide(string(c.Before))), []byte(hide(string(c.After)))
	old, now := c.Path, c.Path
	if !c.Existed {
		old = "/dev/null"
	}
	if c.Gone {
		now = "/dev/null"
	}
	text := string(diff.Diff(old, before, now, after))
	_, text, _ = strings.Cut(text, "\n") // a line for other programs
	var b strings.Builder
	for line := range strings.Lines(text) {
		if len(line) > maxDiffLine {
			line = strings.ToValidUTF8(line[:maxDiffLine], "") + "…\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// readFile reads a file whole; one that is not there is empty.
func readFile(path string) (data []byte, existed bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fileError(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, fileError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, false, &Error{Path: path, Text: "is no regular file"}
	}
	data, err = io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, false, fileError(path, err)
	}
	if len(data) > maxBytes {
		return nil, false, &Error{Path: path, Text: fmt.Sprintf("is larger than %d MiB", maxBytes>>20)}
	}
	return data, true, nil
}

// fileError says what the system says, once with the path.
func fileError(path string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// Write makes the change, at once or not at all. The permissions of the file stay,
// and so does a symbolic link. Where the file no longer holds what it held, the
// error wraps ErrChanged.
func (c Change) Write() error {
	path, err := c.target()
	if err != nil {
		return err
	}
	mode := c.Mode
	if mode == 0 {
		mode = 0o600
	}
	if info, err := os.Stat(path); err == nil && !c.private {
		mode = info.Mode().Perm()
	}
	if c.Gone {
		if err := c.unchanged(path); err != nil {
			return err
		}
		return os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return fileError(path, err)
	}
	return c.replace(path, mode)
}

// replace puts a new file in the place of the old one.
func (c Change) replace(path string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tenon-*.tmp")
	if err != nil {
		return fileError(path, err)
	}
	defer os.Remove(f.Name()) // gone where it has taken its place
	_, err = f.Write(c.After)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fileError(path, err)
	}
	if err := c.unchanged(path); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fileError(path, err)
	}
	return nil
}

// unchanged looks whether the file still holds what the change was made from.
func (c Change) unchanged(path string) error {
	if c.hook != nil {
		c.hook()
	}
	now, exists, err := readFile(path)
	if err != nil {
		return err
	}
	if exists != c.Existed || !bytes.Equal(now, c.Before) {
		return fmt.Errorf("%s %w", c.Path, ErrChanged)
	}
	return nil
}

// target returns what the path names behind symbolic links, and refuses what lies
// outside of the folders that settings are kept in.
func (c Change) target() (string, error) {
	path := c.Path
	if _, err := os.Lstat(path); err == nil {
		behind, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", fileError(path, err)
		}
		path = behind
	} else if dir, err := filepath.EvalSymlinks(nearestDir(path)); err == nil {
		rest, err := filepath.Rel(nearestDir(path), path)
		if err == nil {
			path = filepath.Join(dir, rest)
		}
	}
	if len(c.roots) == 0 {
		return path, nil
	}
	for _, root := range c.roots {
		if behind, err := filepath.EvalSymlinks(root); err == nil {
			root = behind
		}
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			return path, nil
		}
	}
	return "", &Error{Path: c.Path, Text: "leads to " + path + ", outside of your home and project folders", Hint: "edit that file yourself"}
}

// nearestDir returns the nearest folder above a path that exists.
func nearestDir(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}
