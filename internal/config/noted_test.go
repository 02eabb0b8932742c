package config_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFiles: all that a configuration depends on is named, so that a change of it
// can be noticed.
func TestFiles(t *testing.T) {
	dir := write(t, map[string]string{
		"tenon.yaml":      "version: 1\ninclude: [more.yaml, clients.json, tools]\n",
		"more.yaml":       "version: 1\nservers: {a: {command: a}}\n",
		"clients.json":    `{"mcpServers": {"b": {"command": "b"}}}`,
		".env":            "A_KEY=secret-value\n",
		"tools/c.yaml":    "name: c\ntool_command: c\n",
		"unrelated.yaml":  "x",
		"tools/notes.txt": "x",
	})
	cfg, err := load(t, filepath.Join(dir, "tenon.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range cfg.Files {
		rel, err := filepath.Rel(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(rel))
	}
	if want := ".env clients.json more.yaml tenon.yaml tools tools/c.yaml"; strings.Join(got, " ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, " "), want)
	}
}
