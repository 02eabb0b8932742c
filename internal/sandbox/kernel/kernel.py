"""Runs cells of Python for the sandbox that started it, and keeps their state.

Requests come on descriptor 3 and answers go to descriptor 4: JSON behind its
length in four bytes. What cells print goes where it always goes; behind each cell
both streams get the mark that came with it.
"""
import ast, base64, builtins, json, os, signal, struct, sys, time, types

TEXT, IMAGE, IMAGES, SHOWN = 20000, 2 << 20, 4, 50
MB = 1 << 20


class Shown(list):
    """What a cell shows, within so many characters and images."""

    def __init__(self):
        self.begin(TEXT)

    def begin(self, room):
        del self[:]
        self.room, self.images, self.missed = max(room, TEXT), 0, 0


class Children:
    """The children that cells have forked and not waited for. Once they have ended
    they are reaped here, for else they would count to the processes of the sandbox as
    long as the interpreter lives; a later wait for them is answered all the same."""

    def __init__(self):
        self.running, self.ended = set(), {}
        self.wait, self.waitpid = os.wait, os.waitpid
        for name in ("fork", "forkpty"):
            self.follow(name)
        os.wait, os.waitpid = self.waits, self.waits_for

    def follow(self, name):
        fork = getattr(os, name, None)
        if fork is None:
            return

        def followed():
            try:
                got = fork()
            except OSError:
                self.reap()  # there may be room then
                got = fork()
            pid = got[0] if isinstance(got, tuple) else got
            if pid:
                self.running.add(pid)
                self.ended.pop(pid, None)
            else:
                self.running.clear()
                self.ended.clear()
            return got
        setattr(os, name, followed)

    def reap(self, *_):
        modules = sys.modules
        theirs = set()
        try:
            if "multiprocessing.process" in modules:
                modules["multiprocessing.process"].active_children()
                theirs = {getattr(p._popen, "pid", None) for p in modules["multiprocessing.process"]._children}
            if "subprocess" in modules:
                modules["subprocess"]._cleanup()
        except Exception:
            pass
        for pid in list(self.running - theirs):
            try:
                got, status = self.waitpid(pid, os.WNOHANG)
            except OSError:
                self.running.discard(pid)
                continue
            if got:
                self.running.discard(pid)
                self.ended[pid] = status
                while len(self.ended) > 250:
                    del self.ended[next(iter(self.ended))]
        try:
            if "subprocess" in modules and os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                popen = modules["subprocess"].Popen
                for value in __import__("gc").get_objects():
                    if issubclass(type(value), popen):
                        value.poll()
        except Exception:
            pass

    def waits(self):
        if self.ended:
            return self.ended.popitem()
        return self.waitpid(-1, 0)

    def waits_for(self, pid, options):
        if pid == -1 and self.ended:
            return self.ended.popitem()
        try:
            if pid not in self.ended:
                return self.waitpid(pid, options)
        except ChildProcessError:  # it may have been reaped while a thread waited
            if pid not in self.ended:
                raise
        return pid, self.ended.pop(pid)


def main():
    for fd in (3, 4):
        os.set_inheritable(fd, False)
    requests, answers = os.fdopen(3, "rb"), os.fdopen(4, "wb")
    streams = [os.dup(1), os.dup(2)]
    module = types.ModuleType("__main__")
    module.__builtins__ = builtins
    sys.modules["__main__"] = module
    sys.path[0:0] = [""]
    sys.argv = [""]
    cells, me, shown, children = 0, os.getpid(), Shown(), Children()
    theirs = signal.SIG_DFL
    builtins.display = lambda *values: [keep(shown, v, False) for v in values] and None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        children.reap()
        signal.signal(signal.SIGCHLD, children.reap)  # those that end while nothing runs
        head = requests.read(4)
        if len(head) < 4:
            return
        request = json.loads(requests.read(struct.unpack(">I", head)[0]))
        cells += 1
        shown.begin(request.get("keep", TEXT))
        packages()
        signal.signal(signal.SIGCHLD, theirs)
        children.reap()
        began = time.perf_counter()
        error = run(module.__dict__, request["code"], "<cell %d>" % cells, shown)
        if os.getpid() != me:
            os._exit(0)  # the cell has forked, and this is the copy
        took = time.perf_counter() - began
        theirs = signal.getsignal(signal.SIGCHLD) or signal.SIG_DFL
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        for fd in streams:
            try:
                os.write(fd, request["mark"].encode())
            except OSError:
                pass
        answer = {"results": shown, "error": error, "took": took, "missed": shown.missed}
        body = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
        answers.write(struct.pack(">I", len(body)) + body)
        answers.flush()


def run(names, source, name, shown):
    import linecache
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    try:
        tree = ast.parse(source, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            exec(compile(tree, name, "exec"), names)
            if last is not None:
                value = eval(compile(last, name, "eval"), names)
                if value is not None:
                    names["_"] = value
                    keep(shown, value, True)
            figures(shown)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except BaseException as e:
        return told(e)
    return None


def told(e):
    import traceback
    try:
        tb = e.__traceback__
        while tb is not None and tb.tb_frame.f_code.co_filename == __file__:
            tb = tb.tb_next
        lines = traceback.format_exception(type(e), e, tb)
        text = "".join(lines)
    except BaseException:
        text = ""
    try:
        value = str(e)
    except BaseException:
        value = ""
    if len(text) > 8000:
        text = text[:2000] + "\n[...]\n" + text[-6000:]
    return {"name": type(e).__name__, "value": plain(value[:2000]), "traceback": plain(text)}


def plain(text):
    return text.encode("utf-8", "replace").decode("utf-8")


def packages():
    """What a cell or a command has installed for the user can be imported."""
    site = sys.modules.get("site")
    if site is not None and site.ENABLE_USER_SITE:
        path = site.getusersitepackages()
        if path not in sys.path and os.path.isdir(path):
            site.addsitedir(path)


def keep(shown, value, main):
    if len(shown) >= SHOWN:
        shown.missed += 1
        if not main:
            return
        shown.pop()  # for the value of the last expression
    out, left = {}, []
    if main:
        out["main"] = True
    forms = (("png", "_repr_png_"), ("jpeg", "_repr_jpeg_"), ("markdown", "_repr_markdown_"), ("html", "_repr_html_"))
    try:
        text = repr(value)
    except Exception as e:
        text = "<%s whose repr failed: %s>" % (type(value).__name__, type(e).__name__)
    if len(text) > max(shown.room, 200):
        left.append("its text of %d characters is cut, of which %d had room" % (len(text), max(shown.room, 200)))
        text = text[:max(shown.room, 200)]
    shown.room -= len(text)
    out["text"] = plain(text)
    if not isinstance(value, type):
        for form, method in forms:
            try:
                method = getattr(value, method, None)
                got = method() if callable(method) else None
            except Exception:
                continue
            if isinstance(got, tuple):
                got = got[0]
            if form in ("png", "jpeg"):
                if isinstance(got, str):
                    try:
                        got = base64.b64decode(got)
                    except Exception:
                        continue
                if isinstance(got, (bytes, bytearray)):
                    image(shown, out, left, form, bytes(got))
            elif isinstance(got, str):
                if len(got) > shown.room:
                    left.append("its %s of %d characters is left out, for %d have room" % ("HTML" if form == "html" else "Markdown", len(got), max(shown.room, 0)))
                else:
                    shown.room -= len(got)
                    out[form] = plain(got)
    if left:
        out["cut"], out["left"] = True, left
    shown.append(out)


def image(shown, out, left, form, data):
    if len(data) > IMAGE:
        left.append("its image of %.1f MiB is left out, for an image may have %d MiB: make it smaller (figsize, dpi) or save it to a file" % (len(data) / MB, IMAGE // MB))
    elif shown.images >= IMAGES:
        left.append("its image is left out, for a cell shows at most %d: show the others in further cells" % IMAGES)
    else:
        shown.images += 1
        out[form] = base64.b64encode(data).decode()


def figures(shown):
    plots = sys.modules.get("matplotlib.pyplot")
    if plots is None:
        return
    import io
    for number in plots.get_fignums():
        figure = plots.figure(number)
        held = io.BytesIO()
        figure.savefig(held, format="png", bbox_inches="tight")
        plots.close(number)
        if len(shown) >= SHOWN:
            shown.missed += 1
            continue
        out, left = {"text": "figure %d" % number}, []
        image(shown, out, left, "png", held.getvalue())
        if left:
            out["cut"], out["left"] = True, left
        shown.append(out)


__file__ = "<string>"
main()
