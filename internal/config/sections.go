package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// sections reads the sections of a tenon.yaml.
type sections struct {
	*loader

	doc *document
}

// read reads all of them. A file that another includes may say all but what
// concerns the whole.
func (s sections) read() {
	if err := s.enter(s.doc.path); err != nil {
		s.fail(whole(s.doc.root.File), err.Error(), "")
		return
	}
	defer s.leave()

	o := newObject(s.doc.root, s.expander(nil), &s.mistakes)
	s.version(o)
	if len(s.stack) == 1 {
		guards{s}.vaultSection(o)
	}
	if s.vaultOnly {
		return
	}
	if len(s.stack) == 1 {
		o.boolean("fail_silently", &s.cfg.FailSilently)
		o.boolean("strict", &s.cfg.Strict)
		s.gateway(o)
		s.store(o)
		g := guards{s}
		g.policy(o)
		g.skills(o)
		g.auth(o)
		s.lazy(o)
		s.sampling(o)
	} else {
		for _, key := range []string{"fail_silently", "strict", "gateway", "store", "secrets", "policy", "skills", "auth", "lazy", "sampling"} {
			if o.key(key) != nil {
				o.fail(o.at(key), key+" is allowed in the main file alone", "move it to "+s.cfg.Path)
			}
		}
	}
	// Servers come in the order of the file, so includes above `servers:` are first.
	steps := []func(*object){s.include, s.servers}
	if o.has("servers") && o.has("include") && o.at("servers").Before(o.at("include")) {
		slices.Reverse(steps)
	}
	for _, step := range steps {
		step(o)
	}
	s.rules(o)
	s.blacklist(o, "blacklist")
	s.fallbacks(o)
	s.contentRules(o)
	o.refuse()
}

// version wants `version: 1`, so that a later layout is never misread.
func (s sections) version(o *object) {
	root, n := s.doc.root, o.key("version")
	switch {
	case n == nil && root.Kind == source.Map:
		at := root
		if len(at.Pairs) > 0 {
			at = at.Pairs[0].Key
		}
		o.fail(at, "version is missing", "write version: 1 at the top")
	case n == nil && root.Kind == source.Null:
		o.fail(root, "holds nothing", "write version: 1 at the top")
	case n != nil && (n.Kind != source.Int || n.Plain != "1"):
		o.fail(n, fmt.Sprintf("version %s is not known to this program", quoteOf(n, n.Text)), "write version: 1")
	}
}

// servers reads the section of that name.
func (s sections) servers(o *object) {
	n := o.key("servers")
	if n == nil {
		return
	}
	if n.Kind != source.Map {
		o.fail(n, "servers wants a map of names, and holds "+n.Kind.String(), "")
		return
	}
	for _, p := range n.Pairs {
		if len(s.entries) <= maxServers { // one more is an error
			s.add(s.entry(p.Key, p.Value))
		}
	}
}

// entry reads one server as a tenon.yaml writes it.
func (s sections) entry(key, n *source.Node) *entry {
	e, o := s.newEntry(key, n, s.doc.dir(), true)
	e.what(o)
	e.reach(o)
	e.life(o)
	o.refuse()
	e.check(s.bundled)
	s.withoutCode(e)
	return e
}

// isOff tells whether a switch is off. YAML 1.1 reads off as false, 1.2 as text.
func isOff(n *source.Node) bool {
	return n.Kind == source.Null || n.Kind == source.Text && n.Text == "off" || n.Kind == source.Bool && n.Plain == "false"
}

// gateway reads the section of that name.
func (s sections) gateway(o *object) {
	n := o.key("gateway")
	if n == nil {
		return
	}
	g := &s.cfg.Gateway
	in := newObject(n, o.ex, o.to)
	in.text("listen", &g.Listen)
	if at := in.seen["listen"]; at != nil && !isListen(g.Listen) {
		in.fail(at, fmt.Sprintf("listen wants host:port, and holds %s", quoteOf(at, g.Listen)), "such as 127.0.0.1:8400")
	}
	g.ListenAt = source.Problems([]source.Mistake{in.at("listen").Mistake("", "")})[0]
	s.hosts(in)
	guards{s}.tls(in)
	const least, most = 1 << 10, 1 << 40
	in.size("max_body", least, most, &g.MaxBodyBytes)
	in.integer("max_connections", 0, 1_000_000, &g.Connections.Max)
	in.integer("max_connections_per_address", 0, 1_000_000, &g.Connections.PerAddress)
	in.size("max_message", least, most, &g.MaxMessageBytes)
	in.duration("call_timeout", time.Millisecond, maxTimeout, &g.CallTimeout)
	in.duration("max_call_timeout", time.Millisecond, maxTimeout, &g.MaxCallTimeout)
	in.size("memory_limit", 32<<20, most, &g.MemoryLimit)
	in.integer("gc_percent", 10, 1000, &g.GCPercent)
	in.boolean("remember_tools", &g.RememberTools)
	in.integer("max_concurrent", 0, maxCalls, &g.Admission.MaxConcurrent)
	in.integer("max_queue", 0, maxCalls, &g.Admission.MaxQueue)
	in.size("max_queue_bytes", least, most, &g.Admission.MaxQueueBytes)
	in.integer("max_parallel", 1, 1000, &g.Admission.MaxParallel)
	in.integer("max_batch", 0, 1000, &g.Admission.MaxBatch)
	in.integer("spawn_rate", 1, 10_000, &g.Spawning.Rate)
	in.integer("max_processes", 1, 100_000, &g.Spawning.MaxProcesses)
	retry(in, &g.Retry)
	in.refuse()
	if g.CallTimeout > g.MaxCallTimeout {
		at := in.at("call_timeout")
		if !in.has("call_timeout") {
			at = in.at("max_call_timeout")
		}
		in.fail(at, fmt.Sprintf("call_timeout %s is longer than max_call_timeout %s", short(g.CallTimeout), short(g.MaxCallTimeout)), "")
	}
}

func (s sections) hosts(in *object) {
	for _, n := range in.list("allowed_hosts") {
		host, ok := in.scalar(n)
		if !ok {
			continue
		}
		if host == "" || strings.ContainsAny(host, "/ @*") || strings.Contains(host, "://") {
			in.fail(n, fmt.Sprintf("allowed_hosts wants names such as tools.example.com, and holds %s", quoteOf(n, host)), "no scheme, no path, no pattern")
			continue
		}
		s.cfg.Gateway.AllowedHosts = append(s.cfg.Gateway.AllowedHosts, host)
	}
}

func isListen(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || strings.ContainsAny(host, "/ @") {
		return false
	}
	p, err := strconv.ParseUint(port, 10, 16)
	return err == nil && p <= 65535
}

// rules reads `tools:`.
func (s sections) rules(o *object) {
	n := o.key("tools")
	if n == nil {
		return
	}
	in := newObject(n, o.ex, o.to)
	for _, p := range n.Pairs {
		id, wrong := patternOf(p.Key.Text)
		if wrong != "" {
			in.fail(p.Key, fmt.Sprintf("tools: %q %s", clip(p.Key.Text), wrong), `write "server/tool"; * stands for any text`)
			continue
		}
		s.patterns = append(s.patterns, located{id: id, at: p.Key})
		s.cfg.Tools = append(s.cfg.Tools, s.rule(id, p.Value, in))
	}
}

func (s sections) rule(id tool.ID, n *source.Node, parent *object) ToolRule {
	r := ToolRule{Pattern: id}
	o := newObject(n, parent.ex, parent.to)
	optional(o, "read_only", &r.ReadOnly, o.boolean)
	optional(o, "concurrency_safe", &r.ConcurrencySafe, o.boolean)
	optional(o, "destructive", &r.Destructive, o.boolean)
	optional(o, "idempotent", &r.Idempotent, o.boolean)
	optional(o, "is_notification", &r.Notification, o.boolean)
	optional(o, "side_effect", &r.SideEffect, func(key string, dst *tool.SideEffect) {
		list := []string{"none", "external", "filesystem", "network"}
		o.enum(key, words(list...), list, (*string)(dst))
	})
	optional(o, "risk_level", &r.RiskLevel, func(key string, dst *tool.RiskLevel) {
		list := []string{"low", "medium", "high"}
		o.enum(key, words(list...), list, (*string)(dst))
	})
	optional(o, "max_result_chars", &r.MaxResultChars, func(key string, dst *int) { o.integer(key, 0, 1e9, dst) })
	optional(o, "search_hint", &r.SearchHint, o.text)
	ruleOnData(o, &r, s.checkReadOnlyFor)
	optional(o, "timeout", &r.Timeout, func(key string, dst *time.Duration) { o.duration(key, time.Millisecond, maxTimeout, dst) })
	o.refuse()
	if r.ReadOnly != nil && *r.ReadOnly && r.Destructive != nil && *r.Destructive {
		o.fail(o.at("destructive"), "read_only and destructive exclude each other", "")
	}
	if t := r.Timeout; t != nil {
		s.timeouts = append(s.timeouts, limited{*t, o.at("timeout")})
	}
	return r
}

// optional reads a key into a pointer that stays nil where the key is absent.
func optional[T any](o *object, key string, dst **T, read func(string, *T)) {
	v := new(T)
	read(key, v)
	if o.has(key) {
		*dst = v
	}
}

// patternOf splits "server/tool" and tells what is wrong with it.
func patternOf(text string) (tool.ID, string) {
	server, name, ok := strings.Cut(text, "/")
	return checkPattern(tool.ID{Server: server, Name: name}, ok)
}

func checkPattern(id tool.ID, whole bool) (tool.ID, string) {
	if !whole || id.Server == "" || id.Name == "" {
		return id, "names no server and tool"
	}
	for _, half := range []string{id.Server, id.Name} {
		if glob.Check(half) != nil {
			return id, "is no pattern: a [ is not closed"
		}
	}
	return id, ""
}

// blacklist reads a list of [server, tool], "server/tool" and {server, tool}.
func (l *loader) blacklist(o *object, key string) {
	for _, n := range o.list(key) {
		id, ok := l.blackItem(o, n)
		if !ok {
			continue
		}
		if _, wrong := checkPattern(id, true); wrong != "" {
			o.fail(n, fmt.Sprintf("%s: %q %s", key, clip(id.String()), wrong), `write [server, tool]; * stands for any text`)
			continue
		}
		l.cfg.Blacklist = append(l.cfg.Blacklist, id)
		l.patterns = append(l.patterns, located{id: id, at: n})
	}
}

func (l *loader) blackItem(o *object, n *source.Node) (tool.ID, bool) {
	switch {
	case n.Kind == source.Bad:
		return tool.ID{}, o.sound(n)
	case n.Kind == source.Text:
		text, ok := o.scalar(n)
		id, wrong := patternOf(text)
		if ok && wrong != "" {
			o.fail(n, fmt.Sprintf("%s %s", quoteOf(n, text), wrong), `write [server, tool] or "server/tool"; * stands for any text`)
		}
		return id, ok && wrong == ""
	case n.Kind == source.List && len(n.Items) == 2:
		server, ok1 := o.scalar(n.Items[0])
		name, ok2 := o.scalar(n.Items[1])
		return tool.ID{Server: server, Name: name}, ok1 && ok2
	case n.Kind == source.Map && n.Field("server") != nil && n.Field("tool") != nil:
		var id tool.ID
		before := len(*o.to)
		in := newObject(n, o.ex, o.to)
		in.text("server", &id.Server)
		in.text("tool", &id.Name)
		in.refuse()
		return id, len(*o.to) == before
	}
	o.fail(n, "wants a server and a tool, and holds "+n.Kind.String(), `write [server, tool] or "server/tool"`)
	return tool.ID{}, false
}
