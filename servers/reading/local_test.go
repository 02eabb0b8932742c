package reading_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/servers/reading"
)

// TestWithoutRoots reads no file where no folder was opened, not in the working
// folder either.
func TestWithoutRoots(t *testing.T) {
	cs := connect(t, reading.Options{}, reading.Knobs{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"README.md", "./README.md", self, "file://" + filepath.ToSlash(self), "."} {
		refused(t, cs, args{"uri": uri}, "no folder is open", "option roots")
	}
	refused(t, cs, args{"uri": "/home/user/data.csv"}, "code sandbox", "download_file_from_sandbox_to_local")
}

// TestFiles reads files by each way to write where they are.
func TestFiles(t *testing.T) {
	dir := folder(t, map[string]string{"a b.txt": "one 1", "sub/deep.txt": "two 2", "100%.txt": "three 3", "x:y.txt": "four 4", ".hidden": "five 5", "empty.txt": ""})
	second := folder(t, map[string]string{"only.txt": "six 6"})
	cs := connect(t, reading.Options{Roots: []string{dir, second}}, reading.Knobs{})
	slash := filepath.ToSlash(dir)
	uri := "file://" + slash
	if !strings.HasPrefix(slash, "/") {
		uri = "file:///" + slash
	}
	for name, want := range map[string]string{
		"a b.txt": "one 1", filepath.Join(dir, "a b.txt"): "one 1", uri + "/a%20b.txt": "one 1", strings.Replace(uri, "file:", "FILE:", 1) + "/a b.txt": "one 1",
		strings.Replace(uri, "//", "//localhost", 1) + "/sub/deep.txt": "two 2", "sub/../sub/deep.txt": "two 2", uri + "/100%25.txt": "three 3", "100%.txt": "three 3",
		"file:sub/deep.txt": "two 2", "only.txt": "six 6", ".hidden": "five 5",
	} {
		if runtime.GOOS == "windows" && strings.Contains(name, "localhost") {
			continue
		}
		if got := good(t, cs, args{"uri": name}); !strings.Contains(got.body, want) {
			t.Errorf("%s: got %q, want %q", name, got.body, want)
		}
	}
	if runtime.GOOS != "windows" {
		holds(t, good(t, cs, args{"uri": "x:y.txt"}).body, "four 4")
	}
	refused(t, cs, args{"uri": "empty.txt"}, "is empty")
	refused(t, cs, args{"uri": "missing.txt"}, "there is no file", dir)
}

// TestOutside reads nothing outside of the open folders, however it is written.
func TestOutside(t *testing.T) {
	secret := folder(t, map[string]string{"key.txt": "not-a-real-key-000"})
	dir := folder(t, map[string]string{"in.txt": "inside", "sub/in.txt": "inside"})
	for name, target := range map[string]string{
		"link.txt": filepath.Join(secret, "key.txt"), "linked": secret, "loop": "loop", "up": filepath.Join("..", filepath.Base(secret)),
		"inner.txt": "in.txt", "gone": "nowhere",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("links cannot be made here:", err)
		}
	}
	cs := connect(t, reading.Options{Roots: []string{dir}}, reading.Knobs{})
	for _, uri := range []string{
		"file:///etc/passwd", "/etc/passwd", "file:/etc/passwd", "file:../../x", "../x", "sub/../../" + filepath.Base(secret) + "/key.txt",
		"file://" + filepath.ToSlash(dir) + "/../" + filepath.Base(secret) + "/key.txt", "file://" + filepath.ToSlash(dir) + "/%2e%2e/" + filepath.Base(secret) + "/key.txt",
		filepath.Join(secret, "key.txt"), "link.txt", "linked/key.txt", "linked", "up/key.txt", "/proc/self/environ", "/dev/stdin", dir + "x/key.txt",
	} {
		refused(t, cs, args{"uri": uri}, "refused")
	}
	for uri, want := range map[string]string{
		"loop": "cannot be read", "gone": "there is no file", "in.txt\x00.md": "no path", "file://server/share/x": "other hosts", "file:%zz": "%25",
		" ": "uri is empty", "home/user/data.csv": "code sandbox", "file:///home/user/data.csv": "code sandbox", strings.Repeat("a/", 8000): "longer than", "ftp://example.com/x": "scheme", "javascript://x": "scheme",
		"a\nb\x1b[31m.txt": "there is no file", "-rf": "there is no file", "$(id).txt": "there is no file", `"; rm -rf / #`: "there is no file",
	} {
		refused(t, cs, args{"uri": uri}, want)
	}
	if got := good(t, cs, args{"uri": "inner.txt"}); !strings.Contains(got.body, "inside") {
		t.Errorf("a link within the folder is not followed: %q", got.body)
	}
}

// TestFolders lists names, of which none can break out of its line.
func TestFolders(t *testing.T) {
	files := map[string]string{"sub/x.txt": "x", "b.txt": "12345", "a.txt": "1"}
	if runtime.GOOS != "windows" {
		files["evil\n# heading\n.txt"] = "x"
	}
	cs := connect(t, reading.Options{Roots: []string{folder(t, files), folder(t, nil)}}, reading.Knobs{})
	got := good(t, cs, args{"uri": "."})
	holds(t, got.body, "- a.txt (1 bytes)\n- b.txt (5 bytes)\n", "- sub/")
	holdsNot(t, got.body, "\n# heading")
	if got.data.Format != "folder" {
		t.Errorf("the format is %q", got.data.Format)
	}
	many := map[string]string{}
	for i := range 510 {
		many[fmt.Sprintf("f%03d", i)] = "x"
	}
	cs = connect(t, reading.Options{Roots: []string{folder(t, many)}}, reading.Knobs{})
	holds(t, good(t, cs, args{"uri": "."}).text, "more than 500 names")
}
