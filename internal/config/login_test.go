package config_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/config"
)

func TestLogin(t *testing.T) {
	tests := map[string]struct{ entry, want string }{
		"all":            {`{url: "https://a.example", auth: {client_id: me, client_secret: not-a-real-key-000, scopes: [read, write], redirect_port: 8123, flow: paste}}`, ""},
		"document":       {`{url: "https://a.example", auth: {client_id: "https://me.example/client.json"}}`, ""},
		"root":           {`{url: "https://a.example", auth: {client_id: "https://me.example/"}}`, "metadata document"},
		"machine":        {`{url: "https://a.example", auth: {flow: client_credentials, client_id: me}}`, "client_secret"},
		"machine, each":  {`{url: "https://a.example", auth: {flow: client_credentials, client_id: me, client_secret: not-a-real-key-000, per: caller}}`, "per: caller means nothing"},
		"machine, key":   {`{url: "https://a.example", auth: {flow: client_credentials, client_id: me, client_key: not-a-real-key-000}}`, ""},
		"two proofs":     {`{url: "https://a.example", auth: {flow: client_credentials, client_id: me, client_key: not-a-real-key-000, client_secret: not-a-real-key-001}}`, "in place of client_secret"},
		"person, key":    {`{url: "https://a.example", auth: {client_id: me, client_key: not-a-real-key-000}}`, "client_key goes with flow"},
		"no id":          {`{url: "https://a.example", auth: {client_secret: not-a-real-key-000}}`, "without client_id"},
		"two tokens":     {`{url: "https://a.example", headers: {authorization: Bearer not-a-real-key-000}, auth: {flow: paste}}`, "beside a header Authorization"},
		"shared, each":   {`{url: "https://a.example", isolation: shared, auth: {per: caller}}`, "isolation: shared"},
		"command":        {`{command: x, auth: {flow: paste}}`, "auth means nothing with command"},
		"scopes at once": {`{url: "https://a.example", auth: {scopes: read write}}`, "is no scope"},
		"flow":           {`{url: "https://a.example", auth: {flow: carrier-pigeon}}`, "flow"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"tenon.yaml": "version: 1\nservers:\n  a: " + test.entry + "\n"})
			cfg, err := load(t, filepath.Join(dir, "tenon.yaml"))
			text := ""
			if e, ok := errors.AsType[*config.Error](err); ok {
				text = e.Error()
			} else if err != nil {
				t.Fatal(err)
			} else if cfg.Servers[0].Err != nil {
				text = cfg.Servers[0].Err.Error()
			}
			if test.want == "" && text != "" || !strings.Contains(text, test.want) {
				t.Fatalf("mistakes %q, want %q", text, test.want)
			}
			if strings.Contains(text, "not-a-real-key") {
				t.Error("a secret is shown")
			}
			if test.want == "" && cfg.Servers[0].Care.Login == nil {
				t.Error("auth is lost")
			}
		})
	}
	dir := write(t, map[string]string{"tenon.yaml": "version: 1\nservers:\n  a: {url: \"https://a.example\", auth: {per: caller, client_id: me, client_secret: not-a-real-key-000}}\n"})
	cfg, err := load(t, filepath.Join(dir, "tenon.yaml"))
	if err != nil || cfg.Servers[0].Isolation != config.IsolationSession {
		t.Fatal(err, cfg.Servers[0].Isolation)
	}
	shown, err := cfg.Servers[0].MarshalJSON()
	if err != nil || strings.Contains(string(shown), "not-a-real-key") || !strings.Contains(string(shown), `"per":"caller"`) {
		t.Errorf("%s, %v", shown, err)
	}
}
