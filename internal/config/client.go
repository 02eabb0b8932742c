package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// idle are the keys of desktop clients that have no meaning here: what a client
// shows or asks its user, and limits in units that differ from one to the next.
var idle = []string{
	"$schema", "alwaysAllow", "autoApprove", "authorization", "auth", "autoStart", "connectTimeout", "description", "dev",
	"displayName", "gallery", "icon", "iconPath", "id", "instructions", "metadata", "name", "note", "oauth", "provider",
	"registry", "sandbox", "sandboxEnabled", "source", "startupTimeout", "tags", "timeout", "title", "trust", "version",
}

// clients reads files of desktop clients. Such a file is not ours, so what it
// holds beyond the servers is read over, with a warning where it may be a
// mistake.
type clients struct {
	*loader

	dir string // what the client has open
}

func (c clients) read(d *document) {
	o := newObject(d.root, c.expander(nil), &c.mistakes)
	if d.root.Kind != source.Map {
		return
	}
	found := false
	for _, key := range []string{"mcpServers", "servers"} {
		found = found || d.root.Field(key) != nil
		n := o.key(key)
		switch {
		case n == nil:
		case n.Kind != source.Map:
			o.fail(n, key+" wants a map of names, and holds "+n.Kind.String(), "")
		default:
			for _, p := range n.Pairs {
				if len(c.entries) <= maxServers { // one more is an error
					c.entry(p.Key, p.Value)
				}
			}
		}
	}
	if !found {
		o.fail(d.root, "holds neither mcpServers nor servers", "")
		return
	}
	o.key("inputs") // each use of one is an error where it stands
	var unknown []string
	o.rest(func(key *source.Node) {
		if !slices.Contains(idle, key.Text) {
			unknown = append(unknown, clip(key.Text))
		}
	})
	if len(unknown) > 0 {
		c.warn(d.root, "keys that mean nothing here are read over: "+strings.Join(unknown, ", "), "")
	}
}

// workspace returns the folder that a client has open: the one above .vscode,
// .cursor and the like, else the file's own.
func workspace(dir string) string {
	if base := filepath.Base(dir); len(base) > 1 && base[0] == '.' {
		return filepath.Dir(dir)
	}
	return dir
}

// entry adds one server, unless it is switched off.
func (c clients) entry(key, n *source.Node) {
	e, o := c.newEntry(key, n, c.dir, false)
	o.ex.Vars = c.vars()
	if e.off(o) {
		c.warn(key, fmt.Sprintf("server %q is switched off, and left out", clip(key.Text)), "")
		n.Hide()
		return
	}
	if clean := cleanName(key.Text); clean != key.Text {
		c.warn(key, fmt.Sprintf("server %q is called %q here", clip(key.Text), clean), "letters, digits, _, . and - are allowed")
		e.server.Name = clean
	}
	e.address(o)
	e.clientTransport(o)
	o.text("command", &e.server.Command)
	c.envFileOf(e, o)
	e.reach(o)
	c.tools(e, o)
	o.rest(func(key *source.Node) {
		if !slices.Contains(idle, key.Text) {
			c.warn(key, fmt.Sprintf("key %q means nothing here", clip(key.Text)), suggest(key.Text, o.known, "known here"))
		}
	})
	e.check(c.bundled)
	c.add(e)
}

// vars are the variables that clients define themselves.
func (c clients) vars() map[string]string {
	home, _ := c.lookup("HOME")
	if runtime.GOOS == "windows" {
		home, _ = c.lookup("USERPROFILE")
	}
	return map[string]string{
		"workspaceFolder": c.dir, "workspaceRoot": c.dir, "workspaceFolderBasename": filepath.Base(c.dir), "cwd": c.dir,
		"userHome": home, "pathSeparator": string(filepath.Separator), "/": string(filepath.Separator),
	}
}

// off tells whether the client has the server switched off.
func (e *entry) off(o *object) bool {
	disabled, enabled := false, true
	o.boolean("disabled", &disabled)
	o.boolean("enabled", &enabled)
	return disabled || !enabled
}

// address reads the other names of url.
func (e *entry) address(o *object) {
	for _, key := range []string{"serverUrl", "httpUrl"} {
		if !o.has(key) {
			o.key(key)
			continue
		}
		o.text(key, &e.server.URL)
		if key == "httpUrl" {
			e.server.Transport = TransportHTTP
		}
		if e.places["url"] == nil {
			e.places["url"] = e.places[key]
		}
	}
}

// clientTransport reads type or transport: the keys differ, the words too.
func (e *entry) clientTransport(o *object) {
	table := make(map[string]string)
	maps.Copy(table, transports)
	table["local"], table["remote"] = "stdio", "auto"
	var transport string
	for _, key := range []string{"type", "transport"} {
		o.enum(key, table, []string{"stdio", "http", "sse"}, &transport)
	}
	if transport != "" {
		e.server.Transport = Transport(transport)
		if e.places["transport"] == nil {
			e.places["transport"] = e.places["type"]
		}
	}
}

// envFileOf reads the file of more variables that an entry may name; those of
// `env` win over it.
func (c clients) envFileOf(e *entry, o *object) {
	var file string
	o.text("envFile", &file)
	if file == "" {
		return
	}
	for name, value := range c.envFile(under(e.dir, file), &e.mistakes) {
		if e.server.Env == nil {
			e.server.Env = make(map[string]tool.Secret)
		}
		e.server.Env[name] = tool.NewSecret(value)
	}
}

// tools reads which tools a client blocks. Those are guards, so none is
// read over: a list of what is blocked joins the blacklist, and a list of what
// is allowed, which cannot be kept here, breaks the entry.
func (c clients) tools(e *entry, o *object) {
	for _, key := range []string{"disabledTools", "excludeTools"} {
		for _, n := range o.list(key) {
			if name, ok := o.scalar(n); ok {
				c.cfg.Blacklist = append(c.cfg.Blacklist, tool.ID{Server: e.server.Name, Name: escape(name)})
			}
		}
	}
	for _, key := range []string{"includeTools", "enabledTools", "tools"} {
		list := o.list(key)
		everything := slices.ContainsFunc(list, func(n *source.Node) bool { return n.Text == "*" })
		if len(list) > 0 && !everything {
			o.fail(o.at(key), key+" is not enforced by this version", "remove it, and name in disabledTools what is not allowed")
		}
	}
}

// escape returns a pattern for a name. A star stays one: some clients read it so,
// and no tool is called that.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `?`, `\?`, `[`, `\[`).Replace(name)
}
