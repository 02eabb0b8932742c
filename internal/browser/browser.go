// Package browser says how the Playwright server is run so that each session has a
// browser of its own: which Chromium it takes, with which arguments, and what
// watches over it.
//
//	c, err := browser.Options{Sandbox: true, Headless: true}.Command(os.Getenv)
//	// c.Path is npx, c.Args are its arguments, c.Env what the process gets beside
//
// The server starts a new browser when the one it had has died, without a word, and
// a model goes on as if its pages were still there. So a small script (watch.mjs),
// which Node.js loads before the server, ends the server with its browser: whoever
// runs the server then sees a death, and can tell of it. The script also gives each
// server a folder of its own for what the browser writes, and removes it with those
// of servers that were killed.
package browser

import (
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// Package is the version of the server that this is made for and tested with.
const Package = "@playwright/mcp@0.0.83"

// RunCode is the tool of the server that runs code outside of the browser, in the
// process of the server, with all that its user may do.
const RunCode = "browser_run_code_unsafe"

//go:embed watch.mjs
var watch []byte

// Options say which browser, and how it runs.
type Options struct {
	Executable string // path of a Chromium; empty finds one
	Headless   bool
	Sandbox    bool   // of Chromium itself
	Output     string // folder for screenshots and downloads; empty is one that ends with the server
}

// A Command is how the server is started.
type Command struct {
	Path string
	Args []string
	Env  map[string]string
}

// Errors that the operator can mend.
var (
	ErrNone = errors.New("no Chromium was found")
	ErrRoot = errors.New("the sandbox of Chromium does not work for root")
)

// Command returns how the server is started. The path is npx, which gets the
// package; a caller that has the server by another path leaves out Path and the
// first two arguments.
func (o Options) Command(getenv func(string) string) (Command, error) {
	found, err := o.find(getenv)
	if err != nil {
		return Command{}, err
	}
	if o.Sandbox && os.Geteuid() == 0 {
		return Command{}, ErrRoot
	}
	args := []string{"-y", Package, "--isolated", "--executable-path", found}
	if o.Headless {
		args = append(args, "--headless")
	}
	if o.Sandbox {
		args = append(args, "--sandbox")
	} else {
		args = append(args, "--no-sandbox")
	}
	if o.Output != "" {
		args = append(args, "--output-dir", o.Output)
	}
	return Command{Path: "npx", Args: args, Env: map[string]string{
		"TENON_BROWSER": found,
		"NODE_OPTIONS":  "--import=data:text/javascript;base64," + base64.StdEncoding.EncodeToString(watch),
	}}, nil
}

// names are the programs that are looked for in PATH, the best first.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "microsoft-edge-stable"}

// find returns the absolute path of the browser.
func (o Options) find(getenv func(string) string) (string, error) {
	if o.Executable != "" {
		if !program(o.Executable) {
			return "", fmt.Errorf("%s is no program", o.Executable)
		}
		return o.Executable, nil
	}
	for _, path := range candidates(runtime.GOOS, getenv) {
		if program(path) {
			return path, nil
		}
	}
	return "", ErrNone
}

// candidates are the paths where a browser may be, the best first.
func candidates(goos string, getenv func(string) string) []string {
	var paths []string
	suffix := ""
	if goos == "windows" {
		suffix = ".exe"
	}
	for _, name := range names {
		for _, dir := range filepath.SplitList(getenv("PATH")) {
			if filepath.IsAbs(dir) {
				paths = append(paths, filepath.Join(dir, name+suffix))
			}
		}
	}
	switch goos {
	case "darwin":
		for _, app := range []string{"Chromium", "Google Chrome", "Microsoft Edge"} {
			paths = append(paths, filepath.Join("/Applications", app+".app", "Contents", "MacOS", app))
		}
	case "windows":
		for _, product := range [][]string{{"Chromium", "Application", "chrome.exe"}, {"Google", "Chrome", "Application", "chrome.exe"}, {"Microsoft", "Edge", "Application", "msedge.exe"}} {
			for _, dir := range []string{"ProgramFiles", "ProgramFiles(x86)", "LocalAppData"} {
				if root := getenv(dir); root != "" {
					paths = append(paths, filepath.Join(slices.Concat([]string{root}, product)...))
				}
			}
		}
	default:
		paths = append(paths, "/usr/bin/chromium", "/usr/bin/google-chrome", "/opt/google/chrome/chrome", "/snap/bin/chromium")
	}
	return paths
}

// program reports whether a path can be run.
func program(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	_, err := exec.LookPath(path)
	return err == nil
}
