package tenon_test

import (
	"strings"
	"testing"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/tool"
)

// TestOptionsAreNamed: an error that tells an operator which option to set names it,
// whatever is hidden besides: a name is no secret.
func TestOptionsAreNamed(t *testing.T) {
	for options, name := range map[string]string{
		`{backend: docker, docker_host: "unix:///nonexistent/docker.sock"}`:                       "the option docker_host",
		`{backend: docker, docker_tls: perhaps}`:                                                  "option docker_tls",
		`{backend: e2b, e2b_api_key: not-a-real-key-000, e2b_template: "a b"}`:                    "option e2b_template",
		`{backend: e2b, e2b_api_key: not-a-real-key-000, e2b_base_url: "not-a-real-key-000://x"}`: "option e2b_base_url",
		`{backend: gvisor, gvisor_runsc: /nonexistent/runsc}`:                                     "option gvisor_runsc",
		`{backend: local, python: /nonexistent/python3}`:                                          "option python",
	} {
		g := open(t, tenon.Options{Bundled: bundled(), Config: write(t, "version: 1\nservers:\n  python:\n    bundled: python\n    in_process: true\n    env: {API_KEY: not-a-real-key-000, DOCKER_TOKEN: not-a-real-key-001}\n    options: "+options+"\n")})
		res := g.Call(t.Context(), tool.Call{Server: "python", Tool: "create_sandbox", Arguments: []byte(`{}`)})
		if got := res.Text(); !strings.Contains(got, name) {
			t.Errorf("%s: %q is not in %s", options, name, got)
		}
	}
}
