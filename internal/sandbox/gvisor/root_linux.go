package gvisor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/sandbox/host"
)

const (
	ownThreads = 512      // of runsc, outside
	maxCopied  = 32 << 20 // bytes and files of /etc that are copied
	maxCopies  = 5000
)

// A root is what sandboxes have as theirs.
type root struct {
	dir    string
	shared []string // folders of this machine that are shown at the same path
	made   bool     // by us: nothing has to be put into it
	python string
	path   string // variable PATH
}

// newRoot makes one that has of this machine what the interpreter needs, or takes the
// one that is there. The caller holds the lock.
func (b *Backend) newRoot(python host.Interpreter) (*root, error) {
	r := &root{python: python.Path, path: "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", dir: b.o.Rootfs}
	if r.dir != "" {
		return r, nil
	}
	r.made = true
	for _, dir := range python.Prefix {
		r.path = dir + "/bin:" + r.path
	}
	var err error
	if r.dir, err = os.MkdirTemp(b.placed.folder.Dir(), "root-"); err == nil {
		err = errors.Join(os.Chmod(r.dir, 0o755), r.build(python.Prefix))
	}
	if err != nil {
		return nil, fmt.Errorf("make a root for sandboxes: %w", err)
	}
	return r, nil
}

func (r *root) build(prefix []string) error {
	for _, dir := range []string{"/proc", "/sys", "/dev", "/tmp", "/etc", "/home/user", standinsAt} {
		if err := os.MkdirAll(r.dir+dir, 0o755); err != nil {
			return err
		}
	}
	for _, path := range append(slices.Clone(host.Folders), prefix...) {
		if err := r.show(path); err != nil {
			return err
		}
	}
	python, _ := filepath.Glob("/etc/python3*") // the pattern is good
	to, err := os.OpenRoot(r.dir)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }() // a folder
	c := copier{to: to}
	for _, path := range append(slices.Clone(host.Files), python...) {
		if err := c.copy(path); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"passwd":        fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:%[1]d:%[1]d:user:/home/user:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n", insideID),
		"group":         fmt.Sprintf("root:x:0:\nuser:x:%d:\nnogroup:x:65534:\n", insideID),
		"hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
		"hostname":      "sandbox\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		if err := os.WriteFile(filepath.Join(r.dir, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// show has a folder of this machine in the root. A link at its top stays one.
func (r *root) show(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) && slices.Contains(host.Folders, path) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink && strings.Count(path, "/") == 1 {
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return os.Symlink(target, r.dir+path)
	}
	r.shared = append(r.shared, path)
	return os.MkdirAll(r.dir+path, 0o755)
}

// A copier copies small files that everybody may read.
type copier struct {
	to    *os.Root
	files int
	bytes int64
}

func (c *copier) copy(path string) error {
	return filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it is not there, or not for everybody
		}
		if c.files++; c.files > maxCopies {
			return fmt.Errorf("%s has more than %d files", path, maxCopies)
		}
		at := strings.TrimPrefix(path, "/")
		if err := c.to.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return nil // it has just gone
		case d.IsDir():
			return c.to.MkdirAll(at, 0o755)
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			if err != nil {
				return nil // it has just gone
			}
			return c.to.Symlink(target, at)
		case d.Type() != 0 || info.Mode()&0o004 == 0:
			return nil
		}
		if c.bytes += info.Size(); c.bytes > maxCopied {
			return fmt.Errorf("%s and the files before it have more than %d MiB", path, maxCopied>>20)
		}
		return c.file(path, at, info.Size())
	})
}

func (c *copier) file(from, to string, size int64) error {
	in, err := os.Open(from)
	if err != nil {
		return nil // it has just gone
	}
	defer func() { _ = in.Close() }() // read only
	out, err := c.to.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, size))
	return errors.Join(err, out.Close())
}
