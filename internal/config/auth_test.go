package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/config"
)

// TestTokensAreForSomething: an identity provider is trusted only for tokens that were made
// for this gateway, which needs the name that they have for it.
func TestTokensAreForSomething(t *testing.T) {
	for entry, want := range map[string]string{
		`{issuer: "https://id.example.com", audience: tenon}`:                        "",
		`{issuer: "https://id.example.com", resource: "https://x.example.com/mcp"}`:  "",
		`{issuer: "https://id.example.com"}`:                                         "oidc wants audience",
		`{resource: "https://x.example.com/mcp"}`:                                    "oidc wants issuer",
		`{issuer: "https://id.example.com", audience: a, resource: "x.example.com"}`: "resource",
	} {
		dir := write(t, map[string]string{"tenon.yaml": "version: 1\nservers:\n  time: {bundled: time}\nauth:\n  oidc: " + entry + "\n"})
		_, err := load(t, filepath.Join(dir, "tenon.yaml"))
		text := ""
		if e, ok := errors.AsType[*config.Error](err); ok {
			text = e.Error()
		} else if err != nil {
			t.Fatal(err)
		}
		if want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%s: mistakes %q, want %q", entry, text, want)
		}
	}
}
