package local

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Traps are what the self-test lays out on the host, for the sandbox to fall for.
type traps struct {
	File   string   `json:"file"`   // with Word in it
	Word   string   `json:"word"`   //
	PID    int      `json:"pid"`    // of a process of the host
	TCP    int      `json:"tcp"`    // a port of 127.0.0.1 where somebody listens
	Unix   string   `json:"unix"`   // a socket in a folder
	Hidden string   `json:"hidden"` // an abstract socket
	Dirs   []string `json:"dirs"`   // where nothing may be written
}

// probe tries to get out, from behind the walls, and returns what has worked.
func probe(t *traps) []string {
	var leaks []string
	found := func(what string, leaked bool) {
		if leaked {
			leaks = append(leaks, what)
		}
	}
	read := func(path string) string { b, _ := os.ReadFile(path); return string(b) }
	found("read a file of the host", strings.Contains(read(t.File), t.Word))
	found("read /etc/shadow", read("/etc/shadow") != "")
	own := os.Getpid() == 1 // a process namespace: what has that number here is ours
	found("signal a process of the host", !own && unix.Kill(t.PID, 0) == nil)
	environ := "/proc/" + strconv.Itoa(t.PID) + "/environ"
	found("read the environment of a process of the host", !own && strings.Contains(read(environ), t.Word))
	for _, dir := range append(t.Dirs, "/usr", "/etc", "/") {
		fd, err := unix.Open(dir+"/.tenon-probe", unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err == nil {
			_ = unix.Close(fd)
			_ = unix.Unlink(dir + "/.tenon-probe")
		}
		found("write to "+dir, err == nil)
	}
	fd, err := unix.Open("/proc/sys/kernel/core_pattern", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	found("write core_pattern", err == nil)
	if err == nil {
		_ = unix.Close(fd)
	}
	found("connect to 127.0.0.1", connects(unix.AF_INET, &unix.SockaddrInet4{Port: t.TCP, Addr: [4]byte{127, 0, 0, 1}}))
	found("connect to a socket of the host", connects(unix.AF_UNIX, &unix.SockaddrUnix{Name: t.Unix}))
	found("connect to an abstract socket of the host", connects(unix.AF_UNIX, &unix.SockaddrUnix{Name: "@" + t.Hidden}))
	for _, s := range []struct {
		family, kind int
		name         string
	}{{unix.AF_PACKET, unix.SOCK_RAW, "packet"}, {unix.AF_VSOCK, unix.SOCK_STREAM, "vsock"}, {unix.AF_ALG, unix.SOCK_SEQPACKET, "alg"}} {
		fd, err := unix.Socket(s.family, s.kind|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		found("make a socket of the family "+s.name, err == nil)
	}
	found("become root", raw(unix.SYS_SETRESUID, 0, 0, ^uintptr(0)) == 0) // of this thread alone
	for name, try := range calls {
		errno := try()
		found(name, errno != unix.EPERM && errno != unix.ENOSYS && errno != unix.EACCES)
	}
	return leaks
}

// calls are tried with arguments that do no harm where they work, and that fail in
// another way than by a refusal where they get through.
var calls = map[string]func() unix.Errno{
	"call mount": func() unix.Errno {
		return errnoOf(unix.Mount("none", "/nowhere", "tmpfs", 0, ""))
	},
	"call clone3": func() unix.Errno { return raw(unix.SYS_CLONE3, 0, 0, 0) },
	"call unshare for a user namespace": func() unix.Errno {
		return raw(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_THREAD|unix.CLONE_VM, 0, 0)
	},
	"call ptrace":          func() unix.Errno { return raw(unix.SYS_PTRACE, unix.PTRACE_PEEKDATA, 1<<30, 0) },
	"call keyctl":          func() unix.Errno { return raw(unix.SYS_KEYCTL, ^uintptr(0), 0, 0) },
	"call io_uring_setup":  func() unix.Errno { return raw(unix.SYS_IO_URING_SETUP, 0, 0, 0) },
	"call bpf":             func() unix.Errno { return raw(unix.SYS_BPF, ^uintptr(0), 0, 0) },
	"call perf_event_open": func() unix.Errno { return raw(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
	"call userfaultfd":     func() unix.Errno { return raw(unix.SYS_USERFAULTFD, 1<<30, 0, 0) },
	"set the host name":    func() unix.Errno { return raw(unix.SYS_SETHOSTNAME, 0, ^uintptr(0), 0) },
}

func raw(call, a, b, c uintptr) unix.Errno {
	_, _, errno := unix.RawSyscall6(call, a, b, c, 0, 0, 0)
	return errno
}

func errnoOf(err error) unix.Errno {
	errno, _ := errors.AsType[unix.Errno](err)
	return errno
}

func connects(family int, to unix.Sockaddr) bool {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	err = unix.Connect(fd, to)
	if errors.Is(err, unix.EINPROGRESS) {
		wait := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		_, _ = unix.Poll(wait, 200)
		var n int
		if n, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && n != 0 {
			err = unix.Errno(n)
		}
	}
	return err == nil
}
