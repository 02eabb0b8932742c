package hostlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/regular"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// Bounds of looking for files.
const (
	maxFiles = 2000  // that are looked into
	maxSeen  = 20000 // names
	maxDepth = 6
)

// A root is a directory, or one file of it, that may be read.
type root struct {
	given string // as the operator wrote it
	dir   string // absolute and free of symbolic links
	only  string // the one file, or empty
}

// Roots are all that may be read.
type roots []root

func defaultPaths() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"/var/log", "/Library/Logs"}
	case "windows":
		return nil
	}
	return []string{"/var/log", "/run/log/journal"}
}

func openRoot(p string) (root, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return root{}, err
	}
	dir, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return root{}, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return root{}, err
	}
	r := root{given: abs, dir: dir}
	if !info.IsDir() {
		r.given, r.dir, r.only = filepath.Dir(abs), filepath.Dir(dir), filepath.Base(dir)
	}
	return r, nil
}

// within returns the name of a path below the root.
func (r root) within(path string) (rel string, ok bool) {
	for _, dir := range []string{r.dir, r.given} {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) && (r.only == "" || rel == r.only) {
			return rel, true
		}
	}
	return "", false
}

var errOutside = errors.New("outside of the directories that may be read")

// open opens a regular file within the roots. A symbolic link is followed only to
// where a root is: the system itself refuses to leave the directory of one.
func (rs roots) open(path string) (*os.File, fs.FileInfo, error) {
	f, info, err := rs.openWithin(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errOutside) {
		return f, info, err
	}
	if resolved, e := filepath.EvalSymlinks(path); e == nil && resolved != path {
		if f, info, e := rs.openWithin(resolved); e == nil {
			return f, info, nil
		}
	}
	return nil, nil, err
}

func (rs roots) openWithin(path string) (*os.File, fs.FileInfo, error) {
	for _, r := range rs {
		rel, ok := r.within(path)
		if !ok {
			continue
		}
		dir, err := os.OpenRoot(r.dir)
		if err != nil {
			return nil, nil, err
		}
		defer dir.Close()
		f, err := regular.Open(dir, rel)
		if err != nil {
			return nil, nil, err
		}
		info, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, nil, err
		}
		return f, info, nil
	}
	return nil, nil, errOutside
}

// A file is one file of logs.
type file struct {
	path    string
	base    string // the path that it had before it was rotated
	journal bool
	size    int64
	mtime   time.Time
}

// An inventory is what lies below the roots: the files that were written last first.
type inventory struct {
	files  []file
	more   bool // there are more
	closed []closed
}

// A closed file or directory is one that this user may not read.
type closed struct {
	path string
	err  error
}

// files returns the files below the roots.
func (rs roots) files(ctx context.Context) inventory {
	var list []file
	var shut []closed
	more := false
	seen := 0
	known := map[string]bool{}
	for _, r := range rs {
		dir, err := os.OpenRoot(r.dir)
		if err != nil {
			shut = append(shut, closed{r.dir, err})
			continue
		}
		_ = fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			seen++
			path := filepath.Join(r.dir, filepath.FromSlash(name))
			switch {
			case ctx.Err() != nil || seen > maxSeen || len(list) >= maxFiles:
				more = true
				return fs.SkipAll
			case err != nil:
				if errors.Is(err, fs.ErrPermission) && len(shut) < 20 {
					shut = append(shut, closed{path, err})
				}
				return nil
			case d.IsDir() && (strings.Count(name, "/") >= maxDepth || r.only != "" && name != "."):
				return fs.SkipDir
			case !d.Type().IsRegular() || r.only != "" && name != r.only || known[path]:
				return nil
			}
			if info, err := d.Info(); err == nil && info.Size() > 0 {
				known[path] = true
				list = append(list, newFile(path, info))
			}
			return nil
		})
		dir.Close()
	}
	slices.SortStableFunc(list, func(a, b file) int { return b.mtime.Compare(a.mtime) })
	return inventory{list, more, shut}
}

func newFile(path string, info fs.FileInfo) file {
	name := strings.TrimSuffix(filepath.Base(path), "~")
	return file{
		path: path, base: filepath.Join(filepath.Dir(path), unrotated(filepath.Base(path))),
		journal: strings.HasSuffix(name, ".journal"), size: info.Size(), mtime: info.ModTime(),
	}
}

var rotated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+?)(?:\.(?:\d{1,3}|old)|[-._]\d{4}-?\d{2}-?\d{2}(?:[-_T.]?\d{2,6})?)(\.log)?$`)
})

// unrotated returns the name that a file had before logrotate and its kin renamed it.
func unrotated(name string) string {
	for _, ending := range []string{".gz", ".xz", ".zst", ".zstd", ".bz2"} {
		name = strings.TrimSuffix(name, ending)
	}
	if m := rotated().FindStringSubmatch(name); m != nil {
		return m[1] + m[2]
	}
	return name
}

// Names of sources that are no paths.
const (
	sourceJournal = "journal"
	sourceUnified = "unified"
	sourceAll     = "all"
)

// choose returns the files that a source names. Without a name it is the journal
// where there is one, else everything.
func (rs roots) choose(ctx context.Context, source string) (list []file, name string, in inventory, err error) {
	if len(source) > 4096 || strings.ContainsRune(source, 0) {
		return nil, "", in, errors.New("source is no name of a source. Call list_log_sources for what there is")
	}
	in = rs.files(ctx)
	journals := slices.DeleteFunc(slices.Clone(in.files), func(f file) bool { return !f.journal })
	switch source = strings.TrimSpace(source); {
	case source == sourceAll || source == "" && len(journals) == 0:
		return in.files, sourceAll, in, nil
	case source == "" || source == sourceJournal:
		if len(journals) == 0 {
			return nil, "", in, errors.New(`there are no journal files in the directories that may be read. Use source "all", or call list_log_sources for what there is`)
		}
		return journals, sourceJournal, in, nil
	}
	list, err = rs.named(in.files, source)
	in.more, in.closed = false, nil
	return list, source, in, err
}

// named returns the files that a path means: a log with its rotated files, one file,
// or all that is in a directory.
func (rs roots) named(all []file, source string) ([]file, error) {
	var tried []string
	if filepath.IsAbs(source) {
		tried = []string{filepath.Clean(source)}
	} else {
		for _, r := range rs {
			tried = append(tried, filepath.Join(r.dir, source))
		}
	}
	inside := false
	for _, path := range tried {
		for _, r := range rs {
			rel, ok := r.within(path)
			if !ok {
				continue
			}
			inside = true
			path := filepath.Join(r.dir, rel)
			if list := meant(all, path); len(list) > 0 {
				return list, nil
			}
			f, info, err := rs.open(path)
			if err == nil {
				f.Close()
				return []file{newFile(path, info)}, nil
			}
			if strings.Contains(err.Error(), "escapes") { // by a link
				return nil, rs.refuse(source)
			}
			if !errors.Is(err, fs.ErrNotExist) && filepath.IsAbs(source) {
				return nil, fmt.Errorf("%s: %s", plain(source, 200), reason(err))
			}
		}
	}
	if !inside {
		return nil, rs.refuse(source)
	}
	return nil, fmt.Errorf("there is no log %s. %sCall list_log_sources for what there is", plain(source, 200), near(all, source))
}

// meant returns the files of a list that a path means.
func meant(all []file, path string) []file {
	below := path + string(filepath.Separator)
	for _, match := range []func(file) bool{
		func(f file) bool { return f.base == path },
		func(f file) bool { return f.path == path },
		func(f file) bool { return strings.HasPrefix(f.path, below) },
	} {
		if list := slices.DeleteFunc(slices.Clone(all), func(f file) bool { return !match(f) }); len(list) > 0 {
			return list
		}
	}
	return nil
}

// refuse says that a path is none that may be read.
func (rs roots) refuse(source string) error {
	return typed.Refuse("%s is outside of the directories that this server may read (%s). Call list_log_sources for what there is; an operator opens others with the option paths of the server hostlog",
		plain(source, 200), plain(rs.where(), 400))
}

// near offers up to three logs whose path ends like a source that is none.
func near(all []file, source string) string {
	var found []string
	end := string(filepath.Separator) + filepath.Base(filepath.Clean(source))
	for _, f := range all {
		if strings.HasSuffix(f.base, end) && !slices.Contains(found, f.base) && len(found) < 3 {
			found = append(found, f.base)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "There is " + plain(strings.Join(found, ", "), 600) + ". "
}

// where names the roots.
func (rs roots) where() string {
	var list []string
	for _, r := range rs {
		list = append(list, filepath.Join(r.dir, r.only))
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, ", ")
}

// reason returns what a model needs of an error about a file.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied for the user that runs this server"
	case errors.Is(err, errOutside):
		return errOutside.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "the time was over"
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return plain(err.Error(), 200)
}
