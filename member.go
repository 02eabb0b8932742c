package tenon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/upstream"
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
	meta     map[string]tool.Meta // of a bundled server
}

// await waits until the member's tools are known. The error says why they will
// not be.
func (m *member) await(ctx context.Context) error {
	if m.err != nil {
		return m.err
	}
	m.server.Ensure()
	if err := m.server.Wait(ctx); err != nil {
		return err
	}
	return m.server.Failure()
}

// status returns the state of the member.
func (m *member) status() tool.ServerStatus {
	if m.err != nil {
		return tool.ServerStatus{Name: m.name, State: tool.StateFailed, Reason: tool.Flatten(m.err), Since: m.since}
	}
	return m.server.Status()
}

// fill makes the members and the catalog.
func (g *Gateway) fill() error {
	names := make([]string, 0, len(g.cfg.Servers)+1)
	for _, s := range g.cfg.Servers {
		names = append(names, s.Name)
		m := &member{
			name: s.Name, since: time.Now(), err: s.Err,
			lazy: s.Start == config.StartLazy, required: s.Required, timeout: s.Timeout,
		}
		g.members = append(g.members, m)
		g.byName[s.Name] = m
	}
	if len(g.o.functions) > 0 {
		if g.byName[functionServer] != nil {
			return fmt.Errorf("server %q of the configuration has the name of the server for AddTool", functionServer)
		}
		names = append(names, functionServer)
	}
	var err error
	g.catalog, err = catalog.New(catalog.Options{Servers: names, Blacklist: g.cfg.Blacklist, Meta: g.meta})
	if err != nil {
		return err
	}
	for i := range g.cfg.Servers {
		m := g.members[i]
		if m.err == nil {
			m.server, m.err = g.server(&g.cfg.Servers[i], m)
		}
		if m.err != nil {
			g.log.Warn("server entry is broken", "server", m.name, "error", m.err)
		}
	}
	return g.fillFunctions()
}

// server makes the server of one entry.
func (g *Gateway) server(s *config.Server, m *member) (*upstream.Server, error) {
	o := upstream.Options{
		Name: s.Name, Isolation: upstream.Isolation(s.Isolation), Transport: string(s.Transport),
		StartTimeout: s.StartTimeout, Retries: s.Retries, RetryDelay: s.RetryDelay, IdleTimeout: s.IdleTimeout,
		MaxMessage: g.cfg.Gateway.MaxMessageBytes, Spawner: g.spawner,
		ClientName: "tenon", ClientVersion: version(), Keep: g.o.Start,
		Listed: func(tools []json.RawMessage) { g.listed(m, tools) }, Changed: func() { g.changed(m.name) },
		Logger: g.log,
	}
	switch {
	case s.Bundled != "":
		if err := g.bundled(&o, s, m); err != nil {
			return nil, err
		}
	case s.Command != "":
		o.Command = &proc.Command{
			Path: s.Command, Args: s.Args, Dir: s.Cwd,
			Env: proc.Environ(g.o.Env, reveal(s.Env)),
		}
	default:
		o.URL = s.URL
		o.Header = http.Header{}
		for k, v := range s.Headers {
			o.Header.Set(k, v.Reveal())
		}
	}
	return upstream.New(o)
}

func reveal(env map[string]tool.Secret) map[string]string {
	out := make(map[string]string, len(env))
	for k, v := range env {
		out[k] = v.Reveal()
	}
	return out
}

// bundled fills in o for a bundled server: a child process of this program, or a
// server in this process. Its tools are known from its code.
func (g *Gateway) bundled(o *upstream.Options, s *config.Server, m *member) error {
	var b *Bundled
	for i := range g.o.Bundled {
		if g.o.Bundled[i].Name == s.Bundled {
			b = &g.o.Bundled[i]
		}
	}
	if b == nil {
		return fmt.Errorf("there is no bundled server %q", s.Bundled)
	}
	var options json.RawMessage
	if text := s.Options.Reveal(); text != "" {
		options = json.RawMessage(text)
	}
	srv, err := b.New(options)
	if err != nil {
		return fmt.Errorf("bundled server %s: %w", b.Name, err)
	}
	m.meta = b.Meta
	if o.Tools, err = toolsOf(g.closing, srv); err != nil {
		return fmt.Errorf("bundled server %s: %w", b.Name, err)
	}
	if s.InProcess || len(g.o.Executable) == 0 {
		o.Dial = g.inProcess(srv)
		return nil
	}
	env := reveal(s.Env)
	if options != nil {
		env[optionsVariable] = string(options)
	}
	o.Label = upstream.Bundled
	o.Command = &proc.Command{
		Path: g.o.Executable[0],
		Args: append(append([]string{}, g.o.Executable[1:]...), b.Name),
		Dir:  s.Cwd, Env: proc.Environ(g.o.Env, env),
	}
	return nil
}

// inProcess returns the function that connects to a server in this process.
func (g *Gateway) inProcess(srv *mcp.Server) func(context.Context) (io.ReadWriteCloser, error) {
	return func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		g.tasks.Go(func() {
			// It ends with an error when this side closes the pipe, which is how it is ended.
			_ = srv.Run(g.closing, &mcp.IOTransport{Reader: theirs, Writer: theirs})
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
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "tenon", Version: version()}, nil).Connect(ctx, client, nil)
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

// listed takes the tools of a member into the catalog.
func (g *Gateway) listed(m *member, raw []json.RawMessage) {
	tools := make([]tool.Tool, 0, len(raw))
	for i, r := range raw {
		t, err := catalog.Parse(r)
		if err != nil {
			g.log.Warn("tool is left out", "server", m.name, "index", i, "error", err)
			continue
		}
		tools = append(tools, t)
	}
	dropped, changed := g.catalog.Set(m.name, tools)
	for _, d := range dropped {
		g.log.Warn("tool is left out", "server", m.name, "tool", d.Name, "error", d.Reason)
	}
	if changed {
		g.events.send(Event{Kind: ToolsChanged, Server: m.name})
	}
}

func (g *Gateway) changed(server string) {
	g.events.send(Event{Kind: ServerChanged, Server: server})
}

// meta returns what is declared of a tool: by the bundled server, then by the
// configuration.
func (g *Gateway) meta(t *tool.Tool) tool.Meta {
	meta := tool.DefaultMeta()
	m := g.byName[t.Server]
	if m != nil {
		if declared, ok := m.meta[t.Name]; ok {
			meta = declared
		}
	}
	for _, rule := range g.cfg.Tools {
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
	switch {
	case st.State == tool.StateFailed:
		return st.Reason
	case st.State == tool.StateStarting || st.State == tool.StateInstalling:
		return "still " + string(st.State)
	}
	return strings.TrimSpace(st.Reason)
}
