package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/host"
)

const (
	scratch = 64 << 20 // of /tmp and of /dev/shm
	inodes  = 20_000   // files in each place that can be written
)

// What of the host is there to be read, besides the folders of the interpreter.
var (
	systemFolders, systemFiles = host.Folders, host.Files
	devices                    = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
)

// A share is something of the host's that the sandbox sees at the same path.
type share struct {
	path string
	fd   int    // O_PATH
	link string // of a symbolic link, where it leads
	dir  bool
}

// buildRoot makes a root of its own and goes there. The first half runs as whoever has
// started this, since only that one may walk to the interpreter.
func (l *launcher) buildRoot() error {
	shares, err := collect(l.plan.Prefix)
	if err != nil {
		return err
	}
	if l.plan.Drop {
		if err := becomeAll(insideID, insideID); err != nil {
			return err
		}
	}
	base := ""
	for _, dir := range []string{"/tmp", "/var/tmp", "/mnt", "/srv"} {
		var s unix.Stat_t
		if base == "" && unix.Stat(dir, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFDIR {
			base = dir
		}
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"make mounts private", func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }},
		{"mount the root", func() error { return mountTmp(base, 16<<20, "0755") }},
		{"/tmp", func() error { return mountTmp(base+"/tmp", scratch, "1777") }},
		{"private folder", func() error { return mountTmp(base+"/home/user", l.plan.Disk, "0700") }},
		{"system folders", func() error { return l.showAll(base, shares) }},
		{"devices", func() error { return makeDevices(base) }},
		{"/proc", func() error { return l.mountProc(base) }},
		{"/etc", func() error { return writeEtc(base) }},
		{"change the root", func() error { return pivot(base) }},
		{"make the root read-only", func() error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOSUID})
		}},
		{"group of cgroups", func() error { _ = unix.Unshare(unix.CLONE_NEWCGROUP); return nil }},
		{"loopback", l.loopback},
		{"host name", func() error { return unix.Sethostname([]byte("sandbox")) }},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	for _, s := range shares {
		_ = unix.Close(s.fd)
	}
	return nil
}

// collect opens what of the host is to be seen.
func collect(prefix []string) ([]share, error) {
	python, _ := filepath.Glob("/etc/python3*") // the pattern is good
	var all []share
	for _, path := range append(append(append(append([]string{}, systemFolders...), systemFiles...), python...), devices...) {
		s, err := openShare(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	for _, path := range prefix {
		s, err := openShare(path)
		if err != nil {
			return nil, fmt.Errorf("folder of the interpreter: %w", err)
		}
		all = append(all, s)
	}
	return all, nil
}

func openShare(path string) (share, error) {
	s := share{path: path}
	var err error
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return s, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFLNK && strings.Count(path, "/") == 1 {
		s.fd = -1
		s.link, err = os.Readlink(path)
		return s, err
	}
	if s.fd, err = unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		return s, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := unix.Fstat(s.fd, &stat); err != nil {
		return s, err
	}
	s.dir = stat.Mode&unix.S_IFMT == unix.S_IFDIR
	return s, nil
}

// becomeAll makes all threads of this process another user.
func becomeAll(uid, gid int) error {
	if err := syscall.Setgroups([]int{}); err != nil {
		return fmt.Errorf("leave all groups: %w", err)
	}
	if err := syscall.Setresgid(gid, gid, gid); err != nil {
		return fmt.Errorf("change the group: %w", err)
	}
	if err := syscall.Setresuid(uid, uid, uid); err != nil {
		return fmt.Errorf("change the user: %w", err)
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

func mountTmp(dir string, size int64, mode string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,nr_inodes=%d,mode=%s", size, inodes, mode))
}

// showAll binds the shares below base, to be read only.
func (l *launcher) showAll(base string, shares []share) error {
	done := map[string]bool{}
	for _, s := range shares {
		at := base + s.path
		if done[s.path] || strings.HasPrefix(s.path, "/dev/") {
			continue
		}
		done[s.path] = true
		if s.link != "" {
			if err := os.Symlink(s.link, at); err != nil {
				return err
			}
			continue
		}
		if err := makeTarget(at, s.dir); err != nil {
			return err
		}
		if err := bind(s.fd, at, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
	}
	for _, s := range shares {
		if !strings.HasPrefix(s.path, "/dev/") {
			continue
		}
		if err := makeTarget(base+s.path, false); err != nil {
			return err
		}
		if err := bind(s.fd, base+s.path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
	}
	return nil
}

func makeTarget(at string, dir bool) error {
	if _, err := os.Lstat(at); err == nil {
		return nil // below another share
	}
	if dir {
		return os.MkdirAll(at, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, nil, 0o444)
}

// bind shows what fd is at a path, with further attributes.
func bind(fd int, at string, attr uint64) error {
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", fd), at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, at, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attr})
}

func makeDevices(base string) error {
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink(to, base+"/dev/"+name); err != nil {
			return err
		}
	}
	return mountTmp(base+"/dev/shm", scratch, "1777")
}

// mountProc shows the processes of the sandbox. In a container that hides parts of
// its own /proc the kernel refuses it: then there is none.
func (l *launcher) mountProc(base string) error {
	if err := os.Mkdir(base+"/proc", 0o555); err != nil {
		return err
	}
	if err := unix.Mount("proc", base+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		l.notes = append(l.notes, "/proc is empty, since this machine lets no sandbox mount it")
	}
	return nil
}

func writeEtc(base string) error {
	for name, text := range map[string]string{
		"passwd":        fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:%[1]d:%[1]d:user:/home/user:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n", insideID),
		"group":         fmt.Sprintf("root:x:0:\nuser:x:%d:\nnogroup:x:65534:\n", insideID),
		"hosts":         "127.0.0.1 localhost sandbox\n::1 localhost\n",
		"hostname":      "sandbox\n",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
	} {
		if err := os.MkdirAll(base+"/etc", 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(base+"/etc/"+name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// pivot makes dir the root and lets go of the old one.
func pivot(dir string) error {
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Chdir("/")
}

// loopback starts the loopback device, which is mere comfort where nobody serves a
// proxy there, and the socket for that.
func (l *launcher) loopback() error {
	err := loopbackUp()
	if !l.plan.Network {
		return nil
	}
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	l.outlet = []int{fd}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: sandbox.ProxyPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	return unix.Listen(fd, waitingToServe)
}

// waitingToServe is how many connections wait to be taken.
const waitingToServe = 64

// loopbackUp starts the loopback device of the sandbox's own network.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

// dropCapabilities takes every capability from the calling thread, and from all that
// it starts.
func dropCapabilities() error {
	for c := range 64 {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			if errors.Is(err, unix.EINVAL) {
				break // there are no more
			}
			return fmt.Errorf("drop capabilities: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}
