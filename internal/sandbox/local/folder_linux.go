package local

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/tenon-mcp/tenon/internal/sandbox/host"
)

// A folder is where this process makes the private folders of the level "landlock".
type folder struct{ f *host.Folder }

// newFolder makes one, and removes those whose process has ended.
func newFolder(base string) (*folder, error) {
	f, err := host.NewFolder(base, "sandboxes", nil)
	if err != nil {
		return nil, err
	}
	return &folder{f}, nil
}

// make makes the private folder of one sandbox.
func (f *folder) make(uid int) (string, error) { return f.f.Make(uid) }

func (f *folder) close() error {
	if f == nil {
		return nil
	}
	return f.f.Close()
}

// removeAll removes a folder, those too that its owner has locked.
func removeAll(dir string) error { return host.RemoveAll(dir) }

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
