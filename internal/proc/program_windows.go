package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/windows"
)

// A program is what a Command resolves to.
type program struct {
	path string
	attr *syscall.SysProcAttr
}

// program finds what c names. A batch file is run by the command interpreter,
// as the system would do by itself, but with its arguments quoted for that.
func (c *Command) program() (program, error) {
	path, err := c.find()
	if err != nil {
		return program{}, err
	}
	attr := &syscall.SysProcAttr{
		HideWindow: true,
		// Suspended until it is in its job; a group to send CTRL+BREAK to.
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".bat", ".cmd":
		attr.CmdLine, err = batchLine(path, c.Args)
		if err != nil {
			return program{}, err
		}
		system, err := windows.GetSystemDirectory()
		if err != nil {
			return program{}, err
		}
		path = filepath.Join(system, "cmd.exe")
	}
	return program{path: path, attr: attr}, nil
}

func (c *Command) find() (string, error) {
	extensions := strings.Split(strings.ToLower(getenv(c.Env, "PATHEXT")), ";")
	if len(extensions) < 2 {
		extensions = []string{".com", ".exe", ".bat", ".cmd"}
	}
	if strings.ContainsAny(c.Path, `/\:`) {
		path, err := c.absolute()
		if err != nil {
			return "", err
		}
		if found := withExtension(path, extensions); found != "" {
			return found, nil
		}
		return "", problem{fs.ErrNotExist, fmt.Sprintf("there is no program %q: correct the path, or install it", path)}
	}
	list := getenv(c.Env, "PATH")
	for _, dir := range filepath.SplitList(list) {
		// A relative entry would make what runs depend on the folder we are in.
		if !filepath.IsAbs(dir) {
			continue
		}
		if found := withExtension(filepath.Join(dir, c.Path), extensions); found != "" {
			return found, nil
		}
	}
	return "", c.notFound(list)
}

// withExtension returns the file that path names, with one of extensions where
// it has none of them, or "". The file npx beside npx.cmd is for other systems.
func withExtension(path string, extensions []string) string {
	for _, ext := range append([]string{""}, extensions...) {
		candidate := path + ext
		runs := false
		for _, known := range extensions {
			runs = runs || known != "" && strings.EqualFold(filepath.Ext(candidate), known)
		}
		if info, err := os.Stat(candidate); runs && err == nil && !info.IsDir() {
			return candidate
		}
	}
	return ""
}

// explain tells what to do about an error of the start.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, windows.ERROR_BAD_EXE_FORMAT):
		return fmt.Errorf("%q is no program for this machine: install one that is built for it: %w", path, err)
	case errors.Is(err, fs.ErrPermission):
		return problem{fs.ErrPermission, fmt.Sprintf("no permission to run %q: check its permissions", path)}
	}
	return err
}

// sameName compares names of variables, which have no case here.
func sameName(a, b string) bool { return strings.EqualFold(a, b) }

// describe says how a process ended.
func describe(state *os.ProcessState, err error) string {
	if err != nil {
		return "exit unknown: " + err.Error()
	}
	return state.String()
}
