package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// An interpreter is a Python of this machine.
type interpreter struct {
	path    string
	version string
	prefix  []string // folders outside of /usr that it needs
}

// describePython prints what there is to know of an interpreter.
const describePython = `import sys, json, os
print(json.dumps([os.path.realpath(sys.executable) if sys.prefix == sys.base_prefix else sys.executable,
 sys.version.split()[0], [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))], sys.version_info[0]]))`

// interpreters returns those that may be used, best first. They are asked outside of
// any sandbox: they belong to the machine, as this program does.
func interpreters(ctx context.Context, o Options) ([]interpreter, error) {
	names := []string{o.Python}
	if o.Python == "" {
		names = nil
		for _, dir := range filepath.SplitList(o.Path) {
			names = append(names, filepath.Join(dir, "python3"))
		}
		names = append(names, "/usr/bin/python3", "/usr/local/bin/python3")
	}
	var all []interpreter
	var failed error
	for _, name := range names {
		if !filepath.IsAbs(name) {
			if o.Python != "" {
				return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: "option python: give the whole path of the interpreter"}
			}
			continue
		}
		if _, err := os.Stat(name); err != nil {
			failed = err
			continue
		}
		p, err := ask(ctx, name, o.Path)
		if err != nil {
			failed = err
			continue
		}
		if !slices.ContainsFunc(all, func(q interpreter) bool { return q.path == p.path }) {
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	text := "there is no Python on this machine: install python3, or name one in the option python"
	if o.Python != "" {
		text = fmt.Sprintf("option python: %s does not work: %v", o.Python, failed)
	}
	return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: text}
}

func ask(ctx context.Context, name, path string) (interpreter, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, "-I", "-c", describePython)
	cmd.Env, cmd.Dir = []string{"PATH=" + path, "LC_ALL=C.UTF-8"}, "/"
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return interpreter{}, fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(said.String()))
	}
	var got struct {
		path, version string
		prefix        []string
		major         int
	}
	if err := json.Unmarshal(out.Bytes(), &[]any{&got.path, &got.version, &got.prefix, &got.major}); err != nil || got.major != 3 {
		return interpreter{}, fmt.Errorf("%s is no Python 3", name)
	}
	p := interpreter{path: got.path, version: got.version}
	slices.Sort(got.prefix)
	for _, dir := range slices.Compact(got.prefix) {
		if err := sensible(dir); err != nil {
			return interpreter{}, fmt.Errorf("%s: %w", name, err)
		}
		within := slices.ContainsFunc(append(slices.Clone(p.prefix), systemFolders...), func(shown string) bool {
			return dir == shown || strings.HasPrefix(dir, shown+"/")
		})
		if !within {
			p.prefix = append(p.prefix, dir)
		}
	}
	return p, nil
}

// sensible refuses a folder that holds more than an interpreter.
func sensible(dir string) error {
	home, _ := os.UserHomeDir() // without one there is nothing to keep
	if slices.Contains([]string{"/", "/home", "/root", "/etc", "/var", "/tmp", "/opt", home}, dir) {
		return fmt.Errorf("its folder %s holds more than an interpreter, so it is not shown to a sandbox", dir)
	}
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("its folder %q is not absolute", dir)
	}
	return nil
}
