"""Tries to get out of a sandbox. Prints, as JSON, what has worked."""
import ctypes, json, os, platform, signal, socket, subprocess, sys

T = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
worked = {}


def attempt(f):
    try:
        r = f()
        worked[f.__name__] = bool(r)
    except BaseException as e:
        worked[f.__name__] = False


def call(x86, arm, *args):
    ctypes.set_errno(0)
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    r = libc.syscall(ctypes.c_long(x86 if X86 else arm), *args)
    return r


def through(x86, arm, *args):
    """Whether the kernel has looked at a call at all."""
    r = call(x86, arm, *args)
    return r >= 0 or ctypes.get_errno() not in (1, 13, 38)  # EPERM, EACCES, ENOSYS


def has_word(path):
    with open(path, "rb") as f:
        return T["word"].encode() in f.read(1 << 20)


@attempt
def file_of_host():
    return has_word(T["file"])

@attempt
def file_by_link():
    os.symlink(T["file"], "link-out")
    try:
        return has_word("link-out")
    finally:
        os.unlink("link-out")

@attempt
def file_through_proc():
    return any(has_word("/proc/%s/root%s" % (p, T["file"])) for p in ("1", "self", str(T["victim"])) if os.path.exists("/proc/%s/root%s" % (p, T["file"])))

@attempt
def file_by_dotdot():
    return has_word("../" * 20 + T["file"].lstrip("/"))

@attempt
def shadow():
    return len(open("/etc/shadow").read()) > 0

@attempt
def home_of_host():
    return len(os.listdir(T["home"])) > 0

@attempt
def environment_of_host():
    for p in os.listdir("/proc") + [str(T["victim"])]:
        try:
            if p.isdigit() and has_word("/proc/%s/environ" % p):
                return True
        except OSError:
            pass

@attempt
def environment_of_parent():
    return has_word("/proc/1/environ") or has_word("/proc/%d/environ" % os.getppid())

@attempt
def write_on_host():
    open(os.path.join(T["dir"], "written"), "w").write("x")
    return True

@attempt
def write_usr():
    open("/usr/tenon-was-here", "w").write("x")
    os.unlink("/usr/tenon-was-here")
    return True

@attempt
def chmod_on_host():
    os.chmod(T["file"], 0o640)
    return True

@attempt
def touch_on_host():
    os.utime(T["file"], (1, 1))
    return True

@attempt
def core_pattern():
    open("/proc/sys/kernel/core_pattern", "r+").write(T["core"])
    return True

@attempt
def sysrq():
    open("/proc/sysrq-trigger", "w").close()
    return True

@attempt
def tcp():
    return socket.create_connection(("127.0.0.1", T["tcp"]), 1) is not None

@attempt
def metadata():
    return socket.create_connection(("127.254.169.254", T["tcp"]), 1) is not None

@attempt
def link_local():
    s = socket.socket()
    s.settimeout(1)
    return s.connect_ex(("169.254.169.254", 80)) in (0, 11, 110, 111)  # a way there, whoever answers

@attempt
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(("127.0.0.1", T["udp"]))
    s.send(T["word"].encode())
    s.settimeout(1)
    return s.recv(10) == b"heard"

@attempt
def unix_socket():
    socket.socket(socket.AF_UNIX).connect(T["unix"])
    return True

@attempt
def abstract_socket():
    socket.socket(socket.AF_UNIX).connect("\0" + T["abstract"])
    return True

@attempt
def raw_sockets():
    for family in (17, 38, 40, 16):  # packet, alg, vsock, netlink
        try:
            socket.socket(family, socket.SOCK_DGRAM if family == 16 else socket.SOCK_STREAM if family == 40 else socket.SOCK_SEQPACKET if family == 38 else socket.SOCK_RAW)
            return True
        except OSError:
            pass

@attempt
def kill_host():
    os.kill(T["victim"], signal.SIGUSR1)
    return T["shared"]

@attempt
def kill_everybody():
    if not T["inside"]:
        return True  # nobody does that to a machine
    os.kill(-1, signal.SIGUSR1) if os.getpid() > 1 and not T["shared"] else None
    return False

@attempt
def ptrace_host():
    return T["shared"] and call(101, 117, 16, T["victim"], 0, 0) == 0 and (call(101, 117, 17, T["victim"], 0, 0), True)[1]

@attempt
def ptrace_child():
    return through(101, 117, 2, os.getpid(), 0, 0)

@attempt
def read_memory():
    return through(310, 270, os.getpid(), 0, 0, 0, 0, 0)

@attempt
def mount():
    return through(165, 40, b"none", b"/nowhere", b"tmpfs", 0, 0)

@attempt
def new_mount():
    return through(430, 430, b"nothing", 0)

@attempt
def namespace():
    pid = os.fork()
    if pid == 0:
        os._exit(0 if libc.unshare(0x10000000) == 0 else 1)
    return os.waitpid(pid, 0)[1] == 0

@attempt
def namespace_by_clone():
    return through(56, 220, 0x10000000 | 0x10000, 0, 0, 0, 0)

@attempt
def namespace_by_clone3():
    return through(435, 435, 0, 0)

@attempt
def enter_namespace():
    return through(308, 268, -1, 0)

@attempt
def root():
    os.setresuid(0, 0, 0)
    return os.getuid() == 0 and T["shared"]

@attempt
def keys():
    return through(250, 219, 0, -3, 0, 0, 0) or through(248, 217, 0, 0, 0, 0, -3)

@attempt
def io_uring():
    return through(425, 425, 0, 0)

@attempt
def bpf():
    return through(321, 280, 99, 0, 0)

@attempt
def perf():
    return through(298, 241, 0, 0, 0, 0, 0)

@attempt
def userfault():
    return through(323, 282, 1)

@attempt
def modules():
    return through(313, 273, -1, b"", 0)

@attempt
def handles():
    return through(304, 265, -1, 0, 0)

@attempt
def terminal():
    return not through(16, 29, 0, 0x5412, 0) and False or (call(16, 29, 0, 0x5412, 0), ctypes.get_errno() not in (1,))[1]

@attempt
def host_name():
    return through(170, 161, 0, -1)

@attempt
def shared_memory():
    return T["shm"] and call(30, 196, T["shm"], 0, 0x1000) != -1

@attempt
def neighbour():
    open(os.path.join(T["neighbour"], "mine"), "w").write("changed")
    return True

@attempt
def neighbours():
    return len(os.listdir(os.path.dirname(T["neighbour"]))) > 0 if T["neighbour"].startswith("/var") or T["shared"] else False

@attempt
def setuid_program():
    for program in ("/usr/bin/su", "/usr/bin/mount", "/bin/su"):
        if os.path.exists(program):
            out = subprocess.run([sys.executable, "-c", "print(open('/proc/self/status').read())"], capture_output=True, text=True).stdout
            return "NoNewPrivs:\t1" not in out if out else not T["inside"]
    return False

@attempt
def more_memory():
    import resource
    resource.setrlimit(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return True

print(json.dumps(worked))
