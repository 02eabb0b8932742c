package gvisor_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/gvisor"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "hold" {
		fmt.Fprintln(os.Stderr, hold(os.Args[2], os.Args[3], os.Args[4]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func newBackend(t testing.TB, o gvisor.Options) *gvisor.Backend {
	t.Helper()
	if o.Path == "" {
		o.Runsc = testenv.Program(t, "runsc")
	}
	if o.Python == "" {
		o.Python = "/usr/bin/python3"
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "sandboxes")
	}
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	b := gvisor.New(o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(o.Dir + "/*"); len(left) > 0 {
			t.Errorf("folders stay: %v", left)
		}
		if left := using(o.Dir); len(left) > 0 {
			t.Errorf("processes stay: %v", left)
		}
	})
	return b
}

func TestConformance(t *testing.T) {
	t.Parallel()
	sandboxtest.Conformance(t, func(t testing.TB) sandbox.Backend { return newBackend(t, gvisor.Options{}) }, sandboxtest.Options{})
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	sandboxtest.Network(t, func(t testing.TB) sandbox.Backend { return newBackend(t, gvisor.Options{}) }, sandboxtest.Options{Emulated: emulated})
}

// emulated are attempts that gVisor answers. It shows no sign of what keeps programs from
// other rights, and no program of its root has any (see TestRights).
var emulated = []string{"setuid_program"}

func TestEscape(t *testing.T) {
	t.Parallel()
	sandboxtest.Escape(t, func(t testing.TB) sandbox.Backend { return newBackend(t, gvisor.Options{}) },
		sandboxtest.Options{Fixed: true, Emulated: emulated, Files: 3000})
}

// TestManyFiles makes more files than any disk has room for: they cost memory, and that
// is bounded.
func TestManyFiles(t *testing.T) {
	testenv.Long(t)
	x := sandboxtest.Create(t, newBackend(t, gvisor.Options{}), sandbox.Spec{Memory: 64 << 20, Disk: 1 << 20})
	o, err := x.Code(t.Context(), sandbox.Cell{Source: "for n in range(400_000): open('f%d' % n, 'w')", Timeout: 3 * time.Minute})
	if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Kind != sandbox.Gone || !strings.Contains(e.Text, "memory") {
		t.Errorf("%v, %+v", err, o)
	}
}

func TestControl(t *testing.T) { sandboxtest.Control(t, "/usr/bin/python3") }

// TestRights looks from inside at what code may do, and at what an old runsc does with
// the programs of this machine.
func TestRights(t *testing.T) {
	t.Parallel()
	b := newBackend(t, gvisor.Options{})
	x := sandboxtest.Create(t, b, sandbox.Spec{})
	o := sandboxtest.Py(t, x, `import ctypes, os
writable = [m.split()[1] for m in open("/proc/mounts") if m.split()[3].startswith("rw") and m.split()[2] not in ("proc", "sysfs", "devpts")]
ctypes.CDLL(None).prctl(39, 0, 0, 0, 0), os.getresuid(), set(os.getgroups()) - {1000}, sorted(writable), oct(os.stat(".").st_mode), os.listdir("/home")`)
	if want := "(1, (1000, 1000, 1000), set(), ['/dev', '/dev/shm', '/home/user', '/tmp'], '0o40700', ['user'])"; o.Error != nil || o.Results[0].Text != want {
		t.Errorf("got %+v %+v", o, o.Error)
	}
	if o := sandboxtest.Sh(t, x, "for d in /dev /etc /usr /proc /sys / /home; do touch $d/x 2>/dev/null && echo $d; done; ls /dev"); o.ExitCode != 0 || strings.Contains(o.Stdout, "/") || strings.Contains(o.Stdout, "mem") {
		t.Errorf("got %+v", o)
	}
	o = sandboxtest.Py(t, x, `can = []
for of in ["fd/0", "fd/1", "mem", "cwd/x"]:
    for mode in "rb", "wb":
        try: can.append(open("/proc/1/" + of, mode))
        except OSError: pass
len(can)`)
	if want := "0"; o.Error != nil || o.Results[0].Text != want {
		t.Errorf("what holds the sandbox can be reached: %+v %+v", o, o.Error)
	}
	// What can be read of it says nothing of this machine but where its programs lie.
	o = sandboxtest.Py(t, x, `names = sorted(v.split("=")[0] for v in open("/proc/1/environ").read().split("\0") if v)
files = {l.split()[5] for l in open("/proc/1/maps") if len(l.split()) > 5 and l.split()[5].startswith("/")}
names, sorted(f for f in files if not f.startswith(("/usr/", __import__("sys").base_prefix + "/")))`)
	if want := "(['HOME', 'LANG', 'LC_ALL', 'PATH'], [])"; o.Error != nil || o.Results[0].Text != want {
		t.Errorf("what can be read of it: %+v %+v", o, o.Error)
	}
	status, err := b.Check(t.Context())
	if err != nil || status.Level != sandbox.LevelKernel {
		t.Errorf("%+v, %v", status, err)
	}
	list := sandboxtest.Sh(t, x, `mkdir d; echo four > d/f; ln -s f d/l; ls d; ls -l d | sed 1d; ls -la d | wc -l; stat -c "%s %n %F" d/f; ls nothing; ls -d d/*; stat --printf='%a\n' d/f`)
	lines := strings.Split(list.Stdout, "\n")
	if len(lines) < 9 || lines[0] != "f" || lines[1] != "l" || !strings.HasPrefix(lines[2], "-rw-r--r-- 1 user user 5 ") || !strings.HasSuffix(lines[3], "l -> f") ||
		lines[4] != "5" || lines[5] != "5 d/f regular file" || lines[6] != "d/f" || lines[8] != "644" || !strings.Contains(list.Stderr, "cannot access 'nothing'") {
		t.Errorf("got %+v", list)
	}
	if list := sandboxtest.Sh(t, x, "ls -l /proc/1/cwd d/f"); !strings.Contains(list.Stdout, " d/f") || strings.Contains(list.Stderr, "Traceback") {
		t.Errorf("a link that may not be read: %+v", list)
	}
}

// TestOptions says what is wrong, with the name of the option.
func TestOptions(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho one >&2; exit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    gvisor.Options
		want string
	}{
		{gvisor.Options{Path: empty + ":relative:"}, "there is no runsc in the PATH"},
		{gvisor.Options{Runsc: "runsc"}, "option gvisor_runsc"},
		{gvisor.Options{Runsc: empty}, "option gvisor_runsc"},
		{gvisor.Options{Runsc: file, Platform: "native"}, "option gvisor_platform"},
		{gvisor.Options{Runsc: file, Rootfs: "/"}, "option gvisor_rootfs"},
		{gvisor.Options{Runsc: file, Rootfs: "relative"}, "option gvisor_rootfs"},
		{gvisor.Options{Runsc: file, Rootfs: file}, "option gvisor_rootfs"},
		{gvisor.Options{Runsc: file, Python: "python3"}, "option python"},
		{gvisor.Options{Runsc: file, Python: "/usr/bin/python3"}, "makes no sandbox here"},
	} {
		c.o.Dir = filepath.Join(empty, "sandboxes")
		b := gvisor.New(c.o)
		_, err := b.Create(t.Context(), sandbox.Spec{})
		if e, ok := errors.AsType[*sandbox.Error](err); !ok || e.Kind != sandbox.Unavailable || !strings.Contains(e.Text, c.want) {
			t.Errorf("%+v: got %v", c.o, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPortable runs an interpreter that somebody has unpacked, below a folder that has
// another content in a sandbox.
func TestPortable(t *testing.T) {
	t.Parallel()
	python := sandboxtest.Portable(t)
	sandboxtest.Unpacked(t, newBackend(t, gvisor.Options{Python: python}), python)
	// Then it becomes part of a root, into which nothing is written.
	rootfs := t.TempDir()
	if err := errors.Join(os.Mkdir(rootfs+"/opt", 0o755), os.Chmod(rootfs, 0o755), os.Rename(filepath.Dir(filepath.Dir(python)), rootfs+"/opt/py")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/bin/sh", "/usr/bin/ls", "/usr/bin/python3"} {
		copyWithLibraries(t, path, rootfs)
	}
	before := entries(t, rootfs)
	b := newBackend(t, gvisor.Options{Rootfs: rootfs, Python: "/opt/py/bin/python3"})
	x := sandboxtest.Create(t, b, sandbox.Spec{})
	if o := sandboxtest.Py(t, x, "import sys, os\nopen('f', 'w').write('x')\nsys.prefix, os.path.exists('/usr/lib/x86_64-linux-gnu/perl-base'), os.access('/', os.W_OK), os.getcwd()"); o.Error != nil || o.Results[0].Text != "('/opt/py', False, False, '/home/user')" {
		t.Errorf("got %+v %+v", o, o.Error)
	}
	if o := sandboxtest.Sh(t, x, "ls; echo x > /x; echo x > /home/x"); o.Stdout != "f\n" || o.ExitCode == 0 {
		t.Errorf("got %+v", o)
	}
	if after := entries(t, rootfs); before != after {
		t.Errorf("the folder is changed: %d characters of names, and before %d", len(after), len(before))
	}
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		fmt.Fprintln(&all, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// copyWithLibraries copies a program and what it is linked with to the same paths below
// a folder.
func copyWithLibraries(t *testing.T, path, to string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ldd", path).Output()
	if err != nil {
		t.Skip("no ldd")
	}
	for f := range strings.FieldsSeq(path + " " + string(out)) {
		at := filepath.Join(to, f)
		if _, err := os.Stat(at); err == nil || !strings.HasPrefix(f, "/") {
			continue
		}
		b, err := os.ReadFile(f)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, b, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
}
