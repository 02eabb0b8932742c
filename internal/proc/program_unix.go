//go:build unix

package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A program is what a Command resolves to.
type program struct {
	path string
	attr *syscall.SysProcAttr
}

// program finds what c names.
func (c *Command) program() (program, error) {
	path, err := c.find()
	return program{path: path, attr: sessionOfItsOwn()}, err
}

func (c *Command) find() (string, error) {
	if strings.Contains(c.Path, "/") {
		path, err := c.absolute()
		if err != nil {
			return "", err
		}
		return path, executable(path)
	}
	list := getenv(c.Env, "PATH")
	var denied error
	for _, dir := range filepath.SplitList(list) {
		// A relative entry would make what runs depend on the folder we are in.
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, c.Path)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == nil {
			denied = err
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", c.notFound(list)
}

// executable says why path cannot be run, as far as can be told before trying.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problem{fs.ErrNotExist, fmt.Sprintf("there is no file %q: correct the path, or install it", path)}
	case err != nil:
		return err
	case info.IsDir():
		return problem{fs.ErrPermission, fmt.Sprintf("%q is a folder: name the program in it", path)}
	case info.Mode()&0o111 == 0:
		return problem{fs.ErrPermission, fmt.Sprintf("%q is not executable: chmod +x it, or run it by its interpreter", path)}
	}
	return nil
}

// explain tells what to do about an error of the fork or of the exec.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, syscall.ENOENT):
		return problem{fs.ErrNotExist, fmt.Sprintf("the interpreter that the first line of %q names is not installed (or its loader is not): install it", path)}
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return problem{fs.ErrPermission, fmt.Sprintf("no permission to run %q (or to enter its working directory): check owner and mode of it, its folders and its file system", path)}
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%q is no program for this machine: a script needs a first line such as #!/bin/sh, a binary must be built for it: %w", path, syscall.ENOEXEC)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("its arguments and environment are too long: shorten them: %w", syscall.E2BIG)
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("too many processes: end some, or raise the limit (ulimit -u, pids of the container): %w", syscall.EAGAIN)
	}
	return err
}

func sameName(a, b string) bool { return a == b }

// describe says how a process ended.
func describe(state *os.ProcessState, err error) string {
	if err != nil {
		return "exit unknown: " + err.Error()
	}
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return fmt.Sprintf("killed by signal %d (%s)", int(w.Signal()), w.Signal())
	}
	return state.String()
}
