package docker

import "strings"

// A Filter is a filter of system calls as engines take it.
type Filter struct {
	DefaultAction   string `json:"defaultAction"`
	DefaultErrnoRet uint   `json:"defaultErrnoRet"`
	Syscalls        []Rule `json:"syscalls"`
}

// A Rule answers some system calls.
type Rule struct {
	Names    []string `json:"names"`
	Action   string   `json:"action"`
	ErrnoRet *uint    `json:"errnoRet,omitempty"`
	Args     []Arg    `json:"args,omitempty"`
}

// An Arg is a condition on an argument: what of it is under the mask is the value.
type Arg struct {
	Index    uint   `json:"index"`
	Value    uint64 `json:"value"`    // the mask
	ValueTwo uint64 `json:"valueTwo"` // the value
	Op       string `json:"op"`
}

const (
	allow  = "SCMP_ACT_ALLOW"
	refuse = "SCMP_ACT_ERRNO"
	eperm  = 1
	enosys = 38
	low    = 0xffffffff // the kernel looks at this half of most arguments only
	// namespaces are the flags of clone that make one.
	namespaces = 0x7e020000
)

// harmless are the system calls that programs need, for files, memory, processes and
// time. What is not here is refused: what makes namespaces and mounts, looks into
// other processes, loads code into the kernel or reaches parts of it whose faults have
// been ways out (bpf, perf, io_uring, userfaultfd, keys), and what is newer than this
// list.
const harmless = `
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 open openat openat2 creat close close_range
lseek _llseek dup dup2 dup3 fcntl fcntl64 flock pipe pipe2 sendfile sendfile64 splice tee vmsplice copy_file_range
stat stat64 lstat lstat64 fstat fstat64 newfstatat fstatat64 statx access faccessat faccessat2 statfs statfs64 fstatfs fstatfs64
getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir link linkat symlink symlinkat readlink readlinkat unlink unlinkat
rename renameat renameat2 mknod mknodat chmod fchmod fchmodat fchmodat2 chown chown32 fchown fchown32 fchownat lchown lchown32
utime utimes utimensat utimensat_time64 futimesat truncate truncate64 ftruncate ftruncate64 fallocate fadvise64 fadvise64_64 arm_fadvise64_64
sync syncfs fsync fdatasync sync_file_range sync_file_range2 readahead umask
getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
mmap mmap2 munmap mremap mprotect madvise msync mincore mlock mlock2 munlock mlockall munlockall brk membarrier memfd_create
pkey_alloc pkey_free pkey_mprotect get_mempolicy remap_file_pages map_shadow_stack mseal cachestat
fork vfork execve execveat exit exit_group wait4 waitid waitpid kill tkill tgkill
getpid getppid gettid getpgid getpgrp setpgid getsid setsid pidfd_open pidfd_send_signal prctl arch_prctl set_tid_address
set_thread_area get_thread_area set_robust_list get_robust_list rseq futex futex_time64 futex_waitv futex_wake futex_wait futex_requeue
getuid getuid32 geteuid geteuid32 getgid getgid32 getegid getegid32 getresuid getresuid32 getresgid getresgid32 getgroups getgroups32
setuid setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32 setresuid setresuid32 setresgid setresgid32 setgroups setgroups32 setfsuid setfsuid32 setfsgid setfsgid32
capget capset getrlimit ugetrlimit setrlimit prlimit64 getrusage times sysinfo uname getcpu getpriority setpriority ioprio_get ioprio_set
sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_setparam sched_getscheduler sched_setscheduler sched_getattr sched_setattr
sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_rr_get_interval_time64
rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_sigqueueinfo rt_tgsigqueueinfo
sigaction sigprocmask sigreturn sigpending sigsuspend sigaltstack signalfd signalfd4 pause alarm restart_syscall
poll ppoll ppoll_time64 select _newselect pselect6 pselect6_time64 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2
nanosleep clock_nanosleep clock_nanosleep_time64 clock_gettime clock_gettime64 clock_getres clock_getres_time64 gettimeofday time
getitimer setitimer timer_create timer_settime timer_settime64 timer_gettime timer_gettime64 timer_getoverrun timer_delete
timerfd_create timerfd_settime timerfd_settime64 timerfd_gettime timerfd_gettime64 getrandom
bind listen accept accept4 connect getsockname getpeername getsockopt setsockopt shutdown
send recv sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg recvmmsg_time64
shmget shmat shmdt shmctl semget semop semctl semtimedop semtimedop_time64 msgget msgsnd msgrcv msgctl
mq_open mq_unlink mq_timedsend mq_timedsend_time64 mq_timedreceive mq_timedreceive_time64 mq_notify mq_getsetattr
landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp
breakpoint cacheflush set_tls get_tls riscv_flush_icache riscv_hwprobe
`

// missing are answered as by a kernel that does not have them: libraries know how to
// do without. No filter can read the flags of clone3.
const missing = "clone3"

// Profile returns the filter of the sandboxes. It knows the machine's own system calls
// alone: those of another architecture or mode end the process.
func Profile() Filter {
	errno := uint(enosys)
	f := Filter{DefaultAction: refuse, DefaultErrnoRet: eperm, Syscalls: []Rule{
		{Names: strings.Fields(harmless), Action: allow},
		{Names: strings.Fields(missing), Action: refuse, ErrnoRet: &errno},
	}}
	only := func(name string, index uint, mask uint64, values ...uint64) {
		for _, v := range values {
			f.Syscalls = append(f.Syscalls, Rule{Names: []string{name}, Action: allow, Args: []Arg{{index, mask, v, "SCMP_CMP_MASKED_EQ"}}})
		}
	}
	only("clone", 0, namespaces, 0)
	const unix, inet, inet6 = 1, 2, 10
	only("socket", 0, low, unix, inet, inet6) // the others do not end at a network namespace
	only("socketpair", 0, low, unix)
	only("personality", 0, low, 0, 8, 0xffffffff)
	// Of terminals what programs ask; nothing that types into one or changes its kind.
	only("ioctl", 1, low&^0xf, 0x5400, 0x5430, 0x5440, 0x5450, 0x5460)
	only("ioctl", 1, low, 0x5410, 0x5411, 0x5413, 0x5414, 0x5415, 0x5416, 0x5417, 0x5418, 0x5419, 0x541a, 0x541b, 0x5420, 0x5421, 0x5422, 0x5424, 0x5425, 0x5426, 0x5427, 0x5428, 0x5429,
		0x802c542a, 0x402c542b, 0x402c542c, 0x402c542d, 0x80045430, 0x40045431, 0x80045438, 0x5441)
	only("ioctl", 1, low&^0xff, 0x8900)                                               // of sockets
	only("ioctl", 1, low, 0x40049409, 0x4020940d, 0x80086601, 0x40086602, 0x80087601) // of files: copies, flags
	return f
}
