def _probe():
    """Tries what must not work in a sandbox. Returns what has worked, and what is worth a note."""
    import ctypes, errno, os, platform, resource, socket, threading
    leaks, notes = [], []

    def status(key):
        for line in open("/proc/self/status"):
            if line.startswith(key + ":"):
                return line.split()[1]
        return ""
    if os.getuid() != 1000 or os.getgid() != 1000 or os.getgroups() not in ([], [1000]):
        leaks.append("run as user %d, groups %s" % (os.getuid(), os.getgroups()))
    for key, want in (("CapEff", 0), ("CapPrm", 0), ("CapBnd", 0), ("CapAmb", 0)):
        if int(status(key) or "1", 16) != want:
            leaks.append("have capabilities (%s)" % key)
    if status("NoNewPrivs") != "1":
        leaks.append("gain privileges by a program")
    if status("Seccomp") != "2":
        leaks.append("make any system call (no filter)")
    try:
        names = [l.split(":")[0].strip() for l in open("/proc/net/dev").readlines()[2:]]
        if set(names) - {"lo", "tunl0", "sit0", "ip6tnl0", "gre0", "gretap0", "erspan0", "ip_vti0", "ip6_vti0", "ip6gre0"}:
            leaks.append("see network interfaces: " + " ".join(names)[:100])
    except OSError:
        pass
    for path in ("/tenon", "/usr/tenon", "/etc/tenon", "/dev/tenon", "/run/tenon", "/var/tmp/tenon", "/proc/sys/kernel/core_pattern"):
        try:
            with open(path, "a"):
                leaks.append("write to " + path)
        except OSError:
            pass
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"):
        if os.path.exists(path):
            leaks.append("see the engine's socket " + path)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        x86 = platform.machine() == "x86_64"
        for name, on_x86, on_arm, args in (
                ("unshare", 272, 97, (0x10000000,)), ("clone into a namespace", 56, 220, (0x10010000, 0, 0, 0, 0)), ("clone3", 435, 435, (0, 0)),
                ("mount", 165, 40, (0, 0, 0, 0, 0)), ("ptrace", 101, 117, (2, os.getpid(), 0, 0)), ("bpf", 321, 280, (99, 0, 0)), ("io_uring", 425, 425, (0, 0)),
                ("keys", 250, 219, (0, -3, 0, 0, 0)), ("perf", 298, 241, (0, 0, 0, 0, 0)), ("userfaultfd", 323, 282, (1,)), ("setns", 308, 268, (-1, 0)),
                ("open_by_handle_at", 304, 265, (-1, 0, 0)), ("process_vm_readv", 310, 270, (1, 0, 0, 0, 0, 0))):
            if platform.machine() not in ("x86_64", "aarch64"):
                continue
            ctypes.set_errno(0)
            got = libc.syscall(ctypes.c_long(on_x86 if x86 else on_arm), *[ctypes.c_long(a) for a in args])
            if got >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.EACCES, errno.ENOSYS):
                leaks.append("call " + name)
    except Exception as e:
        notes.append("system calls were not tried one by one: %s" % type(e).__name__)
    for family in (16, 17, 38, 40):
        try:
            socket.socket(family, socket.SOCK_RAW).close()
            leaks.append("open a socket of family %d" % family)
        except OSError:
            pass
    try:
        t = threading.Thread(target=lambda: None)
        t.start()
        t.join()
    except RuntimeError:
        notes.append("threads do not work")
    def bound(*paths):
        for path in paths:
            try:
                text = open(path).read().split()[0]
                return text != "max" and int(text) < 1 << 60
            except (OSError, ValueError):
                pass
        return None
    g = "/sys/fs/cgroup"
    for what, paths in (("memory", ("/memory.max", "/memory/memory.limit_in_bytes")), ("processes", ("/pids.max", "/pids/pids.max"))):
        got = bound(*[g + p for p in paths])
        if got is False:
            leaks.append("use any number of processes" if what == "processes" else "use any amount of memory")
        elif got is None:
            notes.append("whether the engine bounds the %s cannot be seen from inside" % what)
    if resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY:
        leaks.append("write files of any size")
    import json
    print(json.dumps({"leaks": leaks, "notes": notes}))
_probe()
