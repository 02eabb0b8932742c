"""Stands in for ls, dir, vdir and stat where those of the machine do not run on this
version of gVisor. Knows what is used most, and says so of the rest."""
import grp, os, pwd, stat, sys, time

KNOWN = "aAlhRrtS1dFnipGoBUc"
ME = os.path.basename(sys.argv[0])


def stop(text, code):
    print("%s: %s" % (ME, text), file=sys.stderr)
    sys.exit(code)


def owner(table, number, numeric):
    try:
        return str(number) if numeric else table(number)[0]
    except KeyError:
        return str(number)


def size(n, human):
    if not human or n < 1024:
        return str(n)
    for unit in "KMGT":
        n /= 1024
        if n < 1024:
            break
    return ("%.1f%s" if n < 10 else "%.0f%s") % (n, unit)


def when(t, whole=False):
    form = "%Y-%m-%d %H:%M:%S" if whole else "%b %e %H:%M" if abs(time.time() - t) < 15552000 else "%b %e  %Y"
    return time.strftime(form, time.localtime(t))


def kind(mode):
    return {stat.S_IFREG: "regular file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symbolic link", stat.S_IFIFO: "fifo",
            stat.S_IFSOCK: "socket", stat.S_IFCHR: "character special file", stat.S_IFBLK: "block special file"}.get(stat.S_IFMT(mode), "unknown")


def mark(s, how):
    if "F" not in how and "p" not in how or not s:
        return ""
    if stat.S_ISDIR(s.st_mode):
        return "/"
    if "F" not in how:
        return ""
    return "@" if stat.S_ISLNK(s.st_mode) else "|" if stat.S_ISFIFO(s.st_mode) else "*" if stat.S_ISREG(s.st_mode) and s.st_mode & 0o111 else ""


def leads(path):
    """Where a link leads, as far as that may be known."""
    try:
        return " -> " + os.readlink(path)
    except OSError as e:
        print("%s: cannot read symbolic link '%s': %s" % (ME, path, e.strerror), file=sys.stderr)
        return ""


def shown(entries, how, total):
    """Prints names with what is known of each: (name, path, stat)."""
    if "U" not in how:
        key = (lambda e: -e[2].st_size) if "S" in how else (lambda e: -e[2].st_mtime_ns) if "t" in how else (lambda e: e[0].lstrip(".").lower())
        entries = sorted(sorted(entries, key=lambda e: e[0]), key=key, reverse="r" in how)
    if "l" not in how:
        for name, _, s in entries:
            print(("%7d " % s.st_ino if "i" in how else "") + name + mark(s, how))
        return
    if total:
        print("total", size(sum(s.st_blocks for _, _, s in entries) * 512, True) if "h" in how else sum(s.st_blocks for _, _, s in entries) // 2)
    rows = []
    for name, path, s in entries:
        to = leads(path) if stat.S_ISLNK(s.st_mode) else mark(s, how)
        length = "%d, %d" % (os.major(s.st_rdev), os.minor(s.st_rdev)) if stat.S_ISCHR(s.st_mode) or stat.S_ISBLK(s.st_mode) else size(s.st_size, "h" in how)
        rows.append([("%d " % s.st_ino if "i" in how else "") + stat.filemode(s.st_mode), str(s.st_nlink), owner(pwd.getpwuid, s.st_uid, "n" in how),
                     owner(grp.getgrgid, s.st_gid, "n" in how), length, when(s.st_mtime), name + to])
    wide = [max(len(r[i]) for r in rows) for i in range(6)] if rows else []
    for r in rows:
        print(r[0].ljust(wide[0]), r[1].rjust(wide[1]), r[2].ljust(wide[2]), r[3].ljust(wide[3]), r[4].rjust(wide[4]), r[5], r[6])


def ls(args):
    how, paths, failed = set("l" if ME == "vdir" else ""), [], 0
    for i, a in enumerate(args):
        if a == "--":
            paths += args[i + 1:]
            break
        longs = {"--all": "a", "--almost-all": "A", "--human-readable": "h", "--recursive": "R", "--reverse": "r", "--directory": "d", "--classify": "F"}
        if a.startswith("--color"):
            continue
        if a in longs:
            how.add(longs[a])
        elif len(a) > 1 and a[0] == "-":
            if a[1] == "-" or set(a[1:]) - set(KNOWN):
                stop("%s is not known here: this is a small stand-in, with -%s; or use find, or os.stat in Python" % (a, KNOWN), 2)
            how |= set(a[1:])
        else:
            paths.append(a)
    if how & {"n", "o"}:
        how.add("l")
    single, folders = [], []
    for path in paths or ["."]:
        try:
            s = os.lstat(path)
            if "d" not in how and (stat.S_ISDIR(s.st_mode) or "l" not in how and stat.S_ISLNK(s.st_mode) and os.path.isdir(path)):
                folders.append(path)
            else:
                single.append((path, path, s))
        except OSError as e:
            print("%s: cannot access '%s': %s" % (ME, path, e.strerror), file=sys.stderr)
            failed = 2
    shown(single, how, False)
    first = not single
    folders = sorted(folders)
    heads = len(paths) > 1 or "R" in how
    while folders:
        folder = folders.pop(0)
        try:
            names = os.listdir(folder)
        except OSError as e:
            print("%s: cannot open directory '%s': %s" % (ME, folder, e.strerror), file=sys.stderr)
            failed = 2
            continue
        if "a" in how:
            names += [".", ".."]
        elif "A" not in how:
            names = [n for n in names if not n.startswith(".")]
        entries = []
        for name in names:
            try:
                entries.append((name, os.path.join(folder, name), os.lstat(os.path.join(folder, name))))
            except OSError:
                failed = failed or 1
        if heads:
            print(("" if first else "\n") + folder + ":")
        first = False
        shown(entries, how, True)
        if "R" in how:
            folders[0:0] = sorted(p for n, p, s in entries if stat.S_ISDIR(s.st_mode) and n not in (".", ".."))
    return failed


def about(path, s, form):
    values = {
        "n": path, "N": "'%s'" % path, "s": s.st_size, "b": s.st_blocks, "B": 512, "o": s.st_blksize, "a": "%o" % stat.S_IMODE(s.st_mode), "A": stat.filemode(s.st_mode),
        "f": "%x" % s.st_mode, "F": kind(s.st_mode), "i": s.st_ino, "h": s.st_nlink, "u": s.st_uid, "g": s.st_gid, "U": owner(pwd.getpwuid, s.st_uid, False),
        "G": owner(grp.getgrgid, s.st_gid, False), "d": s.st_dev, "x": when(s.st_atime, True), "y": when(s.st_mtime, True), "z": when(s.st_ctime, True),
        "X": int(s.st_atime), "Y": int(s.st_mtime), "Z": int(s.st_ctime), "w": "-", "W": 0, "%": "%",
    }
    out, i = "", 0
    while i < len(form):
        if form[i] == "%" and i + 1 < len(form):
            out += str(values.get(form[i + 1], "?"))
            i += 1
        else:
            out += form[i]
        i += 1
    return out


def status(args):
    form, end, follow, paths, failed = None, "\n", False, [], 0
    while args:
        a = args.pop(0)
        if a in ("-c", "--format") and args:
            form = args.pop(0)
        elif a.startswith("--format=") or a.startswith("-c"):
            form = a.partition("=")[2] if a[1] == "-" else a[2:]
        elif a.startswith("--printf="):
            form, end = a[9:].replace("\\n", "\n").replace("\\t", "\t"), ""
        elif a in ("-L", "--dereference"):
            follow = True
        elif a == "--":
            paths += args
            break
        elif len(a) > 1 and a[0] == "-":
            stop("%s is not known here: this is a small stand-in, with -c, --printf and -L; or use os.stat in Python" % a, 1)
        else:
            paths.append(a)
    if not paths:
        stop("missing operand", 1)
    usual = "  File: %n\n  Size: %s\tBlocks: %b\tIO Block: %o\t%F\nInode: %i\tLinks: %h\nAccess: (%a/%A)\tUid: (%u/%U)\tGid: (%g/%G)\nAccess: %x\nModify: %y\nChange: %z"
    for path in paths:
        try:
            print(about(path, os.stat(path, follow_symlinks=follow), form or usual), end=end if form else "\n")
        except OSError as e:
            print("stat: cannot stat '%s': %s" % (path, e.strerror), file=sys.stderr)
            failed = 1
    return failed


try:
    code = status(sys.argv[1:]) if ME == "stat" else ls(sys.argv[1:])
    sys.stdout.flush()
except BrokenPipeError:
    os._exit(141)
sys.exit(code)
