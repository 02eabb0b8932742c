package clients

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Server is an entry of a client, with texts as tenon.yaml has them.
type Server struct {
	Name      string
	From      *Client // nil for a file that nobody knows the client of
	Path      string
	Scope     Scope
	Command   string
	Args      []string
	Env       []Pair
	Cwd       string
	URL       string
	Headers   []Pair
	Transport string
	Timeouts  []Pair // keys of tenon.yaml

	// Held says why the entry is not to run before a person has looked at it: it is
	// switched off, or the client guards it in a way that would be lost.
	Held string
	// Notes tell what of the entry is not taken.
	Notes []string
}

// A Pair is a name and a value, in the order of the file.
type Pair struct{ Name, Value string }

// Read returns the servers of a file, or none where it is not there. What is no
// server is told in the notes of an entry without command and URL.
func (s Settings) Read() ([]Server, error) {
	data, root, _, err := s.load()
	if err != nil || root == nil {
		return nil, err
	}
	at, err := s.servers(data, root)
	if err != nil {
		return nil, err
	}
	out := s.entriesOf(root, at)
	return out, s.hold(out)
}

// Own returns the servers that stand where Connect writes: Read without those of
// single projects that are kept in the same file.
func (s Settings) Own() ([]Server, error) {
	data, root, _, err := s.load()
	if err != nil || root == nil {
		return nil, err
	}
	at, err := s.servers(data, root)
	if err != nil {
		return nil, err
	}
	return s.entries(at), nil
}

func (s Settings) entriesOf(root, at *node) []Server {
	out := s.entries(at)
	if s.Client != nil && s.Client.ID == "claude-code" && s.Scope == User { // those of one project, kept in the file of the person
		p := root.field("projects").field(s.world.Project).field("mcpServers")
		project := s
		project.Scope = Project
		out = append(out, project.entries(p)...)
	}
	return out
}

// File returns the settings in a file that is no client's own: mcpServers,
// servers, mcp.servers, context_servers or mcp_servers, whichever it holds.
func File(w World, path string) (Settings, error) {
	s := Settings{Scope: User, Path: path, world: w}
	if strings.HasSuffix(strings.ToLower(path), ".toml") {
		s.file = file{format: tomlFile, servers: []string{"mcp_servers"}}
		return s, nil
	}
	_, root, existed, err := s.load()
	if err != nil {
		return s, err
	}
	if !existed {
		return s, &Error{Path: path, Text: "no such file"}
	}
	for _, keys := range [][]string{{"mcpServers"}, {"servers"}, {"context_servers"}, {"mcp", "servers"}} {
		at := root
		for _, key := range keys {
			at = at.field(key)
		}
		if at != nil {
			s.file.servers = keys
			return s, nil
		}
	}
	return s, &Error{Path: path, Text: "holds no servers", Hint: "it wants mcpServers, servers, context_servers or mcp_servers"}
}

func (s Settings) entries(at *node) []Server {
	if at == nil {
		return nil
	}
	var out []Server
	for _, p := range at.pairs {
		out = append(out, s.entry(p))
	}
	return out
}

// A reader takes the fields of an entry, and knows which are left.
type reader struct {
	server Server
	node   *node
	taken  map[string]bool
	t      translator
	codex  bool
}

func (s Settings) entry(p pair) Server {
	r := &reader{server: Server{Name: p.key, From: s.Client, Path: s.Path, Scope: s.Scope}, node: p.value, taken: map[string]bool{}}
	r.t = translator{dialect: every, world: s.world}
	if s.Client != nil {
		r.t.dialect = s.Client.exprs
	}
	r.codex = s.file.format == tomlFile
	if p.value.kind != table {
		r.note("wants a map, and holds %s", p.value.kind)
		return r.server
	}
	r.program()
	r.address()
	r.guards()
	r.times()
	r.rest()
	r.server.Notes = append(r.server.Notes, r.t.notes...)
	if cwd := r.server.Cwd; cwd != "" && !s.world.isAbs(cwd) && !strings.HasPrefix(cwd, "${") {
		r.server.Cwd = s.world.join(s.world.Project, strings.TrimPrefix(cwd, "./"))
		r.note("cwd %s is taken as that of this folder", cwd)
	}
	if s.Scope == Project && r.server.Cwd == "" && r.server.Command != "" {
		r.server.Cwd = s.world.Project // where the client starts it
	}
	return r.server
}

func (r *reader) note(format string, args ...any) {
	r.server.Notes = append(r.server.Notes, fmt.Sprintf(format, args...))
}

// take returns a field, and notes that it was taken.
func (r *reader) take(key string) *node {
	r.taken[key] = true
	return r.node.field(key)
}

// text takes a text, where there is one.
func (r *reader) text(key string) string {
	n := r.take(key)
	switch {
	case n == nil || n.kind == null:
		return ""
	case n.kind == list || n.kind == table:
		r.note("%s wants a text, and holds %s: it is not taken", key, n.kind)
		return ""
	}
	return r.t.text(n.text)
}

func (r *reader) texts(key string, n *node) []string {
	if n == nil || n.kind == null {
		return nil
	}
	if n.kind != list {
		r.note("%s wants a list, and holds %s: it is not taken", key, n.kind)
		return nil
	}
	out := make([]string, 0, len(n.items))
	for _, item := range n.items {
		if item.kind == list || item.kind == table {
			r.note("%s holds %s: it is not taken", key, item.kind)
			continue
		}
		out = append(out, r.t.text(item.text))
	}
	return out
}

func (r *reader) pairs(key string, n *node) []Pair {
	if n == nil || n.kind == null {
		return nil
	}
	if n.kind != table {
		r.note("%s wants a map, and holds %s: it is not taken", key, n.kind)
		return nil
	}
	var out []Pair
	for _, p := range n.pairs {
		if p.value.kind == list || p.value.kind == table {
			r.note("%s.%s holds %s: it is not taken", key, p.key, p.value.kind)
			continue
		}
		out = append(out, Pair{p.key, r.t.text(p.value.text)})
	}
	return out
}

// program reads what is started.
func (r *reader) program() {
	s := &r.server
	args, env := r.take("args"), r.take("env")
	if c := r.node.field("command"); c != nil && c.kind == table { // as Zed had it
		r.taken["command"] = true
		if path := c.field("path"); path != nil && path.kind == text {
			s.Command = r.t.text(path.text)
		}
		args, env = c.field("args"), c.field("env")
	} else {
		s.Command = r.text("command")
	}
	s.Args, s.Env, s.Cwd = r.texts("args", args), r.pairs("env", env), r.text("cwd")
	for _, n := range r.texts("env_vars", r.take("env_vars")) {
		s.Env = append(s.Env, Pair{n, "${env:" + n + "}"})
	}
	if f := r.text("envFile"); f != "" {
		s.Held = "its variables are in a file, which tenon.yaml cannot name"
		r.note("envFile %s is not taken: put its lines into the .env beside tenon.yaml, and name the variables under env", f)
	}
}

var transports = map[string]string{
	"": "", "stdio": "", "local": "", "remote": "", "auto": "", "http": "streamable-http", "streamable-http": "streamable-http",
	"streamable_http": "streamable-http", "streamableHttp": "streamable-http", "sse": "sse",
}

// address reads what is called.
func (r *reader) address() {
	s := &r.server
	kind := r.text("type")
	if t := r.text("transport"); t != "" {
		kind = t
	}
	for _, key := range []string{"url", "serverUrl", "httpUrl"} {
		u := r.text(key)
		if u == "" || s.URL != "" {
			continue
		}
		s.URL = u
		if key == "httpUrl" && kind == "" {
			kind = "http"
		}
	}
	t, known := transports[kind]
	if !known {
		s.Held = "its transport is not one of Tenon's"
		r.note("transport %q is not known here", kind)
	}
	if s.URL != "" {
		s.Transport = t
	}
	s.Headers = append(r.pairs("headers", r.take("headers")), r.pairs("http_headers", r.take("http_headers"))...)
	for _, p := range r.pairs("env_http_headers", r.take("env_http_headers")) {
		s.Headers = append(s.Headers, Pair{p.Name, "${env:" + p.Value + "}"})
	}
	if v := r.text("bearer_token_env_var"); v != "" {
		s.Headers = append(s.Headers, Pair{"Authorization", "Bearer ${env:" + v + "}"})
	}
	switch scheme, _, is := strings.Cut(s.URL, "://"); {
	case s.Command != "" && s.URL != "":
		s.Held = "it has both a command and a URL"
	case is && !strings.Contains(scheme, "$") && !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		s.Held = "its URL is neither http nor https"
	}
}

// guards reads what a client keeps from running. None of it is lost: such an entry
// is not to run before a person has looked at it.
func (r *reader) guards() {
	for key, off := range map[string]string{"disabled": "true", "enabled": "false"} {
		if n := r.take(key); n != nil && n.text == off {
			r.server.Held = heldOff
		}
	}
	for _, key := range []string{"disabledTools", "excludeTools", "disabled_tools"} {
		for _, tool := range r.texts(key, r.take(key)) {
			r.server.Held = "tools of it are switched off"
			r.note("%s: to keep it off, add [%s, %s] to blacklist", key, cleanName(r.server.Name), tool)
		}
	}
	for _, key := range []string{"includeTools", "enabledTools", "enabled_tools", "tools"} {
		n := r.take(key)
		if n == nil || n.kind == list && (len(n.items) == 0 || slices.ContainsFunc(n.items, func(i *node) bool { return i.text == "*" })) {
			continue
		}
		if n.kind == table { // Codex: what it asks for, by tool
			r.note("%s is not taken: policy says here what is asked for", key)
			continue
		}
		r.server.Held = "only some of its tools are allowed"
		r.note("%s allows only %s: name the others in blacklist", key, strings.Join(r.texts(key, n), ", "))
	}
}

// times reads limits where their unit is known.
func (r *reader) times() {
	type limit struct{ key, name, unit string }
	var limits []limit
	switch from := r.server.From; {
	case r.codex:
		limits = []limit{{"startup_timeout_sec", "start_timeout", "s"}, {"startup_timeout_ms", "start_timeout", "ms"}, {"tool_timeout_sec", "timeout", "s"}}
	case from != nil && (from.ID == "gemini" || from.ID == "claude-code"):
		limits = []limit{{"timeout", "timeout", "ms"}}
	}
	for _, l := range limits {
		n := r.take(l.key)
		if n == nil {
			continue
		}
		v, err := strconv.ParseFloat(n.text, 64)
		if n.kind != number || err != nil || v <= 0 || v > 24*60*60*1000 {
			r.note("%s is not taken", l.key)
			continue
		}
		r.server.Timeouts = append(r.server.Timeouts, Pair{l.name, strconv.FormatFloat(v, 'f', -1, 64) + l.unit})
	}
}

// rest tells what is left.
func (r *reader) rest() {
	if n := r.node.field("source"); n != nil && n.text == "custom" { // Zed: not from an extension
		r.taken["source"] = true
	}
	var left []string
	for _, p := range r.node.pairs {
		if !r.taken[p.key] && !slices.Contains(left, p.key) {
			left = append(left, p.key)
		}
	}
	if len(left) > 0 {
		r.note("not taken: %s", strings.Join(left, ", "))
	}
	if r.server.Command == "" && r.server.URL == "" && len(r.server.Notes) == 0 {
		r.note("has neither a command nor a URL")
	}
}
