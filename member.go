package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/ends"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/listcache"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/tool"
)

// optionsVariable hands the options of a bundled server to its process, so that
// no secret among them is in a process list.
const optionsVariable = "TENON_SERVER_OPTIONS"

// A member is one server of the pool: a running one, or an entry of the
// configuration that is of no use.
type member struct {
	name     string
	server   *upstream.Server // nil where err is set
	err      error
	since    time.Time
	lazy     bool
	required bool
	timeout  time.Duration
	entry    *config.Server // nil for the server of AddTool

	warned   map[string]bool                // tools whose lack of metadata was told; guarded by Gateway.offering
	tools    []json.RawMessage              // as it listed them last; guarded by Gateway.offering
	listKey  string                         // of its list on disk; empty where none is kept
	recalled atomic.Pointer[listcache.Kept] // set while its tools are those of an earlier run
	concerns atomic.Pointer[[]string]       // about its definitions
	capable  capable
	role
}

// A role is what a member is that this program knows the tools of.
type role struct {
	meta     map[string]tool.Meta               // of a server that is known here; nil for a foreign one
	delegate *delegate                          // of an agent
	probe    func(context.Context) []tool.Probe // of a bundled server; nil: it needs no service
	also     map[string]string                  // other names of its tools
	ends     ends.Ends                          // of a bundled server in this process
}

// await waits until the member's tools are known. The error says why they will
// not be.
func (m *member) await(ctx context.Context) error {
	if m.err != nil {
		return brokenError{m.err}
	}
	if err := m.server.Await(ctx); err != nil {
		return err
	}
	return m.capable.learned(ctx)
}

// A brokenError is why an entry of the configuration makes no server.
type brokenError struct{ error }

// Unwrap returns the mistake.
func (e brokenError) Unwrap() error { return e.error }

// Broken says that no time puts it right.
func (brokenError) Broken() bool { return true }

// status returns the state of the member.
func (m *member) status() tool.ServerStatus {
	if m.err != nil {
		return tool.ServerStatus{Name: m.name, State: tool.StateFailed, Reason: tool.Flatten(m.err), Since: m.since}
	}
	st := m.server.Status()
	if c := m.concerns.Load(); c != nil {
		st.Concerns = *c
	}
	if kept := m.recalled.Load(); kept != nil {
		st.Tools, st.RememberedAt = len(kept.Tools), &kept.At
	}
	return st
}

// A maker makes the members of a pool.
type maker struct {
	*Gateway
	*pool
}

// fill makes the members and the catalog. What has the same entry in the pool
// before goes on as it is.
func (k maker) fill(old *pool) error {
	names := make([]string, 0, len(k.cfg.Servers)+1)
	for i := range k.cfg.Servers {
		s := &k.cfg.Servers[i]
		names = append(names, s.Name)
		m := old.same(s)
		if m == nil {
			m = k.member(s)
		}
		k.members = append(k.members, m)
		k.byName[s.Name] = m
	}
	if len(k.o.functions) > 0 {
		if k.byName[functionServer] != nil {
			return fmt.Errorf("server %q of the configuration has the name of the server for AddTool", functionServer)
		}
		if err := k.functions(old); err != nil {
			return err
		}
		names = append(names, functionServer)
	}
	var err error
	k.catalog, err = catalog.New(catalog.Options{Servers: names, Blacklist: k.cfg.Blacklist, Meta: k.meta})
	return err
}

// member makes the member of one entry.
func (k maker) member(s *config.Server) *member {
	m := &member{
		name: s.Name, since: time.Now(), err: s.Err,
		lazy: s.Start == config.StartLazy, required: s.Required, timeout: s.Timeout, entry: s,
	}
	if m.err == nil {
		m.server, m.err = k.server(s, m)
	}
	if m.err != nil {
		k.log.Warn("server entry is broken", "server", m.name, "error", m.err)
	}
	if !s.Care.Sampled { // its tools are those of a client that can do more than that list was for
		k.recall(s, m)
	}
	return m
}

// server makes the server of one entry.
func (k maker) server(s *config.Server, m *member) (*upstream.Server, error) {
	o := upstream.Options{
		Name: s.Name, Isolation: upstream.Isolation(s.Isolation), Transport: string(s.Transport),
		StartTimeout: s.StartTimeout, Retries: s.Retries, RetryDelay: s.RetryDelay, IdleTimeout: s.IdleTimeout,
		MaxSessions: s.Care.MaxSessions, InstallTimeout: s.Care.InstallTimeout, HealthCheck: s.Care.HealthCheck,
		StartRate:  float64(k.cfg.Gateway.Spawning.Rate) / 2,
		MaxMessage: k.cfg.Gateway.MaxMessageBytes, Spawner: k.spawner,
		ClientName: "tenon", ClientVersion: version.String(), Keep: k.o.Start,
		Listed: func(tools []json.RawMessage) { k.Gateway.listed(m, tools) }, Changed: func() { k.changed(m.name) },
		Noticed: func(method string) { k.noticed(m.name, method) },
		Logger:  k.log, Mask: k.secrets.Text,
	}
	if s.Care.Sampled {
		o.Capabilities = json.RawMessage(`{"sampling":{}}`)
	}
	switch {
	case s.Bundled != "":
		if err := k.bundled(&o, s, m); err != nil {
			return nil, err
		}
	case s.Care.Agent != nil:
		if err := k.delegate(&o, s, m); err != nil {
			return nil, err
		}
	case s.Care.Browser != nil:
		var err error
		if o.Command, m.meta, err = playwright(k.o.Env, s); err != nil {
			return nil, err
		}
	case s.Command != "":
		o.Command = &proc.Command{
			Path: s.Command, Args: s.Args, Dir: s.Cwd,
			Env: proc.Environ(k.o.Env, reveal(s.Env)),
		}
	default:
		if err := keyOf(s); err != nil {
			return nil, err
		}
		o.URL = s.URL
		o.Login, o.Mended = k.loginOf(s)
		o.Header = http.Header{}
		for k, v := range s.Headers {
			o.Header.Set(k, v.Reveal())
		}
	}
	if err := hold(&o, &s.Care); err != nil {
		return nil, err
	}
	return upstream.New(o)
}

// hold gives a child its limits and its confinement.
func hold(o *upstream.Options, c *config.Care) error {
	switch {
	case c.Limits == (config.Limits{}) && c.Confine == nil:
		return nil
	case o.Command == nil:
		return errors.New("limits and confine cannot be enforced on a server that runs inside of this process")
	}
	o.Command.Limits = proc.Limits(c.Limits)
	if c.Confine != nil {
		o.Command.Confine = new(proc.Confinement(*c.Confine))
	}
	return nil
}

func reveal(env map[string]tool.Secret) map[string]string {
	out := make(map[string]string, len(env))
	for k, v := range env {
		out[k] = v.Reveal()
	}
	return out
}

// called names a server as its entry does, and says which bundled one it is where that
// is another name.
func called(s *config.Server) string {
	if s.Name == s.Bundled {
		return s.Name
	}
	return s.Name + " (bundled " + s.Bundled + ")"
}

// bundled fills in o for a bundled server: a child process of this program, or a
// server in this process. Its tools are known from its code.
func (k maker) bundled(o *upstream.Options, s *config.Server, m *member) error {
	i := slices.IndexFunc(k.o.Bundled, func(b Bundled) bool { return b.Name == s.Bundled })
	if i < 0 {
		return fmt.Errorf("there is no bundled server %q", s.Bundled)
	}
	b := &k.o.Bundled[i]
	var options json.RawMessage
	if text := s.Options.Reveal(); text != "" {
		options = json.RawMessage(text)
	}
	env := reveal(s.Env)
	childEnv := append(proc.Environ(k.o.Env, env), tool.KeepsResults+"=1")
	at := tool.Place{Dir: s.Cwd, Getenv: func(name string) string { return variable(childEnv, name) }}
	here := s.InProcess || len(k.o.Executable) == 0
	if here {
		at.AtEnd = m.ends.Add
	}
	srv, err := b.New(options, at)
	if err != nil {
		return fmt.Errorf("server %s: %w", called(s), err)
	}
	m.meta, m.also = b.Meta, b.Also
	if b.MetaFor != nil {
		m.meta = b.MetaFor(options)
	}
	if b.Probe != nil {
		m.probe = func(ctx context.Context) []tool.Probe { return b.Probe(ctx, options, at) }
	}
	if o.Tools, err = toolsOf(k.closing, srv); err != nil {
		return fmt.Errorf("server %s: %w", called(s), err)
	}
	if here {
		o.Dial = k.inProcess(srv)
		return nil
	}
	if options != nil {
		childEnv = append(childEnv, optionsVariable+"="+string(options))
	}
	o.Label = upstream.Bundled
	o.Command = &proc.Command{
		Path: k.o.Executable[0],
		Args: append(append([]string{}, k.o.Executable[1:]...), b.Name),
		Dir:  s.Cwd, Env: childEnv,
		// What the server holds elsewhere is given back from the end of its input on, and
		// may take ends.Limit. TERM comes a second after that end and changes nothing, so
		// KILL comes a second after the limit: what is late is then said by the server
		// itself, and stays within what Stop may take in all.
		TermGrace: ends.Limit,
	}
	return nil
}

// maxLine is the longest message that a server in this process takes: its SDK takes
// 16 MiB without it, and what handles are replaced by may be more.
const maxLine = 128 << 20

// inProcess returns the function that connects to a server in this process.
func (k maker) inProcess(srv *mcp.Server) func(context.Context) (io.ReadWriteCloser, error) {
	return func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		k.tasks.Go(func() {
			// It ends with an error when this side closes the pipe, which is how it is ended.
			_ = srv.Run(k.closing, &mcp.IOTransport{Reader: theirs, Writer: theirs, MaxLineLength: maxLine})
			_ = theirs.Close()
		})
		return ours, nil
	}
}

// toolsOf returns the tool definitions of a server as it lists them.
func toolsOf(ctx context.Context, srv *mcp.Server) ([]json.RawMessage, error) {
	client, server := mcp.NewInMemoryTransports()
	ss, err := srv.Connect(ctx, server, nil)
	if err != nil {
		return nil, err
	}
	defer ss.Close()
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "tenon", Version: version.String()}, nil).Connect(ctx, client, nil)
	if err != nil {
		return nil, err
	}
	defer cs.Close()
	tools := []json.RawMessage{}
	for t, err := range cs.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		tools = append(tools, raw)
	}
	return tools, nil
}

// listed takes the tools that a member has listed: into the memory of the next
// start, and into the catalog where the member is in use.
func (g *Gateway) listed(m *member, tools []json.RawMessage) {
	g.memory.remember(m, tools)
	g.inspect(m, tools)
	g.offering.Lock()
	defer g.offering.Unlock()
	m.tools = tools
	m.capable.forget("")
	learnSampled(g, m)
	p := g.pool.Load()
	if p == nil || p.byName[m.name] != m {
		return // its pool is being made, or was replaced
	}
	changed := maker{g, p}.offer(m, tools)
	g.memory.nameRecalled(p.members)
	if changed {
		g.events.send(Event{Kind: ToolsChanged, Server: m.name})
	}
}

// offer takes the tools of a member into the catalog, and reports whether the
// offer is now another one.
func (k maker) offer(m *member, raw []json.RawMessage) (changed bool) {
	tools := make([]tool.Tool, 0, len(raw))
	parse := func(r json.RawMessage) (tool.Tool, bool) {
		t, err := catalog.Parse(r)
		if err == nil {
			_, err = era.ParamHeaders(t.Schema)
		}
		if err != nil {
			k.log.Warn("tool is left out", "server", m.name, "tool", t.Name, "error", err)
		}
		return t, err == nil
	}
	for _, r := range raw {
		if t, ok := parse(r); ok {
			tools = append(tools, t)
		}
	}
	tools = append(tools, m.needing(tools, parse)...)
	k.judge(m, tools)
	k.hideInTools(m, tools)
	dropped, changed := k.catalog.Set(m.name, tools)
	for _, d := range dropped {
		k.log.Warn("tool is left out", "server", m.name, "tool", d.Name, "error", d.Reason)
	}
	k.warnUndeclared(m)
	k.warnNamed(m, k.log)
	return changed
}

func (k maker) changed(server string) {
	k.events.send(Event{Kind: ServerChanged, Server: server})
}

// noticed hears that the prompts or the resources of a server have changed.
func (k maker) noticed(server, method string) {
	kind := ResourcesChanged
	if method == "notifications/prompts/list_changed" {
		kind = PromptsChanged
	}
	if p := k.Gateway.pool.Load(); p != nil {
		p.primitives.Forget(server, method)
	}
	k.events.send(Event{Kind: kind, Server: server})
}

// meta returns what is declared of a tool: by the bundled server, then by the
// configuration.
func (k maker) meta(t *tool.Tool) tool.Meta {
	meta := tool.DefaultMeta()
	m := k.byName[t.Server]
	if m != nil {
		if declared, ok := m.meta[t.Name]; ok {
			meta = declared
			meta.Exclusive = meta.Registered && !meta.ConcurrencySafe
		}
		if m.meta == nil { // a foreign server: our own say of their tools what is declared
			meta = annotated(meta, t.Annotations, m.entry != nil && m.entry.TrustAnnotations)
		}
	}
	for _, rule := range k.cfg.Tools {
		if rule.Match(t.ID) {
			meta = rule.Apply(meta)
		}
	}
	if m != nil && meta.Timeout == 0 {
		meta.Timeout = m.timeout
	}
	return meta
}

// stateError returns what is wrong with a server in this state, for a listing.
func stateError(st tool.ServerStatus) string {
	switch st.State {
	case tool.StateFailed:
		return st.Reason
	case tool.StateStarting, tool.StateInstalling:
		return "still " + string(st.State)
	case tool.StateReady, tool.StateIdle, tool.StateStopped:
	}
	return ""
}
