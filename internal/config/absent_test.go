package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/config"
)

// TestAbsent: a configuration that is not there is answered with the one that may be
// meant, or with what is looked for.
func TestAbsent(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, "one")
	for path, text := range map[string]string{
		"tenon.yaml": "", "notes.txt": "", "mcp.json": "", "one/gateway.yml": "", "empty/notes.txt": "",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "tennon.yaml"):        `no such file or folder (did you mean "` + filepath.Join(dir, "tenon.yaml") + `"?)`,
		filepath.Join(dir, "tenon.yml"):          `did you mean "` + filepath.Join(dir, "tenon.yaml") + `"?`,
		filepath.Join(one, "x.yaml"):             `did you mean "` + filepath.Join(one, "gateway.yml") + `"?`,
		filepath.Join(dir, "empty", "x.yaml"):    "name a tenon.yaml, the mcpServers JSON of a desktop client",
		filepath.Join(dir, "nowhere", "x.yaml"):  "there is no folder " + filepath.Join(dir, "nowhere") + " either",
		filepath.Join(dir, "something-else.txt"): "name a tenon.yaml",
	} {
		_, err := config.Load(config.Source{Path: path})
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `\\`, `\`), want) {
			t.Errorf("%s: got %v, want %q in it", path, err, want)
		}
	}
}
