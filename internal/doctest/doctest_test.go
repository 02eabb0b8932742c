package doctest_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/doctest"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// Every example in README.md, in docs and in a bundled server's README.md does
// what the reader is shown.
func TestDocuments(t *testing.T) {
	root := testenv.Root(t)
	documents := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "servers/*/README.md"} {
		more, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, more...)
	}
	bin := build(t, root, "./cmd/tenon")
	for _, name := range documents {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := run(t, string(text), bin); err != nil {
				t.Error(err)
			}
		})
	}
}

// A document with a planted fault is seen to fail, and one without is not.
func TestPlantedFaults(t *testing.T) {
	for _, test := range []struct {
		name, document, want string
	}{
		{"no blocks", "# Title\n", ""},
		{"a command that works", "```sh run\ntrue\n```\n", ""},
		{"a command that fails", "Text\n\n```sh run\necho told\nfalse\n```\n", "line 3: exit status 1\ntold"},
		{"a command in a pipe that fails", "```sh run\nfalse | cat\n```\n", "line 1: exit status 1"},
		{"not chosen", "```sh\ntrue\n```\n", "needs the word run or norun"},
		{"chosen not to run", "```sh norun\nfalse\n```\n", ""},
		{"no end", "```sh run\ntrue\n", "has no end"},
		{"in a list", "1. Do\n\n   ```sh run\n   cat <<E\n   text\n   E\n   ```\n", ""},
		{"output as shown", "```console run\n$ echo a; echo b\na\nb\n$ echo c\nc\n```\n", ""},
		{"output of several lines left out", "```console run\n$ seq 100\n1\n...\n100\n```\n", ""},
		{"part of a line left out", "```console run\n$ echo took 12 ms\ntook ... ms\n```\n", ""},
		{"other output", "```console run\n$ echo a\na\n$ echo b\nc\n```\n", "line 4: printed\nb"},
		{"more output", "```console run\n$ seq 2\n1\n```\n", "line 2: printed\n1\n2"},
		{"a command over two lines", "```console run\n$ echo a \\\n>   b\na b\n```\n", ""},
		{"output without a command", "```console run\na\n```\n", "output before the first command"},
		{"a file", "```yaml file=a/b.yaml\nkey: $HOME\n```\n```console run\n$ cat a/b.yaml\nkey: $HOME\n```\n", ""},
		{"a variable and a folder stay", "```sh run\nmkdir d; cd d; x=1\n```\n```sh run\n[ $x = 1 ]; [ ${PWD##*/} = d ]\n```\n", ""},
		{"a process in the background stays", "```sh run\nsleep 60 &\n```\n```sh run\nkill -0 $!\n```\n", ""},
		{"a program", "```go\npackage main\n\nfunc main() {}\n```\n", ""},
		{"a program that does not build", "```go\npackage main\n\nfunc main() { x }\n```\n", "undefined: x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := run(t, test.document)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("a good document failed: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

// npx finds the pinned servers by name and version, without a network.
func TestServersFromNPM(t *testing.T) {
	testenv.NPMDir(t)
	const document = "```console run\n$ npx -y @modelcontextprotocol/server-memory@2026.8.31 2>&1\nKnowledge Graph MCP Server running on stdio\n```\n"
	if err := run(t, document); err != nil {
		t.Error(err)
	}
}

// run runs the examples of a document with the folders in path before the
// system's own.
func run(t *testing.T, text string, path ...string) error {
	blocks, err := doctest.Blocks(text)
	if err != nil {
		return err
	}
	var steps []doctest.Step
	for _, b := range blocks {
		if b.Program() {
			if err := buildProgram(t, b); err != nil {
				return err
			}
		}
		more, err := b.Steps()
		if err != nil {
			return err
		}
		steps = append(steps, more...)
	}
	if len(steps) == 0 {
		return nil
	}
	if runtime.GOOS == "windows" {
		t.Skip("the examples are for a POSIX shell")
	}
	return runSteps(t, steps, path)
}

func runSteps(t *testing.T, steps []doctest.Step, path []string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	project, home, out := t.TempDir(), t.TempDir(), t.TempDir()
	work := filepath.Join(project, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	// The folder above holds what npx would else fetch.
	modules := filepath.Join(npmDir(t), "node_modules")
	if err := os.Symlink(modules, filepath.Join(project, "node_modules")); err != nil {
		return err
	}
	path = append(path, filepath.Join(modules, ".bin"), os.Getenv("PATH"))
	bash := exec.CommandContext(ctx, "bash", "-c", doctest.Script(steps))
	bash.Dir = work
	bash.Env = []string{
		"PATH=" + strings.Join(path, string(os.PathListSeparator)),
		"npm_config_offline=true", "npm_config_update_notifier=false",
		"HOME=" + home, "XDG_CONFIG_HOME=" + home, "LANG=C.UTF-8", "DOCTEST_OUT=" + out,
	}
	var own bytes.Buffer
	bash.Stdout, bash.Stderr = &own, &own
	bash.WaitDelay = 10 * time.Second
	failed := bash.Run()
	for i, step := range steps {
		got, err := os.ReadFile(filepath.Join(out, strconv.Itoa(i)))
		if err != nil {
			return fmt.Errorf("line %d was not reached: %w\n%s", step.Line, failed, own.Bytes())
		}
		_, next := os.Stat(filepath.Join(out, strconv.Itoa(i+1)))
		if failed != nil && next != nil {
			return fmt.Errorf("line %d: %w\n%s%s", step.Line, failed, got, own.Bytes())
		}
		if step.Check && !doctest.Matches(step.Want, string(got)) {
			return fmt.Errorf("line %d: printed\n%swant\n%s", step.Line, got, step.Want)
		}
	}
	return failed
}

// npmDir returns the folder of the npm packages, there or not: most documents
// do without.
func npmDir(t *testing.T) string {
	dir := os.Getenv("TENON_TEST_NPM")
	switch {
	case dir == "":
		return filepath.Join(testenv.Root(t), ".cache", "npm")
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join(testenv.Root(t), dir)
}

// build builds a command of this module and returns the folder that holds it.
func build(t *testing.T, root, pkg string) string {
	bin := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin+string(filepath.Separator), pkg)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return bin
}

// buildProgram builds a Go program of a document against this module.
func buildProgram(t *testing.T, b doctest.Block) error {
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(b.Text), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "main"), file)
	cmd.Dir = testenv.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("line %d: %w\n%s", b.Line, err, out)
	}
	return nil
}
