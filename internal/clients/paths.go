package clients

import (
	"strings"
	"sync"
)

// A World is the machine as a client sees it.
type World struct {
	OS      string            // as runtime.GOOS says it
	Env     map[string]string // the environment
	Project string            // absolute folder that a person works in
}

// A Scope says for what a file of settings counts.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // for all that a person does
	Project Scope = "project" // in one folder
)

// A format is how a file is written.
type format int

const (
	jsonc format = iota // JSON, with comments and trailing commas where the client allows them
	tomlFile
)

// A file is one place of settings. Paths begin with ~ (the home folder), $CONFIG
// (the folder of settings of the system), $NAME (a variable, without which the next
// path counts) or . (the project).
type file struct {
	scope   Scope
	format  format
	servers []string // keys that lead to the servers
	old     bool     // read, and no longer written to
	paths   []string // of which the first one that can be told counts
	mac     []string // on macOS, where it differs
	windows []string // on Windows, where it differs
}

// known is the table of clients. Where a path or a shape is from stands beside it.
var known = sync.OnceValue(func() []*Client {
	servers := []string{"mcpServers"}
	return []*Client{
		{ // modelcontextprotocol.io/quickstart/user; a server elsewhere is a connector, made in the program itself
			ID: "claude-desktop", Name: "Claude Desktop", local: true, entry: Entry.program,
			files: []file{{scope: User, servers: servers, paths: []string{"$CONFIG/Claude/claude_desktop_config.json"}}},
		},
		{ // code.claude.com/docs/en/mcp, "MCP installation scopes" and "Environment variable expansion"
			ID: "claude-code", Name: "Claude Code", entry: remote("url", true), exprs: dialect{braces: true},
			files: []file{
				{scope: User, servers: servers, paths: []string{"$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"}},
				{scope: Project, servers: servers, paths: []string{"./.mcp.json"}},
			},
		},
		{ // cursor.com/docs/mcp, "Configuration locations" and "Config interpolation"
			ID: "cursor", Name: "Cursor", entry: remote("url", false), exprs: dialect{editor: true},
			files: []file{
				{scope: User, servers: servers, paths: []string{"~/.cursor/mcp.json"}},
				{scope: Project, servers: servers, paths: []string{"./.cursor/mcp.json"}},
			},
		},
		{ // code.visualstudio.com/docs/copilot/reference/mcp-configuration; settings.json until 1.102
			ID: "vscode", Name: "VS Code", entry: remote("url", true), exprs: dialect{editor: true},
			files: []file{
				{scope: User, servers: []string{"servers"}, paths: []string{"$CONFIG/Code/User/mcp.json"}},
				{scope: User, servers: []string{"mcp", "servers"}, old: true, paths: []string{"$CONFIG/Code/User/settings.json"}},
				{scope: Project, servers: []string{"servers"}, paths: []string{"./.vscode/mcp.json"}},
			},
		},
		{ // docs.windsurf.com/windsurf/cascade/mcp
			ID: "windsurf", Name: "Windsurf", entry: remote("serverUrl", false), exprs: dialect{editor: true},
			files: []file{{scope: User, servers: servers, paths: []string{"~/.codeium/windsurf/mcp_config.json"}}},
		},
		{ // developers.openai.com/codex/mcp and its config reference
			ID: "codex", Name: "Codex", entry: remote("url", false),
			files: []file{
				{scope: User, format: tomlFile, servers: []string{"mcp_servers"}, paths: []string{"$CODEX_HOME/config.toml", "~/.codex/config.toml"}},
				{scope: Project, format: tomlFile, servers: []string{"mcp_servers"}, paths: []string{"./.codex/config.toml"}},
			},
		},
		{ // zed.dev/docs/ai/mcp and zed.dev/docs/configuring-zed
			ID: "zed", Name: "Zed", entry: remote("url", false),
			files: []file{
				{
					scope: User, servers: []string{"context_servers"}, paths: []string{"$CONFIG/zed/settings.json"},
					mac: []string{"~/.config/zed/settings.json"}, windows: []string{"$CONFIG/Zed/settings.json"},
				},
				{scope: Project, servers: []string{"context_servers"}, paths: []string{"./.zed/settings.json"}},
			},
		},
		{ // geminicli.com/docs/tools/mcp-server and /docs/cli/configuration
			ID: "gemini", Name: "Gemini CLI", entry: remote("httpUrl", false), exprs: dialect{braces: true, dollar: true},
			files: []file{
				{scope: User, servers: servers, paths: []string{"~/.gemini/settings.json"}},
				{scope: Project, servers: servers, paths: []string{"./.gemini/settings.json"}},
			},
		},
	}
})

// Settings are one file of settings of a client, whether it is there or not.
type Settings struct {
	Client *Client
	Scope  Scope
	Path   string
	Old    bool // the client has moved on: it is read, and not written to

	file  file
	world World
}

// Settings returns the files of a client, in the order in which they are read. One
// whose folder cannot be told is left out.
func (c *Client) Settings(w World) []Settings {
	var out []Settings
	for _, f := range c.files {
		if path := w.path(f); path != "" {
			out = append(out, Settings{Client: c, Scope: f.scope, Path: path, Old: f.old, file: f, world: w})
		}
	}
	return out
}

// Target returns the file of a scope that a client writes to itself.
func (c *Client) Target(w World, scope Scope) (Settings, bool) {
	for _, s := range c.Settings(w) {
		if s.Scope == scope && !s.Old {
			return s, true
		}
	}
	return Settings{}, false
}

// variable returns a variable of the environment. On Windows their names are written
// in any case.
func (w World) variable(name string) string {
	if v, ok := w.Env[name]; ok || w.OS != "windows" {
		return v
	}
	for n, v := range w.Env {
		if strings.EqualFold(n, name) {
			return v
		}
	}
	return ""
}

// home returns the folder of the person, or nothing.
func (w World) home() string {
	if w.OS == "windows" {
		return w.variable("USERPROFILE")
	}
	return w.variable("HOME")
}

// config returns the folder in which programs keep the settings of the person.
func (w World) config() string {
	home := w.home()
	switch {
	case w.OS == "windows" && w.variable("APPDATA") != "":
		return w.variable("APPDATA")
	case w.OS != "windows" && w.OS != "darwin" && w.isAbs(w.variable("XDG_CONFIG_HOME")):
		return w.variable("XDG_CONFIG_HOME")
	case home == "":
		return ""
	case w.OS == "windows":
		return w.join(home, "AppData/Roaming")
	case w.OS == "darwin":
		return w.join(home, "Library/Application Support")
	}
	return w.join(home, ".config")
}

// path returns the first path of a file that can be told.
func (w World) path(f file) string {
	paths := f.paths
	switch {
	case w.OS == "darwin" && f.mac != nil:
		paths = f.mac
	case w.OS == "windows" && f.windows != nil:
		paths = f.windows
	}
	for _, p := range paths {
		first, rest, _ := strings.Cut(p, "/")
		base := w.Project
		switch {
		case first == "~":
			base = w.home()
		case first == "$CONFIG":
			base = w.config()
		case first[0] == '$':
			base = w.variable(first[1:])
		}
		if w.isAbs(base) {
			return w.join(base, rest)
		}
	}
	return ""
}

// roots are the folders in which settings may be written.
func (w World) roots() []string {
	var out []string
	for _, dir := range []string{w.home(), w.config(), w.Project, w.variable("CLAUDE_CONFIG_DIR"), w.variable("CODEX_HOME")} {
		if w.isAbs(dir) {
			out = append(out, dir)
		}
	}
	return out
}

func (w World) isAbs(path string) bool {
	if w.OS == "windows" {
		return len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/') || strings.HasPrefix(path, `\\`)
	}
	return strings.HasPrefix(path, "/")
}

// join puts a path with slashes below a folder, as the system writes it.
func (w World) join(dir, path string) string {
	if w.OS == "windows" {
		return strings.TrimRight(dir, `\/`) + `\` + strings.ReplaceAll(path, "/", `\`)
	}
	return strings.TrimRight(dir, "/") + "/" + path
}
