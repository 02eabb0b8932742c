"""Runs cells of Python for the sandbox that started it, and keeps their state.

Requests come on descriptor 3 and answers go to descriptor 4: JSON behind its
length in four bytes. What cells print goes where it always goes; behind each cell
both streams get the mark that came with it.
"""
import ast, base64, builtins, json, os, signal, struct, sys, time, types

TEXT, IMAGE, IMAGES, SHOWN = 20000, 2 << 20, 4, 50


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
    cells, me, shown = 0, os.getpid(), []
    builtins.display = lambda *values: [keep(shown, v, False) for v in values] and None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        head = requests.read(4)
        if len(head) < 4:
            return
        request = json.loads(requests.read(struct.unpack(">I", head)[0]))
        cells += 1
        del shown[:]
        began = time.perf_counter()
        error = run(module.__dict__, request["code"], "<cell %d>" % cells, shown)
        if os.getpid() != me:
            os._exit(0)  # the cell has forked, and this is the copy
        took = time.perf_counter() - began
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
        answer = {"results": shown, "error": error, "took": took}
        body = json.dumps(answer).encode()
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


def keep(shown, value, main):
    if len(shown) >= SHOWN:
        return
    out = {}
    if main:
        out["main"] = True
    forms = (("html", "_repr_html_"), ("markdown", "_repr_markdown_"), ("svg", "_repr_svg_"),
             ("latex", "_repr_latex_"), ("png", "_repr_png_"), ("jpeg", "_repr_jpeg_"))
    if not isinstance(value, type):
        for form, method in forms:
            try:
                method = getattr(value, method, None)
                got = method() if callable(method) else None
            except Exception:
                continue
            if isinstance(got, tuple):
                got = got[0]
            image = form in ("png", "jpeg")
            if isinstance(got, str) and image:
                try:
                    got = base64.b64decode(got)
                except Exception:
                    continue
            if isinstance(got, (bytes, bytearray)) and image:
                if len(got) > IMAGE or sum(1 for s in shown if "png" in s or "jpeg" in s) >= IMAGES:
                    out["cut"] = True
                else:
                    out[form] = base64.b64encode(bytes(got)).decode()
            elif isinstance(got, str):
                if len(got) > TEXT:
                    out["cut"] = True
                else:
                    out[form] = plain(got)
    try:
        text = repr(value)
    except Exception as e:
        text = "<%s whose repr failed: %s>" % (type(value).__name__, type(e).__name__)
    if len(text) > TEXT:
        text, out["cut"] = text[:TEXT], True
    out["text"] = plain(text)
    shown.append(out)


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
        image = held.getvalue()
        out = {"text": "figure %d" % number}
        if len(image) > IMAGE or sum(1 for s in shown if "png" in s or "jpeg" in s) >= IMAGES:
            out["cut"] = True
        else:
            out["png"] = base64.b64encode(image).decode()
        shown.append(out)


__file__ = "<string>"
main()
