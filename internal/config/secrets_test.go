package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/secrets"
)

// TestOutsideSecrets: each source gives its value, every value is a secret, and
// every file is one whose change is noticed.
func TestOutsideSecrets(t *testing.T) {
	keyring.MockInit()
	if err := keyring.Set("github", "ann@example.com", "not-a-real-key-ring"); err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{
		"conf/tenon.yaml": `version: 1
secrets: {file: ../vault/secrets.age, identity: "${env:ID}"}
servers:
  a:
    command: x
    args: ["--key=${secret:TOKEN}", "${file:keys/${env:NAME}.txt}"]
    env: {A: "${keyring:github/ann@example.com}", B: "${file:~/home.txt}", C: "Bearer ${secret:TOKEN}"}
fallbacks:
  a/x: [{tool: a/y, arguments: {key: "${secret:OTHER}"}}]
policy: {redact: {enabled: false, patterns: [{name: staff, pattern: "EMP-[0-9]{6}"}], keys: [employee]}}
`,
		"conf/keys/main.txt": "not-a-real-key-file\r\n",
		"home/home.txt":      "not-a-real\nkey-home\n\n",
	})
	home := filepath.Join(dir, "home")
	id := filepath.Join(dir, "id.txt")
	if _, err := secrets.NewIdentity(id); err != nil {
		t.Fatal(err)
	}
	vault := secrets.Vault{File: filepath.Join(dir, "vault", "secrets.age"), Identity: id}
	for name, value := range map[string]string{"TOKEN": "not-a-real-key-age", "OTHER": "not-a-real-key-two", "UNUSED": "not-a-real-key-three"} {
		if err := vault.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "conf", "tenon.yaml")
	cfg, err := config.Load(config.Source{Path: path, Env: []string{
		"NAME=main", "HOME=" + home, "USERPROFILE=" + home, "ID=" + id, "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Broken) > 0 {
		t.Fatal(cfg.Broken)
	}
	s := cfg.Servers[0]
	if got := strings.Join(s.Args, " "); got != "--key=not-a-real-key-age not-a-real-key-file" {
		t.Errorf("%q", got)
	}
	for name, want := range map[string]string{"A": "not-a-real-key-ring", "B": "not-a-real\nkey-home\n", "C": "Bearer not-a-real-key-age"} {
		if got := s.Env[name].Reveal(); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	var all []string
	for _, s := range cfg.Secrets {
		all = append(all, s.Reveal())
	}
	for _, want := range []string{
		"not-a-real-key-ring", "not-a-real-key-file", "not-a-real\nkey-home\n", "not-a-real-key-age", "not-a-real-key-two", "not-a-real-key-three",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%q is no secret", want)
		}
	}
	for _, want := range []string{path, vault.File, id, filepath.Join(dir, "conf", "keys", "main.txt"), filepath.Join(home, "home.txt")} {
		if !slices.Contains(cfg.Files, want) {
			t.Errorf("a change of %s is not noticed: %v", want, cfg.Files)
		}
	}
	r := cfg.Policy.Redact
	if r.Results || len(r.Patterns) != 1 || r.Patterns[0].Name != "staff" || !slices.Equal(r.Keys, []string{"employee"}) {
		t.Errorf("%+v", r)
	}
}

// TestKeyringIsLeftAlone: nothing is asked that no expression names, and nothing is
// started where there is no service.
func TestKeyringIsLeftAlone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere there always is a keyring")
	}
	if _, err := os.Stat("/run/user"); err == nil {
		t.Skip("there may be a session bus")
	}
	keyring.MockInit()
	if err := keyring.Set("github", "ann", "not-a-real-key-ring"); err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{"tenon.yaml": "version: 1\nservers: {a: {command: x, env: {A: \"${keyring:github/ann}\"}}}\n"})
	cfg, err := config.Load(config.Source{Path: filepath.Join(dir, "tenon.yaml")})
	if err != nil || len(cfg.Broken) != 1 || !strings.Contains(cfg.Broken[0].Text, "no keyring service") || cfg.Broken[0].Line != 2 {
		t.Errorf("%v %v", err, cfg.Broken)
	}
}

// TestOpenFile: a secret that everybody can read is told of.
func TestOpenFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the mode says nothing there")
	}
	dir := write(t, map[string]string{
		"tenon.yaml": "version: 1\nservers: {a: {command: x, args: [\"${file:key.txt}\", \"${file:key.txt}\"]}}\n",
		"key.txt":    "not-a-real-key-000\n",
	})
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o640: 0, 0o644: 1} {
		if err := os.Chmod(filepath.Join(dir, "key.txt"), mode); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(config.Source{Path: filepath.Join(dir, "tenon.yaml")})
		if err != nil || len(cfg.Warnings) != want {
			t.Errorf("%o: %v %v", mode, cfg.Warnings, err)
		}
		for _, w := range cfg.Warnings {
			if text := w.String() + w.Excerpt; strings.Contains(text, "not-a-real") || !strings.Contains(text, "chmod o-r") {
				t.Error(text)
			}
		}
	}
}

// TestLoadVault: a configuration that cannot be loaded for want of a secret still
// says where secrets are kept, and nothing else of it is looked at.
func TestLoadVault(t *testing.T) {
	dir := write(t, map[string]string{
		"tenon.yaml": "version: 1\nsecrets: {file: ./a/s.age}\nservers: {a: {command: x, env: {A: \"${secret:A}\", B: \"${env:UNSET}\"}}}\nnothing: 1\n",
		"other.json": `{"mcpServers": {}}`,
		"bad.yaml":   "version: 1\nsecrets: {file: ./a/s.age, recipients: [ann]}\n",
	})
	env := []string{"XDG_CONFIG_HOME=" + dir, "APPDATA=" + dir}
	id := filepath.Join(dir, "tenon", "identity.txt")
	v, err := config.LoadVault(config.Source{Path: filepath.Join(dir, "tenon.yaml"), Env: env})
	if err != nil || v.File != filepath.Join(dir, "a", "s.age") || v.Identity != id {
		t.Errorf("%+v %v", v, err)
	}
	v, err = config.LoadVault(config.Source{Path: filepath.Join(dir, "other.json"), Env: env})
	if err != nil || v.File != filepath.Join(dir, "secrets.age") || v.Identity != id {
		t.Errorf("%+v %v", v, err)
	}
	if v, err = config.LoadVault(config.Source{Env: env}); err != nil || v.File != "" || v.Identity != id {
		t.Errorf("%+v %v", v, err)
	}
	if _, err := config.LoadVault(config.Source{Path: filepath.Join(dir, "bad.yaml"), Env: env}); err == nil {
		t.Error("a wrong section was taken")
	}
}
