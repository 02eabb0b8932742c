package clients_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/clients"
)

var update = flag.Bool("update", false, "rewrite the files that tests compare with")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// ann is where the files of testdata come from.
var ann = clients.World{OS: "linux", Env: map[string]string{"HOME": "/home/ann"}, Project: "/home/ann/shop"}

// home makes an empty home with a project in it.
func home(t *testing.T) clients.World {
	dir := t.TempDir()
	w := clients.World{OS: "linux", Env: map[string]string{"HOME": dir}, Project: filepath.Join(dir, "work")}
	if err := os.Mkdir(w.Project, 0o755); err != nil {
		t.Fatal(err)
	}
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// example is the file of testdata of a client.
func example(c *clients.Client) string {
	name := "testdata/settings/" + c.ID + ".json"
	if c.ID == "codex" {
		name = "testdata/settings/codex.toml"
	}
	return name
}

// Each client's files, on each system.
func TestPaths(t *testing.T) {
	worlds := []clients.World{
		{OS: "linux", Env: map[string]string{"HOME": "/home/ann"}, Project: "/home/ann/shop"},
		{OS: "linux", Env: map[string]string{"HOME": "/home/ann", "XDG_CONFIG_HOME": "/cfg", "CODEX_HOME": "/codex", "CLAUDE_CONFIG_DIR": "/claude"}, Project: "/p"},
		{OS: "darwin", Env: map[string]string{"HOME": "/Users/ann", "XDG_CONFIG_HOME": "/cfg"}, Project: "/Users/ann/shop"},
		{OS: "windows", Env: map[string]string{"USERPROFILE": `C:\Users\ann`, "AppData": `C:\Users\ann\AppData\Roaming`, "HOME": "/not/this"}, Project: `D:\shop`},
		{OS: "windows", Env: map[string]string{"USERPROFILE": `C:\Users\ann`, "CODEX_HOME": "relative"}, Project: `\\share\shop`},
		{OS: "linux", Env: map[string]string{"HOME": "relative"}, Project: "/p"},
	}
	var b strings.Builder
	for _, w := range worlds {
		fmt.Fprintf(&b, "%s %v\n", w.OS, w.Env)
		for _, c := range clients.All() {
			for _, s := range c.Settings(w) {
				fmt.Fprintf(&b, "  %-14s %-7s %s\n", c.ID, s.Scope, s.Path)
			}
		}
	}
	golden(t, "paths.txt", b.String())
}

// looksSecret stands for what the command line knows of secrets.
func looksSecret(_, value string) bool { return strings.Contains(value, "not-a-real") }

// Settings as people have them come into a tenon.yaml: with a note for what is lost,
// and without a secret.
func TestImport(t *testing.T) {
	for _, c := range clients.All() {
		t.Run(c.ID, func(t *testing.T) {
			servers, err := clients.At(c, ann, example(c)).Read()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "tenon.yaml")
			plan, err := clients.Import(path, servers, clients.Options{Place: clients.Env, Secret: looksSecret})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			b.Write(plan.Change.After)
			b.WriteString("---\n")
			for _, r := range plan.Results {
				fmt.Fprintf(&b, "%s (%s): %s\n", r.Name, r.Server.Name, r.State)
				for _, n := range r.Notes {
					fmt.Fprintf(&b, "  %s\n", n)
				}
			}
			for _, s := range plan.Secrets {
				fmt.Fprintf(&b, "%s is %s of %s\n", s.Name, s.Key, s.Server)
			}
			if strings.Contains(b.String(), "not-a-real") {
				t.Error("a secret went along")
			}
			golden(t, "import/"+c.ID+".txt", b.String())
			if err := plan.Change.Write(); err != nil {
				t.Fatal(err)
			}
			again, err := clients.Import(path, servers, clients.Options{Place: clients.Env, Secret: looksSecret})
			if err != nil {
				t.Fatal(err)
			}
			if !again.Change.Same() {
				t.Errorf("a second import adds:\n%s", again.Change.Diff(strings.Clone))
			}
		})
	}
}

// Servers that a client is told beside their entries not to start do not start here
// either.
func TestImportOfWhatIsOff(t *testing.T) {
	w := home(t)
	at := func(path string) string { return filepath.Join(w.Env["HOME"], path) }
	write(t, at(".claude.json"), `{"mcpServers": {"on": {"command": "a"}, "off": {"command": "b"}, "two": {"command": "c"}}, "projects": {`+
		fmt.Sprintf("%q", w.Project)+`: {"mcpServers": {"mine": {"command": "d"}, "mine-off": {"command": "e"}},
		"disabledMcpServers": ["off", "mine-off"], "disabledMcpjsonServers": ["two", "p1"]}, "/elsewhere": {"disabledMcpServers": ["on"]}}}`)
	write(t, at("work/.mcp.json"), `{"mcpServers": {"p0": {"command": "p0"}, "p1": {"command": "p1"}, "p2": {"command": "p2"}, "p3": {"command": "p3"}, "p4": {"command": "p4"}}}`)
	write(t, at(".claude/settings.json"), `{"disabledMcpjsonServers": ["p2"]}`)
	write(t, at("work/.claude/settings.json"), `{"disabledMcpjsonServers": ["p3"]}`)
	write(t, at("work/.claude/settings.local.json"), `{"disabledMcpjsonServers": ["p4", "on"]}`)
	write(t, at(".gemini/settings.json"), `{"mcpServers": {"on": {"command": "f"}, "out": {"command": "g"}, "unnamed": {"command": "h"}, "Slept": {"command": "i"}},
		"mcp": {"excluded": ["out"]}, "allowMCPServers": []}`)
	write(t, at("work/.gemini/settings.json"), `{"mcpServers": {"proj": {"command": "j"}}, "mcp": {"allowed": ["on", "out", "Slept", "proj"]}}`)
	write(t, at(".gemini/mcp-server-enablement.json"), `{"slept": {"enabled": false}, "on": {"enabled": true}}`)
	for id, want := range map[string]string{
		"claude-code": "on off:off two mine mine-off:off p0 p1:off p2:off p3:off p4:off",
		"gemini":      "on out:out unnamed:out Slept:off proj",
	} {
		var got []string
		for _, s := range clients.Find(id).Settings(w) {
			servers, err := s.Read()
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range servers {
				switch {
				case strings.Contains(found.Held, "switched off"):
					found.Name += ":off"
				case found.Held != "":
					found.Name += ":out"
				}
				got = append(got, found.Name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v\nwant %s", id, got, want)
		}
	}
	write(t, at(".vscode/mcp.json"), `{"servers": {"pipe": {"type": "http", "url": "unix:///run/x.sock"}, "named": {"type": "http", "url": "${env:HERE}/mcp"}}}`)
	file, err := clients.File(w, at(".vscode/mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := file.Read(); err != nil || len(found) != 2 || !strings.Contains(found[0].Held, "URL") || found[1].Held != "" {
		t.Errorf("%+v %v", found, err)
	}
	write(t, at("work/.claude/settings.local.json"), `{"disabledMcpjsonServers": [`)
	if _, err := clients.Find("claude-code").Settings(w)[1].Read(); err == nil || !strings.Contains(err.Error(), "settings.local.json:") {
		t.Error("a broken file that may switch servers off:", err)
	}
}

var toURL = clients.Entry{URL: "http://127.0.0.1:8400/mcp"}

func entryFor(c *clients.Client) clients.Entry {
	if c.TakesURL() {
		return toURL
	}
	return clients.Entry{Command: "/opt/tenon", Args: []string{"serve", "--stdio"}}
}

// The entry goes into files as people have them, nothing else changes, and undo
// gives back the bytes.
func TestConnect(t *testing.T) {
	for _, c := range clients.All() {
		t.Run(c.ID, func(t *testing.T) {
			w := home(t)
			s, _ := c.Target(w, clients.User)
			before := read(t, example(c))
			before = strings.Replace(before, `,
        "tenon": {"httpUrl": "http://127.0.0.1:8400/mcp"}`, "", 1)
			write(t, s.Path, before)
			change, err := s.Connect(entryFor(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "connect/"+c.ID+".diff", strings.ReplaceAll(change.Diff(strings.Clone), w.Env["HOME"], "~"))
			store := clients.Store{Dir: filepath.Join(w.Env["HOME"], "state")}
			if _, err := store.Keep(change); err != nil {
				t.Fatal(err)
			}
			if err := change.Write(); err != nil {
				t.Fatal(err)
			}
			if again, err := s.Connect(entryFor(c), nil); err != nil || !again.Same() {
				t.Errorf("connecting again changes something: %v\n%s", err, again.Diff(strings.Clone))
			}
			servers, err := s.Own()
			if err != nil {
				t.Fatal(err)
			}
			if last := servers[len(servers)-1]; !last.IsTenon() || last.URL != entryFor(c).URL || last.Command != entryFor(c).Command {
				t.Errorf("the last server is %+v", last)
			}
			undo, exact, err := store.Undo(s)
			if err != nil || !exact {
				t.Fatalf("undo: exact %v, %v", exact, err)
			}
			if err := undo.Write(); err != nil {
				t.Fatal(err)
			}
			if got := read(t, s.Path); got != before {
				t.Errorf("after undo:\n%s", got)
			}
		})
	}
}

// Servers that Tenon has are taken out, and nothing else.
func TestReplace(t *testing.T) {
	for _, c := range clients.All() {
		t.Run(c.ID, func(t *testing.T) {
			w := home(t)
			s, _ := c.Target(w, clients.User)
			write(t, s.Path, read(t, example(c)))
			servers, err := s.Own()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(w.Project, "tenon.yaml")
			plan, err := clients.Import(path, servers, clients.Options{Place: clients.Env, Secret: looksSecret})
			if err != nil {
				t.Fatal(err)
			}
			if err := plan.Change.Write(); err != nil {
				t.Fatal(err)
			}
			had, err := clients.Imported(path, servers)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, h := range had {
				names = append(names, h.Name)
			}
			change, err := s.Connect(entryFor(c), names)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "replace/"+c.ID+filepath.Ext(s.Path), string(change.After))
		})
	}
}

// What is broken is refused with its place, without showing what stands there, and
// left alone.
func TestBroken(t *testing.T) {
	for _, test := range []struct{ client, text, want string }{
		{"cursor", "{\n  \"mcpServers\": {\n    \"a\" {}\n  }\n}", "mcp.json:3:9: is not valid JSON"},
		{"cursor", `{"mcpServers": {"a": {"env": {"K": not-a-real-key-000}}}}`, "mcp.json:1:36: is not valid JSON: invalid literal"},
		{"cursor", `[]`, "mcp.json:1:1: wants a map, and holds a list"},
		{"cursor", "{\n \"mcpServers\": []}", "mcp.json:2:16: mcpServers wants a map, and holds a list"},
		{"cursor", "{\"a\": \"\xff\"}", "mcp.json: is not UTF-8 text"},
		{"cursor", strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300), "nested deeper"},
		{"codex", "a = 1\n[mcp_servers.x\nb = 2", "config.toml:2:15: is not valid TOML: wants ]"},
		{"codex", "token = not-a-real-key-000", "config.toml:1:9: is not valid TOML: wants a value"},
		{"codex", "mcp_servers = 3", "config.toml:1:15: mcp_servers wants a map"},
		{"codex", "mcp_servers = {a = {command = 'x'}}", "config.toml: is written in a way that cannot be edited"},
	} {
		w := home(t)
		s, _ := clients.Find(test.client).Target(w, clients.User)
		write(t, s.Path, test.text)
		_, err := s.Connect(toURL, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "not-a-real") {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
		if read(t, s.Path) != test.text {
			t.Errorf("%q was changed", test.text)
		}
	}
}
