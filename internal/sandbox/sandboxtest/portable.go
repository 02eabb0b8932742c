package sandboxtest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// Portable makes an interpreter that lies in a folder of its own, as one does that was
// unpacked by somebody: from that of the machine, without what tests do not need. It
// skips the test where the machine has none of the usual layout.
func Portable(t testing.TB) string {
	t.Helper()
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		t.Skip("no python3 of the system")
	}
	dir := t.TempDir()
	name := filepath.Base(python) // python3.11
	from, to := "/usr/lib/"+name, filepath.Join(dir, "lib", name)
	if _, err := os.Stat(from + "/os.py"); err != nil {
		t.Skip("the python3 of the system lies elsewhere")
	}
	err = errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.MkdirAll(to, 0o755), os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	if err == nil {
		err = copyFile(python, filepath.Join(dir, "bin", "python3"), 0o755)
	}
	left := []string{"test", "__pycache__", "idlelib", "tkinter", "lib2to3", "ensurepip", "pydoc_data", "dist-packages", "site-packages", "unittest", "distutils"}
	err = errors.Join(err, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		at := to + strings.TrimPrefix(path, from)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains(left, d.Name()) || strings.HasPrefix(d.Name(), "config-")):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(at, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		return copyFile(path, at, 0o644)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "bin", "python3")
}

func copyFile(from, to string, mode fs.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Unpacked checks that sandboxes of a back end, which was told of an interpreter of
// Portable, run that one and nothing of the system's.
func Unpacked(t *testing.T, b sandbox.Backend, python string) {
	t.Helper()
	x := Create(t, b, sandbox.Spec{})
	prefix := filepath.Dir(filepath.Dir(python))
	o := Py(t, x, "import sys, os, json, ctypes, ssl, subprocess\nfrom os.path import dirname\n"+
		"print(sys.prefix, sys.executable, dirname(dirname(dirname(os.__file__))), dirname(dirname(dirname(dirname(json.__file__)))), sep='\\n')\n"+
		"print(subprocess.run(['python3', '-c', 'import sys; print(sys.prefix)'], capture_output=True, text=True).stdout, end='')\n"+
		"print(any(p.startswith('/usr/') for p in sys.path), os.access(sys.prefix, os.W_OK))")
	if want := strings.Join([]string{prefix, python, prefix, prefix, prefix, "False " + "False", ""}, "\n"); o.Stdout != want {
		t.Errorf("got %q, %+v\nwant %q", o.Stdout, o.Error, want)
	}
	if o := Sh(t, x, "cd; ls -A"); o.Stdout != "" {
		t.Errorf("home holds %+v", o)
	}
}
