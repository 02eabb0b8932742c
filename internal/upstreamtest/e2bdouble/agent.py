"""The inside of a machine of the double: starts processes and reaches files as it is
told on its standard input, in lines of JSON, and answers on its standard output. It is
the first process of namespaces of its own; when its input ends, so does all."""
import base64, json, os, signal, stat, subprocess, sys, threading

lock = threading.Lock()
running = {}


def say(**message):
    line = json.dumps(message) + "\n"
    with lock:
        sys.stdout.write(line)
        sys.stdout.flush()


def forward(id, name, fd):
    while True:
        data = os.read(fd, 32768)
        if not data:
            break
        say(id=id, event="data", stream=name, data=base64.b64encode(data).decode())
    os.close(fd)


def start(m):
    """Starts a process; one that talks has descriptors 3 and 4 too."""
    ours, theirs, actions = {}, [], []
    plan = [("stdin", 0, True), ("stdout", 1, False), ("stderr", 2, False)]
    if m.get("talks"):
        plan += [("requests", 3, True), ("answers", 4, False)]
    for name, fd, writes in plan:
        r, w = os.pipe()
        if writes:
            r, w = w, r
        ours[name], high = r, 100 + fd
        os.dup2(w, high, inheritable=False)
        os.close(w)
        theirs.append(high)
        actions.append((os.POSIX_SPAWN_DUP2, high, fd))
    try:
        # The folder of a process is that of who starts it.
        with lock:
            os.chdir(m["cwd"])
            try:
                pid = os.posix_spawnp(m["argv"][0], m["argv"], m["env"], file_actions=actions, setsigdef=[signal.SIGINT, signal.SIGPIPE])
            finally:
                os.chdir("/")
    except OSError as e:
        for fd in list(ours.values()) + theirs:
            os.close(fd)
        say(id=m["id"], event="failed", text=str(e))
        return
    for fd in theirs:
        os.close(fd)
    if not m.get("stdin"):
        os.close(ours.pop("stdin"))
    running[m["id"]] = ours
    say(id=m["id"], event="start", pid=pid)
    readers = [threading.Thread(target=forward, args=(m["id"], n, ours[n]), daemon=True) for n in ("stdout", "stderr", "answers") if n in ours]
    for t in readers:
        t.start()

    def wait():
        if m.get("talks"):  # an interpreter has ended, whoever holds its output
            _, status = os.waitpid(pid, 0)
            for t in readers:
                t.join(0.3)
        else:  # as envd does: the end is told when the output has ended
            for t in readers:
                t.join()
            _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        say(id=m["id"], event="end", code=code)

    threading.Thread(target=wait, daemon=True).start()


def entry(path):
    s = os.lstat(path)
    target = None
    if stat.S_ISLNK(s.st_mode):
        target = os.readlink(path)
        try:
            target, s = os.path.realpath(path), os.stat(path)
        except OSError:
            pass
    kind = "DIRECTORY" if stat.S_ISDIR(s.st_mode) else "FILE" if stat.S_ISREG(s.st_mode) else "SYMLINK" if stat.S_ISLNK(s.st_mode) else "UNSPECIFIED"
    e = {"name": os.path.basename(path), "type": "FILE_TYPE_" + kind, "path": path, "size": str(s.st_size), "mode": stat.S_IMODE(s.st_mode),
         "permissions": stat.filemode(s.st_mode), "owner": "user", "group": "user", "modifiedTime": {"seconds": int(s.st_mtime)}}
    if target is not None:
        e["symlinkTarget"] = target
    return e


def walk(path, depth):
    out = []
    for name in sorted(os.listdir(path)):
        e = entry(os.path.join(path, name))
        out.append(e)
        if depth > 1 and e["type"] == "FILE_TYPE_DIRECTORY" and "symlinkTarget" not in e:
            out += walk(os.path.join(path, name), depth - 1)
    return out


def files(m):
    path = os.path.join("/home/user", m["path"])
    if m["do"] == "stat":
        return {"entry": entry(path)}
    if m["do"] == "list":
        path = os.path.realpath(path)
        if not os.path.isdir(path):
            os.listdir(path)  # for its error
        return {"entries": walk(path, max(1, m.get("depth", 0)))}
    if m["do"] == "mkdir":
        os.makedirs(path)
        return {"entry": entry(path)}
    if m["do"] == "move":
        to = os.path.join("/home/user", m["to"])
        os.makedirs(os.path.dirname(to), exist_ok=True)
        os.rename(path, to)
        return {"entry": entry(to)}
    if m["do"] == "remove":
        if os.path.isdir(path) and not os.path.islink(path):
            subprocess.run(["rm", "-rf", "--", path], check=True)
        elif os.path.lexists(path):
            os.remove(path)
        return {}
    if m["do"] == "read":
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise IsADirectoryError("path '%s' is a directory" % path)
        with open(path, "rb") as f:
            return {"data": base64.b64encode(f.read()).decode()}
    if m["do"] == "write":
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab" if m.get("more") else "wb") as f:
            f.write(base64.b64decode(m.get("data", "")))
        return {}
    raise ValueError(m["do"])


def main():
    os.umask(0o022)
    os.closerange(3, 1024)  # what the process of the test has inherited
    for line in sys.stdin:
        m = json.loads(line)
        if m["do"] == "start":
            start(m)
        elif m["do"] == "signal":
            try:
                os.kill(m["pid"], m["signal"])
            except OSError:
                pass
        elif m["do"] == "input":
            try:
                fd = running[m["id"]].get(m["stream"])
                if fd is None:
                    continue
                data = base64.b64decode(m.get("data", ""))
                while data:
                    data = data[os.write(fd, data):]
                if m.get("close"):
                    os.close(running[m["id"]].pop(m["stream"]))
            except OSError:
                pass
        else:
            try:
                say(id=m["id"], event="done", answer=files(m))
            except OSError as e:
                say(id=m["id"], event="failed", text=str(e), errno=e.errno or 21)


# The first process takes up those whose parents have ended.
child = os.fork()
while child:
    if os.wait()[0] == child:
        os._exit(0)
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
try:
    main()
except BaseException:
    import traceback
    traceback.print_exc()
os._exit(0)
