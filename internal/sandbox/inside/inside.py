"""Works in a container for the program that started it, over its standard input and
output: starts processes and passes on what they print, and moves files in and out of
one folder. It is the first process in there and ends with its input.

A frame is a letter, a channel in four bytes, a length in four bytes, and that much.
Whoever is outside opens channels, and says how much he will take of each stream.
"""
import errno, json, os, select, signal, socket, stat, struct, sys, time

HOME = "/home/user"
LINKS, DEEP, PIECE, LISTED = 40, 60, 32768, 400000
WINDOW = 1 << 18  # what is sent of a stream before more of it is asked for
QUIET = 300  # seconds without a word, after which nobody is there any more


class Refused(Exception):
    """A reason, which is a word: whoever is outside says it in a sentence of his own."""


def explain(e):
    return Refused(errno.errorcode.get(e.errno, ""))


# Files.

def walk(path, make=False):
    """The folder that a path ends in, open, and the name in it, or None for the folder
    itself. Links are followed as far as they stay below HOME."""
    stack, parts, links = [os.dup(home)], path.split("/")[::-1], 0
    try:
        while parts:
            name = parts.pop()
            if name in ("", "."):
                continue
            if name == "..":
                if len(stack) == 1:
                    raise OSError(errno.ELOOP, "")
                os.close(stack.pop())
                continue
            last = not any(p not in ("", ".") for p in parts)
            try:
                target = os.readlink(name, dir_fd=stack[-1])
            except OSError as e:
                if e.errno == errno.ENOENT and make and not last:
                    os.mkdir(name, 0o755, dir_fd=stack[-1])
                elif e.errno not in (errno.EINVAL, errno.ENOENT):  # it is no link
                    raise
                if last:
                    return stack.pop(), name
                if len(stack) > DEEP:
                    raise OSError(errno.ENAMETOOLONG, "")
                stack.append(os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=stack[-1]))
                continue
            links += 1
            if target.startswith("/"):
                if target != HOME and not target.startswith(HOME + "/"):
                    raise OSError(errno.ELOOP, "")
                target = target[len(HOME):]
                while len(stack) > 1:
                    os.close(stack.pop())
            if links > LINKS:
                raise OSError(errno.ELOOP, "")
            parts.extend(target.split("/")[::-1])
        return stack.pop(), None
    finally:
        for fd in stack:
            os.close(fd)


def open_file(path, flags, make=False):
    folder, name = walk(path, make)
    try:
        if name is None:
            raise OSError(errno.EISDIR, "")
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, 0o644, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EISDIR if stat.S_ISDIR(os.fstat(fd).st_mode) else errno.ENXIO, "")
        except BaseException:
            os.close(fd)
            raise
        return fd
    finally:
        os.close(folder)


def about(s):
    kind = "file" if stat.S_ISREG(s.st_mode) else "directory" if stat.S_ISDIR(s.st_mode) else "symlink" if stat.S_ISLNK(s.st_mode) else "other"
    return {"size": s.st_size, "kind": kind, "modified": int(s.st_mtime)}


def listing(path, most):
    folder, name = walk(path)
    if name is not None:
        try:
            at = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = at
    out, more, room = [], False, LISTED

    def below(fd, prefix, depth):
        nonlocal more, room
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    try:
                        s = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    f = about(s)
                    f["path"] = (prefix + entry.name).encode("utf-8", "replace").decode()
                    room -= 2 * len(f["path"]) + 100
                    if room < 0 or len(out) >= most:
                        more = True
                        return
                    out.append(f)
                    if f["kind"] != "directory":
                        continue
                    if depth >= 20:
                        more = True
                        continue
                    try:
                        inner = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
                    except OSError:
                        continue
                    below(inner, prefix + entry.name + "/", depth + 1)
                    if room < 0 or len(out) >= most and more:
                        return
        finally:
            os.close(fd)

    below(folder, "", 0)
    return {"files": out, "more": more}


# Limits.

def first(*paths):
    for path in paths:
        try:
            with open(path) as f:
                return f.read(4096)
        except (OSError, UnicodeError):
            pass
    return ""


def number(text, key=None):
    words = text.split()
    try:
        return int(words[words.index(key) + 1] if key else words[0])
    except (ValueError, IndexError):
        return 0


def limits():
    g = "/sys/fs/cgroup"
    return {
        "memory": number(first(g + "/memory.current", g + "/memory/memory.usage_in_bytes")),
        "oom": number(first(g + "/memory.events", g + "/memory/memory.oom_control"), "oom_kill"),
        "full": number(first(g + "/pids.events", g + "/pids/pids.events"), "max"),
    }


# Channels.

class Channel:
    """What was opened: a process, or a file."""

    def __init__(self, number):
        self.number, self.pid = number, 0
        self.streams = {}            # number of a stream: [fd, how much is wanted]
        self.sink, self.held, self.over = -1, bytearray(), False  # what takes input
        self.conn = False            # a connection of somebody in here to the proxy
        self.path, self.left, self.failed = None, 0, None  # of a file that comes in

    def close(self):
        for s in list(self.streams):
            self.end(s)
        if self.sink >= 0:
            os.close(self.sink)
            self.sink = -1

    def end(self, s):
        os.close(self.streams.pop(s)[0])


CONNS = 64
channels, pids = {}, {}
proxy, conns = None, 1 << 31


def send(kind, channel, body=b""):
    frame = memoryview(struct.pack(">cII", kind, channel, len(body)) + body)
    while frame:
        frame = frame[os.write(1, frame):]


def reply(channel, **answer):
    send(b"r", channel, json.dumps(answer).encode())


def start(c, o):
    argv = o["argv"]
    if not argv[0]:
        argv[0] = sys.executable
    env = dict(os.environ)
    env.update(o.get("env") or {})
    theirs, actions = [], [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
    try:
        for n in (1, 2, 3, 4) if o.get("talks") else (1, 2):
            r, w = os.pipe()
            if n == 3:
                r, w = w, r
                c.sink = r
                os.set_blocking(r, False)
            else:
                c.streams[n] = [r, WINDOW]
            theirs.append(w)
            actions.append((os.POSIX_SPAWN_DUP2, w, n))
        c.pid = os.posix_spawnp(argv[0], argv, env, file_actions=actions, setpgroup=0, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ], setsigmask=[])
    finally:
        for fd in theirs:
            os.close(fd)
    pids[c.pid] = c
    try:  # whatever runs, we answer
        os.setpriority(os.PRIO_PROCESS, c.pid, 5)
    except OSError:
        pass
    try:  # where memory is short, this one goes before us
        with open("/proc/%d/oom_score_adj" % c.pid, "w") as f:
            f.write("900")
    except OSError:
        pass
    return {"pid": c.pid}


def put(c, o):
    c.sink, c.path, c.left = open_file(o["path"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, True), o["path"], o["max"]
    return {}


def get(c, o):
    fd = open_file(o["path"], os.O_RDONLY)
    c.streams[0] = [fd, WINDOW]
    return {"file": about(os.fstat(fd))}


def opened(kind, number, body):
    c = Channel(number)
    try:
        o = json.loads(body)
        if kind == b"l":
            return reply(number, list=listing(o["path"], o["max"]))
        if kind == b"m":
            return reply(number, limits=limits())
        if kind == b"n":
            listen(o)
            return reply(number)
        answer = {b"s": start, b"p": put, b"g": get}[kind](c, o)
    except OSError as e:
        c.close()
        return reply(number, error=str(explain(e)) or "other")
    except (MemoryError, RecursionError):
        c.close()
        return reply(number, error="ENOMEM")
    channels[number] = c
    reply(number, **answer)


def listen(o):
    """Takes connections to the proxy on our own loopback."""
    global proxy
    proxy = socket.socket()
    proxy.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    proxy.bind(("127.0.0.1", o["max"]))
    proxy.listen(CONNS)
    proxy.setblocking(False)


def accept():
    global conns
    try:
        s, _ = proxy.accept()
        fd = s.detach()
        os.set_blocking(fd, False)
        other = os.dup(fd)
    except OSError:
        return
    c = Channel(conns)
    conns += 1
    c.conn, c.streams[0], c.sink = True, [fd, WINDOW], other
    channels[c.number] = c
    send(b"o", c.number)


def data(c, body):
    if c.path is None:
        c.held += body
        return flush(c)
    if c.failed is not None:
        return
    try:
        c.left -= len(body)
        if c.left < 0:
            raise Refused("large")
        while body:
            body = body[os.write(c.sink, body):]
    except OSError as e:
        c.failed = explain(e)
    except Refused as e:
        c.failed = e


def flush(c):
    """Passes on input of a process as far as it takes it."""
    gone = 0
    try:
        while c.held and c.sink >= 0:
            n = os.write(c.sink, c.held[:PIECE])
            gone += n
            del c.held[:n]
    except BlockingIOError:
        pass
    except OSError:
        gone += len(c.held)
        c.held.clear()
    if c.conn and gone:
        send(b"a", c.number, struct.pack(">I", gone))
    if c.conn and c.over and not c.held:
        return drop(c)
    if c.over and not c.held and c.sink >= 0:
        os.close(c.sink)
        c.sink = -1


def finished(c):
    """The input of a channel has ended."""
    if c.path is None:
        c.over = True
        return flush(c)
    size = os.fstat(c.sink).st_size
    failed = c.failed
    drop(c)
    if failed is not None:
        return reply(c.number, error=str(failed) or "other")
    reply(c.number, file={"size": size, "kind": "file", "modified": int(time.time())})


def drop(c, whole=True):
    """Forgets a channel. Of a file that came in half nothing stays."""
    half = c.path is not None and (c.failed is not None or not whole)
    channels.pop(c.number, None)
    c.close()
    if half:
        try:
            folder, name = walk(c.path)
            try:
                os.unlink(name, dir_fd=folder)
            finally:
                os.close(folder)
        except (OSError, TypeError):
            pass


def handle(kind, number, body):
    if kind in (b"s", b"p", b"g", b"l", b"m", b"n"):
        return opened(kind, number, body)
    c = channels.get(number)
    if c is None:
        return  # it has ended meanwhile, or this is to say that somebody is there
    if kind == b"d":
        data(c, body)
    elif kind == b"e":
        finished(c)
    elif kind == b"c":
        s, n = struct.unpack(">BI", body)
        if s in c.streams:
            c.streams[s][1] += n
    elif kind == b"k" and c.pid in pids:
        try:
            os.killpg(c.pid, struct.unpack(">B", body)[0])
        except OSError:
            pass
    elif kind == b"x":
        drop(c, False)


def reap():
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        c = pids.pop(pid, None)
        if c is not None:
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
            send(b"z", c.number, struct.pack(">I", code))


def read(c, s):
    fd, wanted = c.streams[s]
    try:
        piece = os.read(fd, min(wanted, PIECE))
    except BlockingIOError:
        return
    except OSError:
        piece = b""
    if piece:
        c.streams[s][1] -= len(piece)
        return send(b"d", c.number, bytes([s]) + piece)
    c.end(s)
    send(b"e", c.number, bytes([s]))
    if s == 0 and not c.conn:
        drop(c)


def loop(woken):
    buffer, heard = bytearray(), time.monotonic()
    while True:
        poll, readers, writers = select.poll(), {}, {}
        poll.register(0, select.POLLIN)
        poll.register(woken, select.POLLIN)
        for c in channels.values():
            for s, (fd, wanted) in c.streams.items():
                if wanted > 0:
                    poll.register(fd, select.POLLIN)
                    readers[fd] = (c, s)
            if c.held and c.sink >= 0:
                poll.register(c.sink, select.POLLOUT)
                writers[c.sink] = c
        if proxy is not None and sum(c.conn for c in channels.values()) < CONNS:
            poll.register(proxy.fileno(), select.POLLIN)
        ready = poll.poll(10000)
        if time.monotonic() - heard > QUIET:
            return
        for fd, _ in ready:
            if fd == woken:
                try:
                    os.read(woken, 4096)
                except OSError:
                    pass
                reap()
            elif fd in writers:
                if writers[fd].sink == fd:
                    flush(writers[fd])
            elif proxy is not None and fd == proxy.fileno():
                accept()
            elif fd in readers:
                c, s = readers[fd]
                if channels.get(c.number) is c and s in c.streams and c.streams[s][0] == fd:
                    read(c, s)
        if any(fd == 0 for fd, _ in ready):
            piece = os.read(0, 1 << 18)
            if not piece:
                return
            buffer += piece
            heard = time.monotonic()
            while len(buffer) >= 9:
                kind, number, length = struct.unpack_from(">cII", buffer)
                if len(buffer) < 9 + length:
                    break
                body = bytes(buffer[9:9 + length])
                del buffer[:9 + length]
                handle(kind, number, body)


def step_down():
    """Where we are root, we become the user, and keep a mark of root: by that nobody of
    this user may look into us or take our descriptors, which not every kernel refuses
    for what is below. What we start loses the mark."""
    if os.getuid() == 0:
        s = os.stat(HOME)
        os.setgroups([])
        os.setresgid(s.st_gid, s.st_gid, 0)
        os.setresuid(s.st_uid, s.st_uid, 0)


def main():
    global home
    os.umask(0o022)
    step_down()
    os.closerange(3, 1024)
    while os.open("/dev/null", os.O_RDONLY) < 10:
        pass  # low descriptors are those of processes
    try:  # nobody in here reads our memory or takes our descriptors
        import ctypes
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    except Exception:
        pass
    os.set_blocking(0, True)
    os.set_blocking(1, True)
    home = os.open(HOME, os.O_RDONLY | os.O_DIRECTORY)
    os.chdir(HOME)
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for s in range(1, signal.NSIG):  # whoever is in here may send them to everybody
        try:
            signal.signal(s, lambda *_: None)
        except (OSError, ValueError):
            pass
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    send(b"r", 0, json.dumps({"python": sys.version.split()[0]}).encode())
    try:
        loop(woken)
    except (BrokenPipeError, ConnectionError):
        pass
    for pid in list(pids):
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass
    os._exit(0)


main()
