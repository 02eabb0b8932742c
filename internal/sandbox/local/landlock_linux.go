package local

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Access rights of Landlock.
const (
	mayRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	mayList  = mayRead | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayWrite = mayRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	mayMake  = mayList | mayWrite | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
	everything = mayMake | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// The versions from which on Landlock can do what is wanted of it.
const (
	abiTruncate = 3 // Linux 6.2
	abiPorts    = 4 // Linux 6.7
	abiDevices  = 5 // Linux 6.10
	abiScopes   = 6 // Linux 6.12
)

func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// buildRules makes the rules that keep a thread, and all that it starts, from files
// that it was not given, and returns what takes them on.
func (l *launcher) buildRules() (func() error, error) {
	abi := landlockABI()
	if abi < abiTruncate {
		return nil, fmt.Errorf("this kernel has version %d of Landlock: 3 or newer is needed, of Linux 6.2", abi)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: %w", err)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: everything}
	if abi >= abiPorts {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= abiDevices {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= abiScopes {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("make rules: %w", errno)
	}
	fd := int(rules)
	unix.CloseOnExec(fd)
	python, _ := filepath.Glob("/etc/python3*") // the pattern is good
	for _, paths := range [][]string{systemFolders, systemFiles, python, l.plan.Prefix, {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu"}} {
		for _, path := range paths {
			if err := allow(fd, path, mayList, mayRead); err != nil && !errors.Is(err, unix.ENOENT) {
				return nil, err
			}
		}
	}
	for _, path := range devices {
		if err := allow(fd, path, 0, mayRead|unix.LANDLOCK_ACCESS_FS_WRITE_FILE); err != nil && !errors.Is(err, unix.ENOENT) {
			return nil, err
		}
	}
	if err := allow(fd, l.plan.Home, mayMake, 0); err != nil {
		return nil, err
	}
	return func() error { return l.enterRules(fd) }, nil
}

// allow lets what is at path, and below it where it is a folder, be used.
func allow(rules int, path string, tree, file uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("allow %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("allow %s: %w", path, err)
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: file, Parent_fd: int32(fd)}
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access = tree
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}

// enterRules takes the rules on with the calling thread, for good. Where root has
// started this, the thread becomes another user before it.
func (l *launcher) enterRules(rules int) error {
	runtime.LockOSThread() // for good
	defer func() { _ = unix.Close(rules) }()
	if l.plan.Drop {
		id := uintptr(l.plan.UID)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
			return fmt.Errorf("leave all groups: %w", errno)
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id); errno != 0 {
			return fmt.Errorf("change the group: %w", errno)
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id); errno != 0 {
			return fmt.Errorf("change the user: %w", errno)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return fmt.Errorf("take on the rules: %w", errno)
	}
	return nil
}
