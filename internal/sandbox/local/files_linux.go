package local

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

const (
	listDepth = 20
	listBytes = 90 << 10 // of names, so that a packet has room for them
)

// beneath is how paths of a model are walked: symbolic links lead nowhere but to what
// is below the private folder.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// open opens a file of the private folder for the server, behind the walls and with
// the rights of the code in the sandbox.
func (l *launcher) open(o order) (report, []int) {
	if o.Path == "." {
		return refuse("it is a folder, not a file"), nil
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY, Resolve: beneath}
	if o.Write {
		if err := l.makeFolders(path.Dir(o.Path)); err != nil {
			return refuse(err.Error()), nil
		}
		how.Flags, how.Mode = unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0o644
	}
	fd, err := unix.Openat2(l.home, o.Path, &how)
	if err != nil {
		return refuse(explain(err)), nil
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			return refuse("it is a folder, not a file"), nil
		}
		return refuse("it is no ordinary file"), nil
	}
	f := fileOf(sandbox.Home+"/"+o.Path, &stat)
	return report{File: &f}, []int{fd}
}

func refuse(text string) report { return report{Error: text, Kind: sandbox.Invalid} }

func explain(err error) string {
	switch {
	case errors.Is(err, unix.ENOENT):
		return "there is no such file or folder"
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ELOOP):
		return "the path leads out of " + sandbox.Home + " by a symbolic link"
	case errors.Is(err, unix.EISDIR):
		return "it is a folder, not a file"
	case errors.Is(err, unix.ENOTDIR):
		return "a part of the path is a file, not a folder"
	case errors.Is(err, unix.ENXIO):
		return "it is no ordinary file"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return "the disk of the sandbox is full: remove files"
	case errors.Is(err, unix.ENAMETOOLONG):
		return "the path is too long"
	}
	return err.Error()
}

// makeFolders makes a folder with those above it, one by one and without following a
// link out.
func (l *launcher) makeFolders(dir string) error {
	if dir == "." {
		return nil
	}
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		parent, err := unix.Openat2(l.home, "./"+at, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
		if err != nil {
			return errors.New(explain(err))
		}
		err = unix.Mkdirat(parent, part, 0o755)
		_ = unix.Close(parent)
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return errors.New(explain(err))
		}
		at = path.Join(at, part)
	}
	return nil
}

func fileOf(name string, s *unix.Stat_t) sandbox.File {
	kind := "other"
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		kind = "file"
	case unix.S_IFDIR:
		kind = "directory"
	case unix.S_IFLNK:
		kind = "symlink"
	}
	return sandbox.File{Path: strings.ToValidUTF8(name, "\uFFFD"), Size: s.Size, Kind: kind, Modified: time.Unix(s.Mtim.Unix()).UTC()}
}

// list walks a folder, without following links.
func (l *launcher) list(o order) report {
	fd, err := unix.Openat2(l.home, "./"+o.Path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
	if err != nil {
		return refuse(explain(err))
	}
	out := &sandbox.Listing{Path: path.Join(sandbox.Home, o.Path), Files: []sandbox.File{}}
	w := &walk{out: out, max: o.Max, bytes: listBytes}
	w.dir(fd, out.Path, 0)
	return report{List: out}
}

type walk struct {
	out        *sandbox.Listing
	max, bytes int
}

// dir lists one folder and closes it.
func (w *walk) dir(fd int, at string, depth int) {
	f := os.NewFile(uintptr(fd), at)
	defer func() { _ = f.Close() }() // nothing was written
	for {
		names, err := f.Readdirnames(256)
		for _, name := range names {
			var s unix.Stat_t
			if unix.Fstatat(fd, name, &s, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			entry := fileOf(at+"/"+name, &s)
			if w.bytes -= 2*len(entry.Path) + 120; w.bytes < 0 || len(w.out.Files) >= w.max {
				w.out.More = true
				return
			}
			w.out.Files = append(w.out.Files, entry)
			if entry.Kind != "directory" {
				continue
			}
			if depth >= listDepth {
				w.out.More = true
				continue
			}
			below, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			if err == nil {
				w.dir(below, fmt.Sprintf("%s/%s", at, name), depth+1)
			}
		}
		if err != nil {
			return
		}
	}
}
