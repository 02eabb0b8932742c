// Package testenv finds what tests need beside the code: the root of the
// repository, tool servers from npm, programs from Debian, and corpora too large
// to be kept in it. Only tests import it.
//
// "make test" installs what can be installed. A test that needs one of these
// things asks for it by name and is skipped, with the reason, where it is
// missing:
//
//	cmd := exec.Command(testenv.NPM(t, "mcp-server-everything"), "stdio")
//
// In CI (CI=true) a missing server or program fails the test, for there a skip would
// hide that the installation broke. A corpus may be missing in CI too.
package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Root returns the absolute path of the repository's root: the nearest parent
// of the working directory that holds a go.mod. A test starts in the folder of
// its package.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("no go.mod in the working directory or above it")
		}
		dir = parent
	}
}

// NPM returns the absolute path of an executable that a package in
// testdata/npm brings, such as mcp-server-everything. The folder is
// $TENON_TEST_NPM, else .cache/npm in the root.
func NPM(tb testing.TB, name string) string {
	tb.Helper()
	bin := filepath.Join(NPMDir(tb), "node_modules", ".bin", name)
	if runtime.GOOS == "windows" {
		bin += ".cmd"
	}
	if _, err := os.Stat(bin); err != nil {
		missing(tb, name+" is not installed (make npm): "+err.Error())
	}
	return bin
}

// NPMDir returns the folder whose node_modules holds the packages of
// testdata/npm, for scripts that import one of them. It is skipped like NPM
// where the folder is missing.
func NPMDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("TENON_TEST_NPM")
	if dir == "" {
		dir = filepath.Join(Root(tb), ".cache", "npm")
	} else if !filepath.IsAbs(dir) {
		dir = filepath.Join(Root(tb), dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		missing(tb, "the npm tool servers are not installed (make npm): "+err.Error())
	}
	return dir
}

// Corpus returns the path of elem inside the folder that $TENON_TEST_CORPUS
// names, and skips the test where the variable is not set. A path that does not
// exist under it fails the test: whoever names a corpus wants it tested.
func Corpus(tb testing.TB, elem ...string) string {
	tb.Helper()
	dir := os.Getenv("TENON_TEST_CORPUS")
	if dir == "" {
		tb.Skip("needs a corpus: set TENON_TEST_CORPUS to its folder")
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Vectors returns the path of elem inside the folder vectors that lies beside the
// corpus: files of others with what is expected of them. It is skipped, with the
// reason, where they are missing.
func Vectors(tb testing.TB, elem ...string) string {
	tb.Helper()
	corpus := os.Getenv("TENON_TEST_CORPUS")
	if corpus == "" {
		tb.Skip("needs the vectors beside a corpus: set TENON_TEST_CORPUS to its folder")
	}
	path := filepath.Join(append([]string{filepath.Dir(filepath.Clean(corpus)), "vectors"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		tb.Skip("needs the vectors beside the corpus: " + err.Error())
	}
	return path
}

// Program returns the path of a program that a package of Debian brings, such as
// dockerd. It must stand in testdata/debian/programs, so that make test installs it.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	for _, dir := range []string{"/usr/sbin", "/sbin"} { // not in the PATH of everybody
		if err != nil {
			path, err = exec.LookPath(filepath.Join(dir, name))
		}
	}
	if err != nil {
		if runtime.GOOS != "linux" {
			tb.Skip(name + " is not installed")
		}
		missing(tb, name+" is not installed (make debian)")
	}
	return path
}

// Chromium returns the path of a Chromium. It is large, so that make test does not
// install it: a test that needs it is skipped where it is missing.
func Chromium(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		tb.Skip("needs chromium, which make test does not install: apt-get install --no-install-recommends chromium")
	}
	return path
}

// Long skips a test that takes too long for every day, unless $TENON_TEST_LONG is 1,
// as in make long.
func Long(tb testing.TB) {
	tb.Helper()
	if os.Getenv("TENON_TEST_LONG") != "1" {
		tb.Skip("takes long: make long runs it")
	}
}

// missing ends a test that cannot run: in CI as failed, else as skipped.
func missing(tb testing.TB, reason string) {
	tb.Helper()
	if os.Getenv("CI") == "true" {
		tb.Fatal(reason)
	}
	tb.Skip(reason)
}
