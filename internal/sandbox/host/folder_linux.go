package host

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// A Folder is where this process makes what belongs to its sandboxes. Its lock tells
// others that it is in use.
type Folder struct {
	dir  string
	lock *os.File
}

// NewFolder makes one below base, or where that is empty in a usual place, where the
// name tells back ends apart. It removes those whose process has ended; before is
// called with each of them, and may be nil.
func NewFolder(base, name string, before func(dir string)) (*Folder, error) {
	root := os.Geteuid() == 0
	switch {
	case base != "":
	case root:
		base = "/var/tmp/tenon-" + name
	default:
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: "there is no place for the folders of sandboxes: set the option dir"}
		}
		base = filepath.Join(cache, "tenon", name)
	}
	if err := os.MkdirAll(base, 0o711); err != nil {
		return nil, err
	}
	var s unix.Stat_t
	if err := unix.Lstat(base, &s); err != nil || s.Mode&unix.S_IFMT != unix.S_IFDIR || int(s.Uid) != os.Geteuid() || s.Mode&0o022 != 0 {
		return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("%s is not a folder that only this user can write: set the option dir", base)}
	}
	old, err := os.ReadDir(base)
	if err != nil {
		return nil, err
	}
	for _, e := range old {
		sweepFolder(filepath.Join(base, e.Name()), before)
	}
	f := &Folder{dir: filepath.Join(base, "run-"+strings.ToLower(rand.Text()))}
	if err := os.Mkdir(f.dir, 0o711); err != nil {
		return nil, err
	}
	// It gets its name when it is held, so that nobody takes the folder for an old one.
	fresh := filepath.Join(f.dir, "lock.new")
	f.lock, err = os.OpenFile(fresh, os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = errors.Join(unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB), os.Rename(fresh, filepath.Join(f.dir, "lock")))
	}
	return f, err
}

func sweepFolder(dir string, before func(dir string)) {
	if !strings.HasPrefix(filepath.Base(dir), "run-") {
		return
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return // it is just being made, or is none of ours
	}
	defer func() { _ = lock.Close() }() // nothing was written
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		if before != nil {
			before(dir)
		}
		_ = RemoveAll(dir) // the next one tries again
	}
}

// Make makes the folder of one sandbox, which belongs to a user.
func (f *Folder) Make(uid int) (string, error) {
	dir := filepath.Join(f.dir, strings.ToLower(rand.Text()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if uid != os.Geteuid() {
		if err := os.Lchown(dir, uid, uid); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// Dir is where it is.
func (f *Folder) Dir() string { return f.dir }

// Close removes it with all that is in it.
func (f *Folder) Close() error {
	if f == nil {
		return nil
	}
	return errors.Join(RemoveAll(f.dir), f.lock.Close())
}

// RemoveAll removes a folder, those too that its owner has locked.
func RemoveAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	if root, err := os.OpenRoot(dir); err == nil {
		_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = root.Chmod(path, 0o700) // it is about to be removed
			}
			return nil
		})
		_ = root.Close()
	}
	return os.RemoveAll(dir)
}
