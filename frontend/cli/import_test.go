package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/tenon-mcp/tenon/frontend/cli"
)

// Secrets go into the keyring of the user, under a name that nothing else has, and
// the pool finds them there.
func TestImportToKeyring(t *testing.T) {
	keyring.MockInit()
	if err := keyring.Set("tenon", "API_KEY", "not-a-real-key-of-another"); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	settings := `{"mcpServers": {"docs": {"command": "docs", "env": {"API_KEY": "not-a-real-key-000"}}}}`
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	run := func(args ...string) string {
		var out, said bytes.Buffer
		env := []string{
			"HOME=" + home, "USERPROFILE=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
			"DBUS_SESSION_BUS_ADDRESS=unix:path=/none",
		}
		code := cli.Main(t.Context(), cli.Options{Args: args, Env: env, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said})
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, said.String())
		}
		return out.String() + said.String()
	}
	said := run("import", "cursor", "--secrets", "keyring", "--yes")
	if strings.Contains(said, "not-a-real") || !strings.Contains(said, "goes to the keyring as DOCS_API_KEY") {
		t.Errorf("it says %s", said)
	}
	if got, err := keyring.Get("tenon", "DOCS_API_KEY"); err != nil || got != "not-a-real-key-000" {
		t.Errorf("the keyring has %q, %v", got, err)
	}
	if got, err := keyring.Get("tenon", "API_KEY"); err != nil || got != "not-a-real-key-of-another" {
		t.Errorf("the other one is %q, %v", got, err)
	}
	text, err := os.ReadFile("tenon.yaml")
	if err != nil || !strings.Contains(string(text), `API_KEY: "${keyring:tenon/DOCS_API_KEY}"`) {
		t.Errorf("%v\n%s", err, text)
	}
	if said := run("check"); !strings.Contains(said, "idle       docs") {
		t.Errorf("check says %s", said)
	}
}
