package reading

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/typed"
)

// A root is a folder whose files may be read.
type root struct {
	given string // absolute, as the operator named it
	dir   string // free of symbolic links
}

func openRoots(paths []string) ([]root, error) {
	var all []root
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		dir, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s is no folder", p)
		}
		all = append(all, root{abs, dir})
	}
	return all, nil
}

// localPath returns the path that a URI of the scheme file, or a bare path, means.
func localPath(uri string) (string, error) {
	rest, isURI := cutPrefixFold(uri, "file:")
	if !isURI {
		return uri, nil
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, path, _ := strings.Cut(after, "/")
		if host != "" && !strings.EqualFold(host, "localhost") {
			return "", fmt.Errorf("the URI names the host %q: files of other hosts are not read. Write file:///path", show(host))
		}
		rest = "/" + path
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return "", errors.New("the URI holds a % that is no escape: write it as %25")
	}
	if runtime.GOOS == "windows" && len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:]
	}
	return path, nil
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// A place is a name in a root.
type place struct {
	root root
	name string // within it
}

// places returns where a path may lie. It is an error where it lies in no open folder.
func (s *server) places(path string) ([]place, error) {
	switch {
	case strings.TrimSpace(path) == "" || len(path) > maxURI || strings.ContainsRune(path, 0):
		return nil, errors.New("that is no path of a file")
	case len(s.roots) == 0 && inSandbox(path):
		return nil, errSandbox
	case len(s.roots) == 0:
		return nil, errNoRoots
	}
	p := filepath.Clean(filepath.FromSlash(path))
	var all []place
	for _, r := range s.roots {
		if !filepath.IsAbs(p) {
			if filepath.IsLocal(p) {
				all = append(all, place{r, p})
			}
			continue
		}
		for _, base := range []string{r.given, r.dir} {
			if rel, err := filepath.Rel(base, p); err == nil && filepath.IsLocal(rel) {
				all = append(all, place{r, rel})
				break
			}
		}
	}
	switch {
	case len(all) > 0:
		return all, nil
	case inSandbox(path):
		return nil, errSandbox
	}
	return nil, typed.Refuse("refused: %s lies in none of the folders that are open. %s", show(path), s.openFolders())
}

// openFolders says which folders are open.
func (s *server) openFolders() string {
	var names []string
	for _, r := range s.roots[:min(len(s.roots), 10)] {
		names = append(names, r.given)
	}
	return "Open are: " + strings.Join(names, ", ")
}

var (
	errNoRoots = typed.Refuse("refused: no local file is read, for no folder is open. An operator opens some with the option roots of the server reading (--roots ./docs). " +
		"http(s): addresses and data: URIs are read without it")
	errSandbox = errors.New("refused: that path is one of a code sandbox, which read_file does not reach. Read the file there with run_command or run_python_code, " +
		"or bring it here with download_file_from_sandbox_to_local and read the path that this gives; for a file of the task, give the path that the task names")
)

// inSandbox reports whether a path is one of a sandbox's user.
func inSandbox(path string) bool {
	return strings.Contains(filepath.ToSlash(path), "home/user/") || strings.HasSuffix(path, "home/user")
}

// local opens a file.
func (j *job) local(uri string) error {
	path, err := localPath(uri)
	if err != nil {
		return err
	}
	places, err := j.s.places(path)
	if err != nil {
		return err
	}
	var last error
	for _, p := range places {
		if last = j.open(p); last == nil || !errors.Is(last, fs.ErrNotExist) {
			return last
		}
	}
	if inSandbox(path) {
		return errSandbox
	}
	return fmt.Errorf("there is no file %s. %s; a folder is listed when its path is given", show(path), j.s.openFolders())
}

// open opens what lies at p, which may be a folder. An os.Root follows no link out.
func (j *job) open(p place) error {
	dir, err := os.OpenRoot(p.root.dir)
	if err != nil {
		return fmt.Errorf("the folder %s cannot be opened: %w", p.root.given, err)
	}
	defer dir.Close()
	info, err := dir.Stat(p.name)
	if err != nil {
		return located(p, err)
	}
	if err := readable(p, info); err != nil {
		return err
	}
	f, err := dir.OpenFile(p.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return located(p, err)
	}
	j.onClose(f)
	if info, err = f.Stat(); err != nil { // it may be another one by now
		return located(p, err)
	}
	if err := readable(p, info); err != nil {
		return err
	}
	if ofKernel(f) {
		return fmt.Errorf("refused: %s is no file on a disk but shows what the system or a process has", show(p.name))
	}
	if info.IsDir() {
		return j.list(p, f)
	}
	j.src = document.Source{Name: filepath.Base(p.name), Data: f, Size: info.Size()}
	return nil
}

// readable refuses what is neither a file nor a folder: to open a pipe may take for
// ever, and a device may do something.
func readable(p place, info fs.FileInfo) error {
	if info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	return fmt.Errorf("refused: %s is no file but a device, a pipe or a socket", show(p.name))
}

// located makes an error of the system one for a model.
func located(p place, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be read: the system does not permit it to this server", show(p.name))
	case strings.Contains(err.Error(), "escapes"):
		return typed.Refuse("refused: %s leads out of the open folder %s by a link or by \"..\"", show(p.name), p.root.given)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s cannot be read: %s", show(p.name), show(err.Error()))
}

// maxNames is how many names of a folder are listed.
const maxNames = 500

// list makes a document of a folder's names.
func (j *job) list(p place, f *os.File) error {
	entries, err := f.ReadDir(maxNames + 1)
	if err != nil && len(entries) == 0 && !isEnd(err) {
		return located(p, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", egress.Plain(filepath.Join(p.root.given, p.name), 500))
	if len(entries) == 0 {
		b.WriteString("The folder is empty.\n")
	}
	more := len(entries) > maxNames
	entries = entries[:min(len(entries), maxNames)]
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		name, size := egress.Plain(e.Name(), 255), ""
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size = fmt.Sprintf(" (%d bytes)", info.Size())
		}
		if e.IsDir() {
			name += "/"
		}
		fmt.Fprintf(&b, "- %s%s\n", name, size)
	}
	if more {
		j.note("the folder has more than %d names; the rest is not listed", maxNames)
	}
	j.note("this is a folder: read one of its files by its path")
	j.head, j.format = b.String(), "folder"
	return nil
}

// show returns a short foreign text for an error.
func show(s string) string { return fmt.Sprintf("%q", egress.Plain(s, 200)) }
