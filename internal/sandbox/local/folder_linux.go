package local

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// A folder is where this process makes the private folders of the level "landlock".
// Its lock tells others that it is in use.
type folder struct {
	dir  string
	lock *os.File
}

// newFolder makes one, and removes those whose process has ended.
func newFolder(base string) (*folder, error) {
	root := os.Geteuid() == 0
	switch {
	case base != "":
	case root:
		base = "/var/tmp/tenon-sandboxes"
	default:
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: "there is no place for the folders of sandboxes: set the option dir"}
		}
		base = filepath.Join(cache, "tenon", "sandboxes")
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
		sweepFolder(filepath.Join(base, e.Name()))
	}
	f := &folder{dir: filepath.Join(base, "run-"+strings.ToLower(rand.Text()))}
	if err := os.Mkdir(f.dir, 0o711); err != nil {
		return nil, err
	}
	f.lock, err = os.OpenFile(filepath.Join(f.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	return f, err
}

func sweepFolder(dir string) {
	if !strings.HasPrefix(filepath.Base(dir), "run-") {
		return
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return // it is just being made, or is none of ours
	}
	defer func() { _ = lock.Close() }() // nothing was written
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = removeAll(dir) // the next one tries again
	}
}

// make makes the private folder of one sandbox.
func (f *folder) make(uid int) (string, error) {
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

func (f *folder) close() error {
	if f == nil {
		return nil
	}
	return errors.Join(removeAll(f.dir), f.lock.Close())
}

// removeAll removes a folder, those too that its owner has locked.
func removeAll(dir string) error {
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

// usage sums up what a folder holds. Its walk ends where it is too much.
func usage(dir string, bytes int64, files int) (over bool) {
	var sum int64
	count := 0
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d == nil {
			return nil // it has just gone, or is locked
		}
		count++
		if info, err := d.Info(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += s.Blocks * 512
			}
		}
		if sum > bytes || count > files {
			return errTooMuch
		}
		return nil
	})
	return errors.Is(err, errTooMuch)
}

var errTooMuch = errors.New("too much")
