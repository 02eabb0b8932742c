package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/interpolate"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// An entry is a server as it is read, with the mistakes in it.
type entry struct {
	server   Server
	key      *source.Node // its name, to point at
	root     *source.Node // its map
	strict   bool         // an unknown key is a mistake, no warning
	dir      string       // that relative paths start from
	mistakes []source.Mistake
	places   map[string]*source.Node // of keys that later checks point at
	file     string                  // of a one-tool file: its name without ending
	double   bool                    // its name is taken
	aliases  map[string]string       // of bundled servers
	// aliasOptions are what they have under these names.
	aliasOptions map[string]string
	agent        agentNames
}

const (
	maxName    = 64
	maxTimeout = 24 * time.Hour
	maxIdle    = 30 * 24 * time.Hour
)

// transports are the spellings of each transport.
var transports = map[string]string{
	"auto": "auto", "stdio": "stdio", "sse": "sse",
	"streamable-http": "streamable-http", "streamable_http": "streamable-http", "streamableHttp": "streamable-http", "http": "streamable-http",
}

// newEntry returns an entry with the defaults, and the reader of its map. In a
// strict one, a key that nobody knows is a mistake.
func (l *loader) newEntry(key, n *source.Node, dir string, strict bool) (*entry, *object) {
	_, server := defaults()
	server.Name = key.Text
	e := &entry{server: server, key: key, root: n, dir: dir, strict: strict, places: make(map[string]*source.Node), aliases: l.aliases, aliasOptions: l.aliasOptions}
	e.where()
	return e, newObject(n, l.expander(e), &e.mistakes)
}

// where keeps the places of the keys that have a value.
func (e *entry) where() {
	for _, p := range e.root.Pairs {
		if e.places[p.Key.Text] == nil && p.Value.Kind != source.Null {
			e.places[p.Key.Text] = p.Key
		}
	}
}

func (e *entry) fail(key, text, hint string) {
	at := e.places[key]
	if at == nil {
		at = e.key
	}
	e.mistakes = append(e.mistakes, at.Mistake(text, hint))
}

// what reads the keys that say which server it is.
func (e *entry) what(o *object) {
	o.text("bundled", &e.server.Bundled)
	o.text("command", &e.server.Command)
	e.options(o)
	readBrowser(e, o)
	readAgent(e, o)
	o.boolean("in_process", &e.server.InProcess)
	var transport string
	o.enum("transport", transports, []string{"auto", "stdio", "streamable-http", "sse"}, &transport)
	if transport != "" {
		e.server.Transport = Transport(transport)
	}
}

// options keeps the settings of a bundled server as JSON: only that server
// knows what they mean.
func (e *entry) options(o *object) {
	n := o.key("options")
	if n == nil {
		return
	}
	n.Hide()
	if n.Kind != source.Map {
		o.fail(n, "options wants a map of keys, and holds "+n.Kind.String(), "")
		return
	}
	e.mistakes = append(e.mistakes, n.Flaws()...)
	e.server.Options = tool.NewSecret(n.JSON(func(n *source.Node) string {
		text, _ := o.scalar(n) // reports what is wrong
		return text
	}))
}

// reach reads the keys that say how the server is started or called.
func (e *entry) reach(o *object) {
	o.text("url", &e.server.URL)
	o.texts("args", &e.server.Args)
	o.secrets("env", wrongVariable, &e.server.Env)
	o.secrets("headers", wrongHeader, &e.server.Headers)
	o.text("cwd", &e.server.Cwd)
}

// life reads the keys that say when the server runs, and for whom.
func (e *entry) life(o *object) {
	isolation, start := string(e.server.Isolation), string(e.server.Start)
	isolations := []string{"shared", "session", "call"}
	o.enum("isolation", words(isolations...), isolations, &isolation)
	starts := []string{"lazy", "eager"}
	o.enum("start", words(starts...), starts, &start)
	e.server.Isolation, e.server.Start = Isolation(isolation), Start(start)
	o.duration("start_timeout", time.Millisecond, time.Hour, &e.server.StartTimeout)
	o.integer("retries", 0, 100, &e.server.Retries)
	o.duration("retry_delay", 0, 10*time.Minute, &e.server.RetryDelay)
	o.boolean("required", &e.server.Required)
	o.boolean("trust_annotations", &e.server.TrustAnnotations)
	o.boolean("trust_usage", &e.server.TrustUsage)
	o.duration("timeout", time.Millisecond, maxTimeout, &e.server.Timeout)
	o.duration("idle_timeout", 0, maxIdle, &e.server.IdleTimeout)
	e.login(o)
	e.server.MaxConcurrent = concurrent(e.server.Isolation)
	o.integer("max_concurrent", 0, maxCalls, &e.server.MaxConcurrent)
	o.integer("max_queue", 0, maxCalls, &e.server.MaxQueue)
	e.care(o)
}

// check looks at what no single key shows, and fills in what follows from the
// rest.
func (e *entry) check(bundled []string) {
	s := &e.server
	if hint := wrongName(s.Name); hint != "" {
		e.mistakes = append(e.mistakes, e.key.Mistake(fmt.Sprintf("server name %q is not allowed", clip(s.Name)), hint))
	}
	if name, ok := e.aliases[s.Bundled]; ok {
		s.Options = besides(s.Options, e.aliasOptions[s.Bundled])
		s.Bundled = name
	}
	e.checkKind(bundled)
	e.checkKeys()
	e.checkTransport()
	if s.URL != "" {
		e.checkURL()
	}
	if s.URL != "" && s.Command == "" && s.Bundled == "" {
		return
	}
	s.Cwd = under(e.dir, s.Cwd)
	if strings.Contains(s.Command, "/") || isWindowsPath(s.Command) {
		s.Command = under(e.dir, s.Command)
	}
}

// besides returns options with those of others that they do not set.
func besides(options tool.Secret, others string) tool.Secret {
	if options.Reveal() == "" || others == "" {
		return tool.NewSecret(cmp.Or(options.Reveal(), others))
	}
	var all, set map[string]json.RawMessage
	if json.Unmarshal([]byte(others), &all) != nil || json.Unmarshal([]byte(options.Reveal()), &set) != nil {
		return options // its server says what is wrong
	}
	maps.Copy(all, set)
	b, err := json.Marshal(all)
	if err != nil {
		return options
	}
	return tool.NewSecret(string(b))
}

// checkKind wants exactly one of bundled, command and url.
func (e *entry) checkKind(bundled []string) {
	var given []string
	for _, key := range []string{"bundled", "browser", "agent", "command", "tool_command", "url"} {
		// A browser may be that of a server which is installed already.
		if e.places[key] != nil && (key != "command" || e.server.Care.Browser == nil) {
			given = append(given, key)
		}
	}
	switch {
	case len(given) > 1:
		last := given[0]
		for _, key := range given {
			if e.places[last].Before(e.places[key]) {
				last = key
			}
		}
		e.fail(last, strings.Join(given, " and ")+" exclude each other", "a server is one of them")
	case e.server.Care.Browser != nil && len(given) == 0: // browser: with nothing behind it
	case len(given) == 0 && e.misspelled():
	case len(given) == 0:
		e.mistakes = append(e.mistakes, e.key.Mistake(
			fmt.Sprintf("server %q says neither bundled, command nor url", clip(e.server.Name)), "one of them says what it is"))
	case e.server.Kind() == "" && len(e.mistakes) == 0:
		e.fail(given[0], given[0]+" is empty", "")
	}
	checkCommand(e)
	if b := e.server.Bundled; b != "" && bundled != nil && !slices.Contains(bundled, b) {
		e.fail("bundled", fmt.Sprintf("no bundled server %q", clip(b)), suggestBundled(b, bundled, e.aliases))
	}
}

// checkCommand tells a program with its arguments behind it from one whose name has a
// space: no program is there by the whole name, and the first word could be one.
func checkCommand(e *entry) {
	whole := strings.TrimSpace(e.server.Command)
	program, _, ok := strings.Cut(whole, " ")
	if !ok {
		return
	}
	isFile := func(path string) bool {
		info, err := os.Stat(under(e.dir, path))
		return err == nil && info.Mode().IsRegular()
	}
	if _, err := exec.LookPath(whole); err == nil || isFile(whole) || strings.ContainsAny(program, `/\`) && !isFile(program) {
		return
	}
	for _, p := range e.root.Pairs {
		if key := p.Key.Text; (key == "command" || key == "tool_command") && p.Value.Kind != source.Null {
			p.Value.Hide() // of arguments nobody knows which are secret
			e.mistakes = append(e.mistakes, p.Key.Mistake(key+" is the program alone, and holds arguments too",
				fmt.Sprintf("%s: %s, and each argument by itself in args: [...]", key, clip(program))))
		}
	}
}

// suggestBundled says which bundled server may be meant, also by another name of one.
func suggestBundled(name string, bundled []string, aliases map[string]string) string {
	if best, ok := nearest(name, append(slices.Sorted(maps.Keys(aliases)), bundled...)); ok {
		if own := aliases[best]; own != "" {
			return fmt.Sprintf("did you mean %q, which is %s?", best, own)
		}
		return fmt.Sprintf("did you mean %q?", best)
	}
	return suggest(name, bundled, "there are")
}

// misspelled tells whether a mistake that is reported already explains why the
// entry says nothing: it is no map, or has a key that was meant to be one of the
// three.
func (e *entry) misspelled() bool {
	if e.root.Kind != source.Map && e.root.Kind != source.Null {
		return true
	}
	return e.strict && slices.ContainsFunc(e.root.Pairs, func(p source.Pair) bool {
		_, near := nearest(p.Key.Text, []string{"bundled", "command", "url"})
		return near
	})
}

// belongs says which keys go with which kind of server.
var belongs = []struct {
	key   string
	kinds []string
}{
	{"args", []string{"command", "browser"}},
	{"env", []string{"command", "bundled", "browser"}},
	{"cwd", []string{"command", "bundled", "browser"}},
	{"headers", []string{"url"}},
	{"auth", []string{"url"}},
	{"options", []string{"bundled"}},
	{"in_process", []string{"bundled"}},
	{"install_timeout", []string{"command", "browser"}},
	{"limits", []string{"command", "bundled", "browser"}},
	{"confine", []string{"command", "bundled", "browser"}},
}

// checkKeys refuses keys that would do nothing.
func (e *entry) checkKeys() {
	kind := e.server.Kind()
	if kind == "" {
		return
	}
	for _, b := range belongs {
		at := e.places[b.key]
		if at == nil || slices.Contains(b.kinds, kind) {
			continue
		}
		if b.key == "env" && len(e.server.Env) == 0 || b.key == "args" && len(e.server.Args) == 0 {
			continue
		}
		e.fail(b.key, fmt.Sprintf("%s means nothing with %s", b.key, kind), "it goes with "+strings.Join(b.kinds, " or "))
	}
}

func (e *entry) checkTransport() {
	s := &e.server
	switch {
	case s.Kind() == "url" && s.Transport == TransportStdio:
		e.fail("transport", "transport stdio does not go with url", "use auto, streamable-http or sse")
	case s.Kind() == "url" || s.Kind() == "":
	case s.Transport != TransportAuto && s.Transport != TransportStdio:
		e.fail("transport", fmt.Sprintf("transport %s goes with url alone", s.Transport), "a program is spoken to over stdio")
	default:
		s.Transport = TransportStdio
	}
}

func (e *entry) checkURL() {
	u, err := url.Parse(e.server.URL)
	switch {
	case err != nil:
		e.fail("url", "url is no URL", "") // the parser's error quotes it
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		e.fail("url", "url wants http://host… or https://host…", "")
	case u.User != nil:
		e.root.Field(e.places["url"].Text).Hide()
		e.server.hidden = append(e.server.hidden, u.User.String())
		e.fail("url", "url holds a user or a password", "an address is shown in many places; put credentials into headers")
	case u.Fragment != "":
		e.fail("url", "url holds a fragment behind #", "no server ever sees it")
	}
}

// wrongName tells how to mend a server's name, or "" where it is right. The rule
// is that of tool names in MCP, so that both make one name together.
func wrongName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > maxName:
		return fmt.Sprintf("it is longer than %d", maxName)
	case cleanName(name) != name:
		return fmt.Sprintf("letters, digits, _, . and - are; such as %q", cleanName(name))
	}
	return ""
}

// cleanName returns the nearest name that is allowed.
func cleanName(name string) string {
	clean := strings.Map(func(c rune) rune {
		if interpolate.IsNameChar(c) || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, name)
	clean = strings.Trim(clean[:min(len(clean), maxName)], "-")
	if clean == "" {
		return "server"
	}
	return clean
}

// wrongVariable tells what is wrong with a variable of a child's environment.
func wrongVariable(name, value string) string {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return fmt.Sprintf("%q is no name of a variable", clip(name))
	case strings.ContainsRune(value, 0):
		return fmt.Sprintf("the value of %s holds a NUL byte", clip(name))
	}
	return ""
}

// wrongHeader tells what is wrong with a header field (RFC 9110, section 5).
func wrongHeader(name, value string) string {
	token := func(c rune) bool { return interpolate.IsNameChar(c) || strings.ContainsRune("!#$%&'*+-.^`|~", c) }
	if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !token(c) }) {
		return fmt.Sprintf("%q is no name of a header", clip(name))
	}
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return fmt.Sprintf("the value of %s holds a line break or another control character", clip(name))
	}
	return ""
}
