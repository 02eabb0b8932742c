package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a program needs to start at all. What is not there is left out.
var (
	systemRead = []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld-musl-x86_64.path", "/etc/alternatives",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust",
		"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols",
		"/etc/localtime", "/etc/timezone", "/etc/passwd", "/etc/group", "/etc/os-release", "/etc/mime.types", "/etc/locale.alias",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/sys/vm/overcommit_memory",
		"/sys/devices/system/cpu", "/sys/kernel/mm/transparent_hugepage", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/cpu.max",
	}
	systemWrite = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}
)

// Access rights of Landlock, by what Confinement says.
const (
	fileRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	fileWrite = fileRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	treeRead  = fileRead | unix.LANDLOCK_ACCESS_FS_READ_DIR
	treeWrite = treeRead | fileWrite | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
	allFiles = treeWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	allPorts = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP

	rulePort = 2 // LANDLOCK_RULE_NET_PORT
)

// The versions of Landlock from which on it can do what is wanted of it.
const (
	abiTruncate = 3 // Linux 6.2
	abiPorts    = 4 // Linux 6.7
	abiDevices  = 5 // Linux 6.10
	abiScopes   = 6 // Linux 6.12
)

// A portRule is struct landlock_net_port_attr.
type portRule struct{ access, port uint64 }

// A landlock is a set of rules that a thread can take on. Those that it forks
// inherit it, and nobody can take it off again. So neither a helper program nor
// code between fork and exec is needed: a thread of its own takes it on, forks
// the child, and is thrown away after it.
type landlock struct {
	rules  int               // file descriptor
	filter []unix.SockFilter // for system calls; empty where none is needed
}

// newLandlock makes the rules for a program. write are further files to write.
func newLandlock(c *Confinement, program string, write []string) (*landlock, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return nil, fmt.Errorf("this kernel has no Landlock, or it is switched off (%w): remove the key, or start a kernel with lsm=landlock", errno)
	case abi < abiTruncate:
		return nil, fmt.Errorf("version %d of Landlock in this kernel cannot keep files from being truncated: Linux 6.2 or newer can", abi)
	case len(c.Ports) > 0 && !c.Network && abi < abiPorts:
		return nil, fmt.Errorf("version %d of Landlock in this kernel knows no ports: Linux 6.7 or newer does; network: true and false work", abi)
	}
	l := &landlock{rules: -1}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: allFiles}
	if !c.Network {
		var err error
		if l.filter, err = socketFilter(c); err != nil {
			return nil, err
		}
		if abi >= abiPorts {
			attr.Handled_access_net = allPorts
		}
	}
	if abi >= abiDevices {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= abiScopes {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("make rules: %w", errno)
	}
	l.rules = int(fd)
	unix.CloseOnExec(l.rules)
	if err := l.allow(c, program, write); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// allow adds all rules.
func (l *landlock) allow(c *Confinement, program string, write []string) error {
	for _, path := range slices.Concat(systemRead, []string{program}, interpreters(program)) {
		if err := l.path(path, treeRead, fileRead); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	for _, path := range systemWrite {
		if err := l.path(path, 0, fileWrite|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	for _, path := range c.Read {
		if err := l.path(path, treeRead, fileRead); err != nil {
			return err
		}
	}
	for _, path := range slices.Concat(write, c.Write) {
		if err := l.path(path, treeWrite, fileWrite); err != nil {
			return err
		}
	}
	for _, port := range c.Ports {
		rule := portRule{access: unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, port: uint64(port)}
		if c.Network {
			break
		}
		if err := l.add(rulePort, unsafe.Pointer(&rule)); err != nil {
			return fmt.Errorf("port %d: %w", port, err)
		}
	}
	return nil
}

// path allows what is at path, and below it where it is a folder.
func (l *landlock) path(path string, tree, file uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%q cannot be granted: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("%q cannot be granted: %w", path, err)
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: file, Parent_fd: int32(fd)}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access = tree
	}
	if err := l.add(unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule)); err != nil {
		return fmt.Errorf("%q cannot be granted: %w", path, err)
	}
	return nil
}

func (l *landlock) add(kind uintptr, rule unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(l.rules), kind, uintptr(rule), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// enter confines the calling thread, and all that it forks, for good.
func (l *landlock) enter() error {
	runtime.LockOSThread() // for good: whoever calls it must not unlock
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("confine: no new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(l.rules), 0, 0); errno != 0 {
		return fmt.Errorf("confine: take on the rules: %w", errno)
	}
	if len(l.filter) == 0 {
		return nil
	}
	prog := unix.SockFprog{Len: uint16(len(l.filter)), Filter: &l.filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("confine: filter system calls: %w", errno)
	}
	return nil
}

func (l *landlock) close() {
	if l.rules >= 0 {
		_ = unix.Close(l.rules)
		l.rules = -1
	}
}

// interpreters returns what the first lines of scripts name, one after the other.
func interpreters(program string) []string {
	var all []string
	for range 4 {
		f, err := os.Open(program)
		if err != nil {
			break
		}
		var head [256]byte
		n, _ := f.Read(head[:])
		_ = f.Close()
		line, _, _ := strings.Cut(string(head[:n]), "\n")
		line, ok := strings.CutPrefix(line, "#!")
		words := strings.Fields(line)
		if !ok || len(words) == 0 || !filepath.IsAbs(words[0]) {
			break
		}
		program = words[0]
		all = append(all, program)
	}
	return all
}

// archs are the machines whose system calls the filter knows: the name of the
// machine in audit records, and the number of socket(2).
var archs = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// socketFilter returns a filter that lets no socket come to be but those that c
// allows. Landlock alone knows of TCP and of nothing else.
func socketFilter(c *Confinement) ([]unix.SockFilter, error) {
	arch, ok := archs[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("the network cannot be taken away on %s: write network: true", runtime.GOARCH)
	}
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atop  = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K

		// Offsets in struct seccomp_data; the low half of an argument is first.
		number, machine, args = 0, 4, 16

		x32      = 0x40000000
		typeMask = 0xf
		allow    = unix.SECCOMP_RET_ALLOW
		denied   = unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)
		missing  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	op := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	jump := func(code uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k}
	}
	prog := []unix.SockFilter{
		op(load, machine),
		jump(equal, arch, 1, 0), op(ret, missing), // other system calls of the same machine
		op(load, number),
		jump(atop, x32, 0, 1), op(ret, missing),
		jump(equal, unix.SYS_IO_URING_SETUP, 0, 1), op(ret, missing), // it makes sockets too
		jump(equal, unix.SYS_SOCKET, 1, 0), op(ret, allow),
	}
	if len(c.Ports) == 0 {
		return append(prog, op(ret, denied)), nil
	}
	prog = append(prog,
		op(load, args),
		jump(equal, unix.AF_INET, 2, 0), jump(equal, unix.AF_INET6, 1, 0), op(ret, denied),
		op(load, args+8), op(and, typeMask),
	)
	if slices.Contains(c.Ports, 53) {
		prog = append(prog, jump(equal, unix.SOCK_DGRAM, 0, 1), op(ret, allow))
	}
	return append(prog,
		jump(equal, unix.SOCK_STREAM, 1, 0), op(ret, denied),
		op(load, args+16),
		jump(equal, 0, 1, 0), jump(equal, unix.IPPROTO_TCP, 0, 1), op(ret, allow),
		op(ret, denied),
	), nil
}
