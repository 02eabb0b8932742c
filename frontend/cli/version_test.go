package cli_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/version"
)

// TestOneVersion: a gateway is of the same version to whoever asks.
func TestOneVersion(t *testing.T) {
	var out bytes.Buffer
	said := command{args: []string{"version", "-o", "json"}, stdout: &out}
	said.run(t.Context(), t)
	var here struct{ Version string }
	if err := json.Unmarshal(out.Bytes(), &here); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir(), "TENON_GATEWAY=")
	gateway := command{args: []string{"serve", "--listen", "127.0.0.1:0", "--output", "json", "--config", configFile(t, "version: 1\nservers: {time: {bundled: time}}\n")}, env: env}
	stdout, _ := gateway.start(t)
	var at struct{ MCP, REST string }
	if err := json.NewDecoder(stdout).Decode(&at); err != nil {
		t.Fatal(err, gateway.log.String())
	}
	res, err := http.Get(at.REST + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var document struct{ Info struct{ Version string } }
	if err := json.NewDecoder(res.Body).Decode(&document); err != nil {
		t.Fatal(err)
	}
	for where, got := range map[string]string{
		"tenon version":   here.Version,
		"serverInfo":      connect(t, at.MCP, "2025-11-25").InitializeResult().ServerInfo.Version,
		"openapi.json":    document.Info.Version,
		"the User-Agents": strings.Fields(strings.TrimPrefix(version.Agent("x"), "Tenon/"))[0],
	} {
		if got != version.String() {
			t.Errorf("%s says %q, want %q", where, got, version.String())
		}
	}
}
