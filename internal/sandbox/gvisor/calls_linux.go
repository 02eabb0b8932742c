package gvisor

// gVisor answers all system calls itself, and harm to this machine is beyond them. Those
// that no ordinary program needs are refused all the same, so that less of it can be
// tried for faults.
var refused = []string{
	"unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
	"keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"io_setup", "io_submit", "name_to_handle_at", "open_by_handle_at", "fanotify_init", "fanotify_mark",
	"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd",
	"settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname", "setdomainname", "vhangup", "personality",
}

// newNamespaces are the flags of clone that make one, each a bit.
var newNamespaces = []uint64{0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000}

type (
	seccomp struct {
		DefaultAction string    `json:"defaultAction"`
		Architectures []string  `json:"architectures"`
		Syscalls      []syscall `json:"syscalls"`
	}
	syscall struct {
		Names  []string   `json:"names"`
		Action string     `json:"action"`
		Args   []argument `json:"args,omitempty"`
	}
	argument struct {
		Index    uint   `json:"index"`
		Value    uint64 `json:"value"`
		ValueTwo uint64 `json:"valueTwo"`
		Op       string `json:"op"`
	}
)

// filter is that of system calls.
func filter(machine string) *seccomp {
	arch, known := map[string]string{"amd64": "SCMP_ARCH_X86_64", "arm64": "SCMP_ARCH_AARCH64"}[machine]
	if !known {
		return nil
	}
	const deny = "SCMP_ACT_ERRNO"
	s := &seccomp{DefaultAction: "SCMP_ACT_ALLOW", Architectures: []string{arch}, Syscalls: []syscall{{Names: refused, Action: deny}}}
	for _, bit := range newNamespaces {
		s.Syscalls = append(s.Syscalls, syscall{Names: []string{"clone"}, Action: deny, Args: []argument{{Value: bit, ValueTwo: bit, Op: "SCMP_CMP_MASKED_EQ"}}})
	}
	for _, family := range []uint64{16, 17, 38, 40} { // netlink, packets, ciphers of the kernel, the host of a virtual machine
		s.Syscalls = append(s.Syscalls, syscall{Names: []string{"socket"}, Action: deny, Args: []argument{{Value: family, Op: "SCMP_CMP_EQ"}}})
	}
	s.Syscalls = append(s.Syscalls, syscall{Names: []string{"ioctl"}, Action: deny, Args: []argument{{Index: 1, Value: 0x5412, Op: "SCMP_CMP_EQ"}}}) // typing into a terminal
	return s
}
