package host

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

// An Interpreter is a Python of this machine.
type Interpreter struct {
	Path    string
	Version string
	Prefix  []string // folders that it needs besides Folders
}

// describePython prints what there is to know of an interpreter.
const describePython = `import sys, json, os
print(json.dumps([os.path.realpath(sys.executable) if sys.prefix == sys.base_prefix else sys.executable,
 sys.version.split()[0], [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))], sys.version_info[0]]))`

// Interpreters returns those that may be used, best first: the one that is named, or
// those of a PATH. They are asked outside of any sandbox: they belong to the machine,
// as this program does.
func Interpreters(ctx context.Context, named, path string) ([]Interpreter, error) {
	names := []string{named}
	if named == "" {
		names = nil
		for _, dir := range filepath.SplitList(path) {
			names = append(names, filepath.Join(dir, "python3"))
		}
		names = append(names, "/usr/bin/python3", "/usr/local/bin/python3")
	}
	var all []Interpreter
	var failed error
	for _, name := range names {
		if !filepath.IsAbs(name) {
			if named != "" {
				return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: "option python: give the whole path of the interpreter"}
			}
			continue
		}
		if _, err := os.Stat(name); err != nil {
			failed = err
			continue
		}
		p, err := ask(ctx, name, path)
		if err != nil {
			failed = err
			continue
		}
		if !slices.ContainsFunc(all, func(q Interpreter) bool { return q.Path == p.Path }) {
			all = append(all, p)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	text := "there is no Python on this machine: install python3, or name one in the option python"
	if named != "" {
		text = fmt.Sprintf("option python: %s does not work: %v", named, failed)
	}
	return nil, &sandbox.Error{Kind: sandbox.Unavailable, Text: text}
}

func ask(ctx context.Context, name, path string) (Interpreter, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, "-I", "-c", describePython)
	cmd.Env, cmd.Dir = []string{"PATH=" + path, "LC_ALL=C.UTF-8"}, "/"
	cmd.WaitDelay = time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return Interpreter{}, fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(said.String()))
	}
	var got struct {
		path, version string
		prefix        []string
		major         int
	}
	if err := json.Unmarshal(out.Bytes(), &[]any{&got.path, &got.version, &got.prefix, &got.major}); err != nil || got.major != 3 {
		return Interpreter{}, fmt.Errorf("%s is no Python 3", name)
	}
	p := Interpreter{Path: got.path, Version: got.version}
	slices.Sort(got.prefix)
	for _, dir := range slices.Compact(got.prefix) {
		if err := sensible(dir); err != nil {
			return Interpreter{}, fmt.Errorf("%s: %w", name, err)
		}
		within := slices.ContainsFunc(append(slices.Clone(p.Prefix), Folders...), func(shown string) bool {
			return dir == shown || strings.HasPrefix(dir, shown+"/")
		})
		if !within {
			p.Prefix = append(p.Prefix, dir)
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
