package clients_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
	"pgregory.net/rapid"

	"github.com/tenon-mcp/tenon/internal/clients"
)

// A text with comments, of every layout that JSON allows.
type jsonc struct {
	t        *rapid.T
	comments []string
}

func (j *jsonc) gap() string {
	kind := rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\r\n\t", "//", "/*"}).Draw(j.t, "gap")
	if !strings.HasPrefix(kind, "/") {
		return kind
	}
	c := fmt.Sprintf("c%d", len(j.comments))
	j.comments = append(j.comments, c)
	if kind == "//" {
		return " // " + c + " {\"[,\n"
	}
	return "/* " + c + " }],\n*/"
}

func (j *jsonc) value(depth int) string {
	kind := rapid.IntRange(0, 5).Draw(j.t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"1", "-2.5e3", "12345678901234567890"}).Draw(j.t, "number")
	case 1:
		return rapid.SampledFrom([]string{"true", "null"}).Draw(j.t, "word")
	case 2, 3:
		return rapid.SampledFrom([]string{`""`, `"a\"b//c"`, `"é\u00e9/*"`, `"}, ]"`}).Draw(j.t, "text")
	case 4:
		var parts []string
		for range rapid.IntRange(0, 3).Draw(j.t, "items") {
			parts = append(parts, j.gap()+j.value(depth-1)+j.gap())
		}
		return "[" + j.join(parts) + "]"
	}
	return j.object(depth-1, nil)
}

func (j *jsonc) join(parts []string) string {
	s := strings.Join(parts, ",")
	if len(parts) > 0 && rapid.Bool().Draw(j.t, "trailing comma") {
		s += ","
	}
	return s + j.gap()
}

// object writes a map, with one more member that is given.
func (j *jsonc) object(depth int, more []string) string {
	var parts []string
	n := rapid.IntRange(0, 3).Draw(j.t, "members")
	for i := range n {
		parts = append(parts, j.gap()+fmt.Sprintf(`"k%d"`, i)+j.gap()+":"+j.gap()+j.value(depth)+j.gap())
	}
	for _, m := range more {
		at := rapid.IntRange(0, len(parts)).Draw(j.t, "where")
		parts = append(parts[:at:at], append([]string{j.gap() + m + j.gap()}, parts[at:]...)...)
	}
	return "{" + j.join(parts) + "}"
}

// document is a file of settings, with or without servers in it.
func (j *jsonc) document() string {
	var more []string
	if rapid.Bool().Draw(j.t, "servers") {
		more = []string{`"mcpServers":` + j.gap() + j.object(2, nil)}
	}
	bom := rapid.SampledFrom([]string{"", "", "\ufeff"}).Draw(j.t, "mark")
	return bom + j.gap() + j.object(3, more) + j.gap()
}

// plainJSON returns what a text says, without its layout.
func plainJSON(t *rapid.T, text string) map[string]any {
	std, err := hujson.Standardize([]byte(strings.TrimPrefix(text, "\ufeff")))
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	var out map[string]any
	if err := json.Unmarshal(std, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever a file looks like: connecting adds the entry alone and keeps every
// comment, undo gives back the bytes, and taking the entry out by itself gives back
// what the file said.
func TestUndo(t *testing.T) {
	w := home(t)
	s, _ := clients.Find("cursor").Target(w, clients.User)
	store := clients.Store{Dir: filepath.Join(w.Env["HOME"], "state")}
	rapid.Check(t, func(t *rapid.T) {
		j := &jsonc{t: t}
		before := j.document()
		if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.Path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		change, err := s.Connect(toURL, nil)
		if err != nil {
			t.Fatalf("%v\n%q", err, before)
		}
		if _, err := store.Keep(change); err != nil {
			t.Fatal(err)
		}
		if err := change.Write(); err != nil {
			t.Fatal(err)
		}
		said, says := plainJSON(t, before), plainJSON(t, string(change.After))
		servers, _ := says["mcpServers"].(map[string]any)
		if fmt.Sprint(servers["tenon"]) != "map[url:http://127.0.0.1:8400/mcp]" {
			t.Fatalf("the entry is %v", servers["tenon"])
		}
		for _, c := range j.comments {
			if strings.Count(string(change.After), c+" ") != 1 {
				t.Fatalf("comment %s is lost:\n%s", c, change.After)
			}
		}
		if _, err := s.Connect(toURL, []string{"k0", "k2"}); err != nil {
			t.Fatalf("with servers taken out: %v\n%q", err, before)
		}
		undo, exact, err := store.Undo(s)
		if err != nil || !exact || string(undo.After) != before {
			t.Fatalf("undo: exact %v, %v:\n%q\nwant\n%q", exact, err, undo.After, before)
		}
		out, err := s.Disconnect()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range j.comments {
			if strings.Count(string(out.After), c+" ") != 1 {
				t.Fatalf("comment %s is lost with the entry:\n%s", c, out.After)
			}
		}
		left := plainJSON(t, string(out.After))
		if said["mcpServers"] == nil {
			delete(left, "mcpServers") // an empty one stays
		}
		if fmt.Sprint(left) != fmt.Sprint(said) {
			t.Fatalf("without the entry it says %v, and said %v", left, said)
		}
	})
}

// A server that is taken out leaves the comments around it.
func TestTakeOut(t *testing.T) {
	for before, want := range map[string]string{
		`{"mcpServers": {"a": 1 /* c */, "b": 2}}`:                        `{"mcpServers": {/* c */ "b": 2, "tenon": {"url": "http://127.0.0.1:8400/mcp"}}}`,
		`{"mcpServers": {"b": 2, "a": 1}}`:                                `{"mcpServers": {"b": 2, "tenon": {"url": "http://127.0.0.1:8400/mcp"}}}`,
		"{\"mcpServers\": {\n \"a\": 1, // of a\n \"b\": 2\n}}":           "{\"mcpServers\": {\n // of a\n \"b\": 2,\n \"tenon\": {\n  \"url\": \"http://127.0.0.1:8400/mcp\"\n }\n}}",
		"{\"mcpServers\": {\n // of a\n \"a\": 1,\n \"b\": 2 // of b\n}}": "{\"mcpServers\": {\n // of a\n \"b\": 2, // of b\n \"tenon\": {\n  \"url\": \"http://127.0.0.1:8400/mcp\"\n }\n}}",
	} {
		w := home(t)
		s, _ := clients.Find("cursor").Target(w, clients.User)
		write(t, s.Path, before)
		c, err := s.Connect(toURL, []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		if string(c.After) != want {
			t.Errorf("%s\ngives %s\nwant  %s", before, c.After, want)
		}
	}
}

// connect makes a change to the settings of Cursor with this text, and keeps it.
func connect(t *testing.T, text string) (clients.Settings, clients.Store, clients.Change) {
	w := home(t)
	s, _ := clients.Find("cursor").Target(w, clients.User)
	write(t, s.Path, text)
	c, err := s.Connect(toURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, clients.Store{Dir: filepath.Join(w.Env["HOME"], "state")}, c
}

func keep(t *testing.T, store clients.Store, c clients.Change) string {
	t.Helper()
	backup, err := store.Keep(c)
	if err != nil {
		t.Fatal(err)
	}
	return backup
}

// Who saves the file while it is being changed keeps what they saved.
func TestConcurrentEdit(t *testing.T) {
	s, store, c := connect(t, `{"mcpServers": {}}`)
	keep(t, store, c)
	theirs := `{"mcpServers": {"a": {"command": "x"}}}`
	err := c.WithHook(func() { write(t, s.Path, theirs) }).Write()
	if !errors.Is(err, clients.ErrChanged) {
		t.Errorf("error %v", err)
	}
	if got := read(t, s.Path); got != theirs {
		t.Errorf("their text is %s", got)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path), ".tenon-*")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	undo, exact, err := store.Undo(s)
	if err != nil || exact || !undo.Same() {
		t.Errorf("undo of what was never written: exact %v, %v\n%s", exact, err, undo.Diff(strings.Clone))
	}
	// Removing a file looks first as well.
	if err := (clients.Change{Path: s.Path, Existed: true, Gone: true}).Write(); !errors.Is(err, clients.ErrChanged) {
		t.Errorf("removing: %v", err)
	}
}

// A crash between the backup and the change leaves everything as it was, and the
// next attempt works.
func TestCrash(t *testing.T) {
	before := `{"mcpServers": {}} // mine`
	s, store, c := connect(t, before)
	keep(t, store, c) // and no more
	if got := read(t, s.Path); got != before {
		t.Fatalf("the settings are %s", got)
	}
	if undo, exact, err := store.Undo(s); err != nil || exact || !undo.Same() {
		t.Errorf("undo: exact %v, %v", exact, err)
	}
	again, err := s.Connect(toURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if backup := keep(t, store, again); read(t, backup) != before {
		t.Errorf("the backup holds %s", read(t, backup))
	}
	if err := again.Write(); err != nil {
		t.Fatal(err)
	}
	undo, exact, err := store.Undo(s)
	if err != nil || !exact || string(undo.After) != before {
		t.Errorf("undo: exact %v, %v, %s", exact, err, undo.After)
	}
}

// What changed since stays: undo takes out the entry alone.
func TestUndoAfterEdit(t *testing.T) {
	s, store, c := connect(t, "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n")
	keep(t, store, c)
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	write(t, s.Path, strings.Replace(string(c.After), `"x"`, `"y"`, 1))
	undo, exact, err := store.Undo(s)
	if err != nil || exact {
		t.Fatalf("undo: exact %v, %v", exact, err)
	}
	if want := "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"y\"}\n  }\n}\n"; string(undo.After) != want {
		t.Errorf("undo gives\n%s", undo.After)
	}
}

// Connecting twice, to different places, is undone to what was before the first.
func TestUndoTwice(t *testing.T) {
	before := "{}\n"
	s, store, c := connect(t, before)
	keep(t, store, c)
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	other, err := s.Connect(clients.Entry{Command: "/opt/tenon", Args: []string{"serve", "--stdio"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, store, other)
	if err := other.Write(); err != nil {
		t.Fatal(err)
	}
	undo, exact, err := store.Undo(s)
	if err != nil || !exact || string(undo.After) != before {
		t.Errorf("undo: exact %v, %v, %q", exact, err, undo.After)
	}
}

// An entry that somebody wrote by hand is no state to go back to.
func TestUndoOwnEntry(t *testing.T) {
	s, store, c := connect(t, `{"mcpServers": {"tenon": {"command": "old"}}}`)
	keep(t, store, c)
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	undo, exact, err := store.Undo(s)
	if err != nil || exact || strings.Join(strings.Fields(string(undo.After)), "") != `{"mcpServers":{}}` {
		t.Errorf("undo: exact %v, %v, %s", exact, err, undo.After)
	}
}

// A file that was not there is gone after undo.
func TestUndoNewFile(t *testing.T) {
	w := home(t)
	s, _ := clients.Find("gemini").Target(w, clients.Project)
	store := clients.Store{Dir: filepath.Join(w.Env["HOME"], "state")}
	c, err := s.Connect(toURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, store, c)
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	undo, exact, err := store.Undo(s)
	if err != nil || !exact || !undo.Gone {
		t.Fatalf("undo: exact %v, %v", exact, err)
	}
	if err := undo.Write(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}

// Permissions and symbolic links stay, backups are their owner's alone, and what
// lies elsewhere is not written.
func TestLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and modes are of another kind there")
	}
	w := home(t)
	s, _ := clients.Find("cursor").Target(w, clients.User)
	target := filepath.Join(w.Env["HOME"], "dotfiles", "mcp.json")
	write(t, target, "{}")
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, s.Path); err != nil {
		t.Fatal(err)
	}
	c, err := s.Connect(toURL, nil)
	if err != nil {
		t.Fatal(err)
	}
	backup := keep(t, clients.Store{Dir: filepath.Join(w.Env["HOME"], "state")}, c)
	if info, err := os.Stat(backup); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("backup: %v, %v", info.Mode(), err)
	}
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(s.Path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 || read(t, target) != string(c.After) {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}

	outside := filepath.Join(t.TempDir(), "mcp.json")
	write(t, outside, "{}")
	if err := os.Remove(s.Path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, s.Path); err != nil {
		t.Fatal(err)
	}
	if c, err = s.Connect(toURL, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err == nil || !strings.Contains(err.Error(), "outside of your home") {
		t.Errorf("a link to elsewhere: %v", err)
	}
	if read(t, outside) != "{}" {
		t.Error("it was written elsewhere")
	}
}

// Backups are bounded, and the one that undoes is kept.
func TestBackups(t *testing.T) {
	s, store, c := connect(t, "{}")
	first := keep(t, store, c)
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if _, err := store.Backup(clients.Change{Path: s.Path, Existed: true, Before: fmt.Append(nil, i)}); err != nil {
			t.Fatal(err)
		}
	}
	all, _ := filepath.Glob(filepath.Join(store.Dir, "*.bak"))
	if len(all) > 22 {
		t.Errorf("%d backups", len(all))
	}
	if read(t, first) != "{}" {
		t.Error("the first one is lost")
	}
}
