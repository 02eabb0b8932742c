package upstream_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/upstream"
)

func TestRunners(t *testing.T) {
	for line, want := range map[string]bool{
		"npx -y @playwright/mcp":            true,
		"/usr/local/bin/npx x":              true,
		`C:\Program_Files\nodejs\npx.cmd x`: true,
		"cmd /c npx -y x":                   true,
		"uvx mcp-server-git":                true,
		"uv tool run x":                     true,
		"uv --quiet run server.py":          true,
		"uv pip install x":                  false,
		"docker run -i --rm mcp/github":     true,
		"docker exec -i box server":         false,
		"bunx x":                            true,
		"pnpm dlx x":                        true,
		"npm exec x":                        true,
		"npm start":                         false,
		"pipx run x":                        true,
		"deno run jsr:@x/y":                 true,
		"go run example.com/server@latest":  true,
		"node server.js":                    false,
		"python -m server":                  false,
		"./npx-like":                        false,
	} {
		words := strings.Fields(line)
		if got := upstream.IsRunner(&proc.Command{Path: words[0], Args: words[1:]}); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
