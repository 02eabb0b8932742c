package system

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/places"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// Bounds on one scan.
const (
	scanTime    = 30 * time.Second
	scanEntries = 5_000_000
	scanDepth   = 256 // each level of a sum holds a directory open
)

// Roots are the directories that may be looked into; none are all.
type scanRoots = places.Places[string]

func newRoots(dirs []string) (*scanRoots, error) {
	p, err := places.New(dirs, func(path string) (string, error) {
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", err
		}
		return resolved, isDir(resolved)
	}, isDir)
	if err != nil {
		return nil, fmt.Errorf("option scan_roots: %w", err)
	}
	_, missing := p.Look()
	for _, m := range missing {
		if !errors.Is(m.Err, fs.ErrNotExist) {
			return nil, fmt.Errorf("option scan_roots: %w", m.Err)
		}
	}
	return p, nil
}

func isDir(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", path)
	}
	return err
}

// root returns the directory that a call means, free of symbolic links, or an
// error that says why it may not be looked into; and which of the directories that
// the operator opened are not there.
func (s *server) root(dir string) (root string, missing []string, err error) {
	there, absent := s.scanRoots.Look()
	for _, m := range absent {
		missing = append(missing, plain(m.Path, 200))
	}
	if len(missing) > 0 && len(there) == 0 {
		return "", nil, fmt.Errorf("the directories that this server may look into are not there now: %s. They are looked for again at each call; an operator opens others with the option scan_roots of the server system", strings.Join(missing, ", "))
	}
	root, err = rootAmong(there, dir)
	if err != nil && len(missing) > 0 {
		err = fmt.Errorf("%w. Not there now: %s", err, plain(strings.Join(missing, ", "), 400))
	}
	return root, missing, err
}

func rootAmong(there []string, dir string) (string, error) {
	dir = strings.TrimSpace(dir)
	if dir == "" {
		return defaultRoot(there), nil
	}
	if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("the home directory is not known here. Give an absolute path")
		}
		dir = home + rest
	}
	shown := plain(dir, 120)
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s is no absolute path. Give one, such as %s", shown, filepath.Join(defaultRoot(there), "log"))
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil && !allowed(there, resolved) || err != nil && !allowed(there, filepath.Clean(dir)) {
		// Said before anything about the path: whether it exists is not to be told.
		return "", typed.Refuse("%s is outside of the directories that this server may look into: %s. Choose one within them; an operator opens others with the option scan_roots of the server system",
			shown, plain(strings.Join(there, ", "), 400))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %s. Check the path, or scan its parent", shown, reason(err))
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", fmt.Errorf("%s: %s", shown, reason(err))
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is no directory but a file of %s. Give the directory that holds it", shown, size(uint64(max(0, info.Size()))))
	}
	if pseudo(resolved) {
		return "", fmt.Errorf("%s holds no files on a disk but a view of the kernel. Choose another directory", shown)
	}
	return resolved, nil
}

func defaultRoot(there []string) string {
	if len(there) > 0 {
		return there[0]
	}
	return filepath.VolumeName(os.TempDir()) + string(filepath.Separator) // the drive of the system on Windows
}

func allowed(there []string, dir string) bool {
	if len(there) == 0 {
		return true
	}
	for _, root := range there {
		if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

func pseudo(dir string) bool {
	if runtime.GOOS != "linux" {
		return false
	}
	for _, p := range []string{"/proc", "/sys", "/dev"} {
		if dir == p || strings.HasPrefix(dir, p+"/") {
			return true
		}
	}
	return false
}

// reason returns what a model needs of an error about a path.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such directory"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied for the user that runs this server"
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// A walk goes through a directory tree and stays on its file system: symbolic
// links are not followed, mount points not crossed, and a file with several
// names is counted once. It ends early when its context does, and then says so.
type walk struct {
	done       <-chan struct{} // closed when it must end
	device     uint64
	deepest    int // levels below the root that are looked into
	onFile     func(file)
	onDir      func(path string, depth int, bytes uint64, files int) // once it is summed up
	seen       map[inode]bool
	entries    int
	unreadable int
	shut       error    // why not even the root could be read
	missing    []string // roots of the operator that are not there
	skipped    int      // mount points
	deeper     int      // directories below the deepest level
	stopped    bool
}

// An inode tells apart files that have several names.
type inode struct{ device, number uint64 }

// A file is one regular file that a walk met.
type file struct {
	path  string
	size  uint64 // on the disk, where the system tells; else its length
	mtime time.Time
}

// visit goes through dir, which is depth levels below the root and was self when
// its parent was read, and returns the number of files in it and below, and their
// size in total.
func (w *walk) visit(dir string, depth int, self fs.FileInfo) (bytes uint64, files int) {
	opened, err := os.DirFS(dir).Open(".")
	if err != nil {
		w.unreadable++
		if depth == 0 {
			w.shut = err
		}
		return 0, 0
	}
	defer opened.Close()
	f, ok := opened.(fs.ReadDirFile)
	if !ok {
		w.unreadable++ // it became a file
		return 0, 0
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(now, self) {
		w.unreadable++ // replaced, perhaps by a symbolic link, since its parent was read
		return 0, 0
	}
	for w.goOn() {
		list, err := f.ReadDir(256)
		for _, e := range list {
			b, n := w.entry(filepath.Join(dir, e.Name()), depth, e)
			bytes, files = bytes+b, files+n
			if !w.goOn() {
				break
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.unreadable++
			break
		}
	}
	w.onDir(dir, depth, bytes, files)
	return bytes, files
}

func (w *walk) entry(path string, depth int, e fs.DirEntry) (bytes uint64, files int) {
	w.entries++
	if !e.IsDir() && !e.Type().IsRegular() {
		return 0, 0
	}
	info, err := e.Info()
	if err != nil {
		return 0, 0 // removed meanwhile
	}
	device, number, links, used := onDisk(info)
	if e.IsDir() {
		if device != w.device {
			w.skipped++
			return 0, 0
		}
		if depth == w.deepest {
			w.deeper++
			return 0, 0
		}
		return w.visit(path, depth+1, info)
	}
	if links > 1 {
		id := inode{device, number}
		if w.seen[id] {
			return 0, 0
		}
		w.seen[id] = true
	}
	w.onFile(file{path, used, info.ModTime()})
	return used, 1
}

// goOn reports whether the walk may go on, and remembers when not.
func (w *walk) goOn() bool {
	select {
	case <-w.done:
		w.stopped = true
	default:
		w.stopped = w.stopped || w.entries > scanEntries
	}
	return !w.stopped
}

// notes says in sentences what the walk left out.
func (w *walk) notes() string {
	var b strings.Builder
	if w.stopped {
		fmt.Fprintf(&b, "\nThe scan stopped early, after %d entries: the sizes are lower bounds. Choose a directory further down for exact ones.\n", w.entries)
	}
	if w.unreadable > 0 {
		fmt.Fprintf(&b, "\n%d directories could not be read by the user that runs this server.\n", w.unreadable)
	}
	if w.skipped > 0 {
		fmt.Fprintf(&b, "\n%d mount points of other file systems were left out.\n", w.skipped)
	}
	if w.deeper > 0 {
		fmt.Fprintf(&b, "\n%d directories more than %d levels down were not looked into. Call again with one further down as root.\n", w.deeper, w.deepest)
	}
	if len(w.missing) > 0 {
		fmt.Fprintf(&b, "\nOf the directories that the operator opened, not there now: %s.\n", plain(strings.Join(w.missing, ", "), 400))
	}
	return b.String()
}
