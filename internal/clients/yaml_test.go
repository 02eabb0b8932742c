package clients_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/clients"
	"github.com/tenon-mcp/tenon/internal/source"
)

func npx(name string, args ...string) clients.Server {
	return clients.Server{Name: name, From: clients.Find("cursor"), Command: "npx", Args: args}
}

// An entry goes below those that are there, and every other byte stays.
func TestAppend(t *testing.T) {
	const entry = "  # from Cursor\n  new:\n    command: npx\n    args: [-y, x]\n"
	for name, test := range map[string]struct{ before, after string }{
		"empty":    {"", "version: 1\nservers:\n" + entry},
		"comments": {"# mine\n", "# mine\n\nversion: 1\nservers:\n" + entry},
		"none":     {"version: 1\n# end\n", "version: 1\n# end\n\nservers:\n" + entry},
		"null":     {"version: 1\nservers: # here\nlazy: off\n", "version: 1\nservers: # here\n" + entry + "lazy: off\n"},
		"braces":   {"servers: {} # none\n", "servers: # none\n" + entry},
		"entries": {
			"servers:\n  a: {command: x} # one\n  # below a\n\n# about b\nblacklist: []\n",
			"servers:\n  a: {command: x} # one\n  # below a\n" + entry + "\n# about b\nblacklist: []\n",
		},
		"no line end": {"servers:\n  a: {command: x}", "servers:\n  a: {command: x}\n" + entry},
		"indented":    {"servers:\n    a:\n        command: x\nlazy: off\n", "servers:\n    a:\n        command: x\n" + "    # from Cursor\n    new:\n      command: npx\n      args: [-y, x]\nlazy: off\n"},
		"CRLF":        {"servers:\r\n  a: {command: x}\r\n", "servers:\r\n  a: {command: x}\r\n" + strings.ReplaceAll(entry, "\n", "\r\n")},
		"block text":  {"servers:\n  a:\n    command: x\n    args:\n      - |\n        # no comment\n\n        end\nversion: 1\n", "servers:\n  a:\n    command: x\n    args:\n      - |\n        # no comment\n\n        end\n" + entry + "version: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "tenon.yaml")
			write(t, path, test.before)
			plan, err := clients.Import(path, []clients.Server{npx("new", "-y", "x")}, clients.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(plan.Change.After); got != test.after {
				t.Errorf("got\n%s\nwant\n%s", got, test.after)
			}
		})
	}
}

// What cannot be added to is refused with its place.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"servers: {a: {command: x}}\n":              "tenon.yaml:1:1: servers is written in one line",
		"servers: [a]\n":                            "servers wants a map of names, and holds a list",
		"servers:\n  a: {command: x\nlazy: off\n":   "tenon.yaml:",
		"base: &b {a: {command: x}}\nservers: *b\n": "tenon.yaml:2:1: is written in a way",
		"- a\n": "tenon.yaml:1:1: wants a map",
		"servers:\n  a: {command: x}\n---\nother: 1\n": "tenon.yaml:",
	} {
		path := filepath.Join(t.TempDir(), "tenon.yaml")
		write(t, path, text)
		_, err := clients.Import(path, []clients.Server{npx("new")}, clients.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Names that clash get a number, the same server comes once, and so do secrets.
func TestClashes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	write(t, path, "servers:\n  a: {command: npx, args: [one]}\n  a-2: {command: npx, args: [two]}\n")
	withKey := func(s clients.Server, value string) clients.Server {
		s.Env = []clients.Pair{{Name: "KEY", Value: value}}
		return s
	}
	found := []clients.Server{
		npx("a", "one"), npx("a", "three"), npx("other", "two"), npx("a", "three"),
		withKey(npx("b", "x"), "not-a-real-1"), withKey(npx("c", "y"), "not-a-real-1"), withKey(npx("d", "z"), "not-a-real-2"),
		withKey(npx("e", "v"), "not-a-real-3"),
	}
	o := clients.Options{Place: clients.Env, Secret: looksSecret, Taken: func(name string) (string, bool) {
		return "another", name == "E_KEY"
	}}
	plan, err := clients.Import(path, found, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range plan.Results {
		got = append(got, r.Name+" "+string(r.State))
	}
	want := "a present, a-3 added, a-2 present, a-3 present, b added, c added, d added, e added"
	if g := strings.Join(got, ", "); g != want {
		t.Errorf("results: %s\nwant:    %s", g, want)
	}
	if n := strings.Join(plan.Results[1].Notes, ""); n != "called a-3 here: there is another a" {
		t.Errorf("note %q", n)
	}
	var names []string
	for _, s := range plan.Secrets {
		names = append(names, s.Name)
	}
	if g := strings.Join(names, " "); g != "KEY D_KEY E_KEY_2" {
		t.Errorf("secrets %s", g)
	}
	for _, want := range []string{"KEY: \"${env:KEY}\"", "KEY: \"${env:D_KEY}\"", "KEY: \"${env:E_KEY_2}\""} {
		if !strings.Contains(string(plan.Change.After), want) {
			t.Errorf("%s is missing in\n%s", want, plan.Change.After)
		}
	}
}

// What neither a process nor an .env can hold is not taken, and what it was is told.
func TestImportOfZeroBytes(t *testing.T) {
	with := func(change func(s *clients.Server)) clients.Server {
		s := npx("a")
		change(&s)
		return s
	}
	pair := []clients.Pair{{Name: "A_KEY", Value: "not-a-real-key\x00"}}
	for want, s := range map[string]clients.Server{
		"its command holds":          with(func(s *clients.Server) { s.Command = "a\x00b" }),
		"one of its arguments holds": with(func(s *clients.Server) { s.Args = []string{"x", "\x00"} }),
		"its folder holds":           with(func(s *clients.Server) { s.Cwd = "/a\x00" }),
		"the value of A_KEY holds":   with(func(s *clients.Server) { s.Env, s.Held = pair, "switched off" }),
		"value of A_KEY holds":       {Name: "u", URL: "https://example.com/", Headers: pair},
		"its URL holds":              {Name: "u", URL: "https://example.com/\x00"},
	} {
		plan, err := clients.Import(filepath.Join(t.TempDir(), "tenon.yaml"), []clients.Server{s, npx("b")}, clients.Options{Place: clients.Env, Secret: looksSecret})
		if err != nil {
			t.Fatal(err)
		}
		r := plan.Results[0]
		if r.State != clients.Skipped || !strings.Contains(strings.Join(r.Notes, "\n"), want+" a zero byte") || len(plan.Secrets) != 0 || strings.Contains(string(plan.Change.After), "0") {
			t.Errorf("%s: %+v\n%s", want, r, plan.Change.After)
		}
		if plan.Results[1].State != clients.Added {
			t.Errorf("%s: the other one is not taken: %+v", want, plan.Results[1])
		}
	}
}

// The keyring and tenon.yaml itself are places too.
func TestPlaces(t *testing.T) {
	s := npx("a")
	s.Headers, s.Command, s.URL = []clients.Pair{{Name: "Authorization", Value: "Bearer not-a-real-$${key"}}, "", "https://example.com"
	for place, want := range map[clients.Place]string{
		clients.Env:     `Authorization: "Bearer ${env:A_TOKEN}"`,
		clients.Keyring: `Authorization: "Bearer ${keyring:tenon/A_TOKEN}"`,
		clients.Keep:    `Authorization: "Bearer not-a-real-$${key"`,
	} {
		plan, err := clients.Import(filepath.Join(t.TempDir(), "tenon.yaml"), []clients.Server{s}, clients.Options{Place: place, Secret: looksSecret})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(plan.Change.After), want) {
			t.Errorf("%s: no %s in\n%s", place, want, plan.Change.After)
		}
		if place != clients.Keep && (len(plan.Secrets) != 1 || plan.Secrets[0].Value != "not-a-real-${key") {
			t.Errorf("%s: secrets %v", place, plan.Secrets)
		}
	}
}

// Lines join those of an .env, which is its owner's alone afterwards.
func TestAddEnv(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".env")
	write(t, path, "A=kept # c")
	c, err := clients.AddEnv(path, []clients.Secret{{Name: "A", Value: "x"}, {Name: "B", Value: "q\"\\$\n'"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); got != "A=kept # c\nB=\"q\\\"\\\\\\$\\n'\"\n" {
		t.Errorf("got %q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// What is written is read again as it was: else nothing is.
func TestAddEnvIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".env")
	write(t, path, "B=kept\n")
	good := []clients.Secret{{Name: "A", Value: "a\r\n\tb\r#\u2028 $X\\n`'\"\ufeff"}, {Name: "B", Value: "other"}}
	c, err := clients.AddEnv(path, good)
	if err != nil {
		t.Fatal(err)
	}
	if got, wrong := source.ParseDotenv(source.NewFile(path, 1), c.After); len(wrong) > 0 || got["A"] != good[0].Value || got["B"] != "kept" {
		t.Errorf("%q, %v", got, wrong)
	}
	const value = "a\x00b"
	c, err = clients.AddEnv(path, append(good, clients.Secret{Server: "s", Key: "THE_KEY", Name: "C", Value: value}))
	if err == nil || !strings.Contains(err.Error(), "value of THE_KEY of the server s") || strings.Contains(err.Error(), value) || c.After != nil {
		t.Errorf("%v, %q", err, c.After)
	}
}
