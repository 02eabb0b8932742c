package upstream

import (
	"path"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/proc"
)

// runners are the commands that download what they run where they do not have it
// yet, each with the words before the package that make it do so.
var runners = map[string][]string{
	"npx":     {""},
	"pnpx":    {""},
	"bunx":    {""},
	"uvx":     {""},
	"npm":     {"exec", "x"},
	"pnpm":    {"dlx", "exec"},
	"yarn":    {"dlx"},
	"bun":     {"x"},
	"uv":      {"run", "tool"},
	"pipx":    {"run"},
	"deno":    {"run"},
	"go":      {"run"},
	"dotnet":  {"tool"},
	"dnx":     {""},
	"docker":  {"run", "container", "compose"},
	"podman":  {"run", "container"},
	"nerdctl": {"run", "container"},
	"nix":     {"run", "shell"},
	"jbang":   {""},
}

// isRunner reports whether a command may have to download what it runs.
func isRunner(c *proc.Command) bool {
	if c == nil {
		return false
	}
	name := strings.ToLower(path.Base(strings.ReplaceAll(c.Path, `\`, "/")))
	for _, ending := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, ending)
	}
	if name == "cmd" && len(c.Args) > 1 && strings.EqualFold(c.Args[0], "/c") { // as desktop clients on Windows write it
		return isRunner(&proc.Command{Path: c.Args[1], Args: c.Args[2:]})
	}
	words := runners[name]
	if slices.Contains(words, "") {
		return true
	}
	for _, arg := range c.Args {
		if !strings.HasPrefix(arg, "-") {
			return slices.Contains(words, arg)
		}
	}
	return false
}
