package results

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tenon-mcp/tenon/internal/flock"
)

// Each store has a folder base/NAME and, beside it, a file base/NAME.lock that it
// holds locked for as long as it lives: the system lets go of the lock when the
// process dies, however it dies. So whoever can lock the file of another store
// knows that nobody is left to need its folder.
//
// The lock is made first and removed last, and a folder without one belongs to
// nobody. A store that finds its lock file replaced, because another one cleaned
// up between its making and its locking, makes another.
const (
	folderPrefix = "store-"
	lockSuffix   = ".lock"
)

// A dir is the folder of one store.
type dir struct {
	base string
	log  *slog.Logger

	mu   sync.Mutex
	path string // empty until something is written
	lock *os.File
	done bool
}

// create makes a new file in the folder, which only its owner can read.
func (d *dir) create() (*os.File, error) {
	path, err := d.folder()
	if err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(path, strings.ToLower(rand.Text())), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// folder returns the folder, and makes it where there is none yet.
func (d *dir) folder() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.done {
		return "", errors.New("the store is closed")
	}
	if d.path != "" {
		return d.path, nil
	}
	if err := os.MkdirAll(d.base, 0o700); err != nil {
		return "", err
	}
	for range 10 {
		path := filepath.Join(d.base, folderPrefix+strings.ToLower(rand.Text()))
		lock, err := hold(path + lockSuffix)
		if err != nil {
			return "", err
		}
		if lock == nil {
			continue // cleaned up by another store before it was ours
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			return "", errors.Join(err, lock.Close(), os.Remove(lock.Name()))
		}
		d.path, d.lock = path, lock
		return path, nil
	}
	return "", fmt.Errorf("no folder could be made in %s", d.base)
}

// hold makes a lock file and locks it. It returns nil where the file is not at
// its place any more.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	locked := flock.Try(f)
	ours, err1 := f.Stat()
	there, err2 := os.Stat(path)
	if locked && err1 == nil && err2 == nil && os.SameFile(ours, there) {
		return f, nil
	}
	return nil, f.Close()
}

// close removes the folder.
func (d *dir) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	if d.path == "" {
		return nil
	}
	err := os.RemoveAll(d.path)
	// Not before the folder: the lock is what others know its owner by.
	err = errors.Join(err, d.lock.Close(), os.Remove(d.lock.Name()))
	d.path, d.lock = "", nil
	return err
}

// clean removes what is left of stores that live no more.
func (d *dir) clean() {
	if d.base == "" {
		return
	}
	entries, err := os.ReadDir(d.base)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			d.log.Warn("left-over results cannot be looked for", "error", err)
		}
		return
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, folderPrefix) {
			continue // not ours
		}
		if err := d.cleanOne(filepath.Join(d.base, strings.TrimSuffix(name, lockSuffix)), strings.HasSuffix(name, lockSuffix)); err != nil {
			d.log.Warn("left-over results stay", "folder", name, "error", err)
		}
	}
}

// cleanOne removes the folder of a store, if that lives no more.
func (d *dir) cleanOne(path string, locked bool) error {
	lock, err := os.OpenFile(path+lockSuffix, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !locked:
		return os.RemoveAll(path)
	case errors.Is(err, fs.ErrNotExist):
		return nil // it was just cleaned up
	case err != nil:
		return err
	}
	if !flock.Try(lock) {
		return lock.Close() // its owner lives
	}
	if err := os.RemoveAll(path); err != nil {
		return errors.Join(err, lock.Close())
	}
	d.log.Info("removed left-over results", "folder", filepath.Base(path))
	return unlink(lock)
}
