//go:build unix

package proc_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// write makes a file and returns its path.
func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every error names the command and says what to do.
func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	text := write(t, filepath.Join(dir, "notes"), "some text\n", 0o644)
	noFirstLine := write(t, filepath.Join(dir, "plain"), "echo hello\n", 0o755)
	noInterpreter := write(t, filepath.Join(dir, "script"), "#!/nowhere/python\n", 0o755)
	t.Chdir(dir) // where a relative entry of PATH must not lead
	none := errors.New("any error")
	path := "PATH=" + dir
	for _, tt := range []struct {
		name string
		c    proc.Command
		kind error
		says string
	}{
		{"no command", proc.Command{}, none, "name a program"},
		{
			"not installed",
			proc.Command{Path: "npxx", Env: []string{path}},
			fs.ErrNotExist,
			`start "npxx": not found on the PATH of the child (` + dir + "): install it, or give the full path",
		},
		{"no PATH", proc.Command{Path: "npx", Env: []string{"A=b"}}, fs.ErrNotExist, "the PATH of the child is empty: set PATH"},
		{
			"a long PATH",
			proc.Command{Path: "npxx", Env: []string{"PATH=/usr/local/bin:/usr/bin" + strings.Repeat(":/opt/one/of/many/folders/bin", 40)}, Dir: dir},
			fs.ErrNotExist,
			"(/usr/local/bin:/usr/bin:/opt/one/of/many/folders/bin:/opt/one/of/many/folders/bin and 38 more)",
		},
		{"a relative PATH", proc.Command{Path: "script", Env: []string{"PATH=.:"}, Dir: dir}, fs.ErrNotExist, "not found on the PATH"},
		{"no file", proc.Command{Path: dir + "/gone"}, fs.ErrNotExist, "there is no file"},
		{"no file in the working directory", proc.Command{Path: "./gone", Dir: dir}, fs.ErrNotExist, dir + `/gone": correct the path`},
		{"a folder", proc.Command{Path: dir}, fs.ErrPermission, "is a folder"},
		{"not executable", proc.Command{Path: text}, fs.ErrPermission, "chmod +x"},
		{"not executable on the PATH", proc.Command{Path: "notes", Env: []string{path}}, fs.ErrPermission, "chmod +x"},
		{"no interpreter", proc.Command{Path: noInterpreter}, fs.ErrNotExist, "the interpreter that the first line of"},
		{"no program", proc.Command{Path: noFirstLine}, syscall.ENOEXEC, "a script needs a first line"},
		{"no working directory", proc.Command{Path: "sh", Dir: dir + "/gone"}, fs.ErrNotExist, "its working directory"},
		{"a file as working directory", proc.Command{Path: "sh", Dir: text}, fs.ErrNotExist, "is not a folder"},
		{"a zero byte", proc.Command{Path: "sh", Args: []string{"a\x00b"}}, none, "zero byte"},
		{"no variable", proc.Command{Path: "sh", Env: []string{"TOKEN"}}, none, "not NAME=value"},
		{"a zero byte in a variable", proc.Command{Path: "sh", Env: []string{"TOKEN=secret\x00"}}, none, `variable "TOKEN"`},
		{"too long", proc.Command{Path: "/bin/sh", Args: []string{strings.Repeat("x", 8<<20)}}, syscall.E2BIG, "shorten them"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newSpawner(t).Start(t.Context(), tt.c)
			switch {
			case err == nil:
				t.Fatal("started")
			case !errors.Is(tt.kind, none) && !errors.Is(err, tt.kind):
				t.Errorf("%v is not %v", err, tt.kind)
			case !strings.Contains(err.Error(), tt.says):
				t.Errorf("%q does not say %q", err, tt.says)
			case strings.Contains(err.Error(), "secret"):
				t.Errorf("%q tells a value", err)
			}
		})
	}
}

// output runs c to its end.
func output(t *testing.T, c proc.Command) string {
	t.Helper()
	p := start(t, newSpawner(t), c)
	defer stop(t, p)
	got, err := io.ReadAll(p.Stdout())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(got))
}

func TestLookup(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "one/tool"), "#!/bin/sh\necho one in $PWD: $0\n", 0o644)
	write(t, filepath.Join(dir, "two/tool"), "#!/bin/sh\necho \"two in $PWD: $1 $2\"\n", 0o755)
	if err := os.MkdirAll(filepath.Join(dir, "zero/tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	linked, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := "PATH=" + strings.Join([]string{dir + "/zero", dir + "/one", dir + "/two", "/usr/bin", "/bin"}, ":")
	// What is no shell's word stays as it is.
	args := []string{"$HOME; echo", "*"}
	for name, c := range map[string]proc.Command{
		"on the PATH":     {Path: "tool", Env: []string{"PATH=/nowhere", list}, Dir: linked},
		"by a relative":   {Path: "two/tool", Dir: linked},
		"by a full path":  {Path: dir + "/two/tool", Dir: linked},
		"dot and a slash": {Path: "./two/tool", Dir: linked, Env: []string{"PATH=/usr/bin:/bin"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Args = args
			if got, want := output(t, c), "two in "+linked+": $HOME; echo *"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// The child has the environment that it was given and the mark of its tree.
func TestEnvironmentOfTheChild(t *testing.T) {
	t.Setenv("SECRET_OF_OURS", "x")
	got := output(t, proc.Command{Path: "/usr/bin/env", Env: []string{"A=b", "TENON_TREE=outer.7;"}})
	mark, rest, _ := strings.Cut(got, "\n")
	if rest != "A=b" || !strings.HasPrefix(mark, "TENON_TREE=outer.7;") || !strings.HasSuffix(mark, ".1;") {
		t.Errorf("environment: %q", got)
	}
}
