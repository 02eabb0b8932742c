//go:build linux && (amd64 || arm64)

package local

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// newest is the last system call that was looked at. Newer ones are not there.
const newest = 462

const (
	loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	isEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	isAtop   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	maskWith = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	answer   = unix.BPF_RET | unix.BPF_K

	callNumber, callMachine, callArg = 0, 4, 16 // offsets in struct seccomp_data; the low half of an argument is first
	retAllow                         = unix.SECCOMP_RET_ALLOW
	retDenied                        = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retMissing                       = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// denied are system calls that no program needs for computing: they make namespaces,
// mounts and other machines, look into processes, or reach parts of the kernel whose
// faults have been ways out.
var denied = []uint32{
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	unix.SYS_MBIND, unix.SYS_SET_MEMPOLICY, unix.SYS_SET_MEMPOLICY_HOME_NODE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_MEMFD_SECRET,
}

// shared are further ones where the sandbox shares its view of processes, files and
// messages with the rest of the machine, and only rules keep it apart: they act on
// what belongs to the same user and no rule covers.
var shared = []uint32{
	unix.SYS_SETPRIORITY, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR, unix.SYS_IOPRIO_SET,
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
	unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_SOCKET,
}

var killers = []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL}

// A program of the filter, as it is written.
type program []unix.SockFilter

func (p *program) op(code uint16, k uint32) { *p = append(*p, unix.SockFilter{Code: code, K: k}) }

func (p *program) jump(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

// call answers one system call.
func (p *program) call(number, result uint32) {
	p.jump(isEqual, number, 0, 1)
	p.op(answer, result)
}

// on runs the body, which answers, for one system call.
func (p *program) on(number uint32, body program) {
	p.jump(isEqual, number, 0, uint8(len(body)))
	*p = append(*p, body...)
}

// oneOf is a body that allows some values of an argument.
func oneOf(arg int, mask uint32, values ...uint32) program {
	var p program
	p.op(loadWord, uint32(callArg+8*arg))
	if mask != 0 {
		p.op(maskWith, mask)
	}
	for _, v := range values {
		p.call(v, retAllow)
	}
	p.op(answer, retDenied)
	return p
}

// noneOf is a body that denies some values of an argument.
func noneOf(arg int, values ...uint32) program {
	var p program
	p.op(loadWord, uint32(callArg+8*arg))
	for _, v := range values {
		p.call(v, retDenied)
	}
	p.op(answer, retAllow)
	return p
}

// newFilter returns the filter of a level. scoped says that signals cannot leave.
func newFilter(level string, scoped bool) program {
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME
	var p program
	p.op(loadWord, callMachine)
	p.jump(isEqual, auditArch, 1, 0)
	p.op(answer, retMissing) // the system calls of another machine
	p.op(loadWord, callNumber)
	p.jump(isAtop, newest+1, 0, 1)
	p.op(answer, retMissing) // with those of x32
	// No filter can read the arguments of clone3, and libraries know how to do without.
	p.call(unix.SYS_CLONE3, retMissing)
	p.on(unix.SYS_CLONE, oneOf(0, namespaces&^0xff, 0)) // the low byte is a signal
	p.on(unix.SYS_PERSONALITY, oneOf(0, 0, 0, 0xffffffff))
	p.on(unix.SYS_IOCTL, noneOf(1, unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD))
	for _, number := range append(denied, deniedHere...) {
		p.call(number, retDenied)
	}
	if level == sandbox.LevelNamespaces {
		// Not all families stay in a network namespace.
		p.on(unix.SYS_SOCKET, oneOf(0, 0, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6))
		p.on(unix.SYS_SOCKETPAIR, oneOf(0, 0, unix.AF_UNIX))
		p.op(answer, retAllow)
		return p
	}
	for _, number := range append(shared, sharedHere...) {
		p.call(number, retDenied)
	}
	p.on(unix.SYS_SOCKETPAIR, oneOf(0, 0, unix.AF_UNIX))
	p.on(unix.SYS_PRLIMIT64, oneOf(0, 0, 0)) // of oneself
	p.on(unix.SYS_UTIMENSAT, oneOf(1, 0, 0)) // of an open file
	if !scoped {
		for _, number := range killers {
			p.call(number, retDenied)
		}
	}
	p.op(answer, retAllow)
	return p
}

// filterCalls takes the filter on, for the calling thread and all that it starts.
func filterCalls(level string, scoped bool) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	filter := newFilter(level, scoped)
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("filter of system calls: %w", errno)
	}
	return nil
}
