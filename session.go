package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/method"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/internal/skills"
	"github.com/tenon-mcp/tenon/internal/stops"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/tool"
)

// SessionOptions say who an MCP client is.
type SessionOptions struct {
	Viewer // as whom it looks at the pool
	// Server is the only one that the client sees, whole and under its own names; empty
	// is the pool.
	Server string
	// Capabilities and ClientInfo are what the client says of itself, as JSON.
	Capabilities, ClientInfo json.RawMessage

	// Modern is one request of a client that opens no sessions, Method with Params. Level
	// is which logs it wants, State and Responses are what it has come again with.
	Modern       bool
	Method       string
	Params       tool.Bytes
	Level, State string
	Responses    []byte

	// Notify and Ask reach a client with a session outside of its requests. Both may be
	// nil.
	Notify func(method string, params []byte) error
	Ask    func(ctx context.Context, method string, params []byte) (tool.Bytes, error)
}

// A Session is one MCP client, or one request of a client that opens no sessions. What
// servers ask of it reaches nobody else. It is safe for concurrent use. Close it,
// unless it is modern.
type Session struct {
	g      *Gateway
	o      SessionOptions
	client *relay.Client
}

// NewSession returns a session. It costs nothing at the servers until one of them has
// to know the client.
func (g *Gateway) NewSession(o SessionOptions) *Session {
	ro := relay.Options{
		Modern: o.Modern, Caller: ownerOf(o.Caller), Capabilities: o.Capabilities, ClientInfo: o.ClientInfo,
		Level: o.Level, State: o.State, Responses: o.Responses, Notify: o.Notify, Ask: o.Ask,
	}
	if tell := o.Notify; tell != nil {
		ro.Notify = func(method string, params []byte) error { return tell(method, g.hidden(params)) }
	}
	if ask := o.Ask; ask != nil {
		ro.Ask = func(ctx context.Context, method string, params []byte) (tool.Bytes, error) {
			return ask(ctx, method, g.hidden(params))
		}
	}
	if o.Modern {
		ro.Digest = relay.Digest(o.Method, o.Params)
	}
	return &Session{g: g, o: o, client: g.relay.Client(ro)}
}

// ownerOf names a caller so that no two have the same name.
func ownerOf(c tool.Caller) string {
	if c.Grant == nil {
		return c.Name
	}
	return c.Name + "\x00" + c.Grant.Key
}

// IsRelayState reports whether a requestState is one that a session gave.
func IsRelayState(text string) bool { return relay.IsState(text) }

// CapabilitiesCount reports whether capabilities of a client are such that a server may
// answer it otherwise than anybody.
func CapabilitiesCount(capabilities []byte) bool { return relay.Counts(capabilities) }

// Close ends the session and its connections to servers.
func (s *Session) Close() { s.client.Close() }

// Call carries out a call of a tool for the client, as Gateway.Call does. peer is the
// way back beside the answer.
func (s *Session) Call(ctx context.Context, peer tool.Peer, c tool.Call) *tool.Result {
	c.Peer = s.g.hiding(peer)
	if s.o.Modern || !s.client.Plain() || relay.IsOfTask("", c.Params) {
		c.Origin = s.client
	}
	return s.g.Call(ctx, c)
}

// Notify takes a notification of the client: servers that know it hear of it.
func (s *Session) Notify(ctx context.Context, name string, params []byte) {
	if s.o.Server == "" && name != "notifications/roots/list_changed" || !method.Defined(name) || method.Check(name, params) != nil {
		return
	}
	s.client.Notify(ctx, name, params)
}

// A PeerRequest is a request of an MCP client that is no call of a tool.
type PeerRequest struct {
	Viewer   Viewer // as whom the client looks at the pool with this one
	Method   string
	Params   []byte
	Peer     tool.Peer // the way back beside the answer
	Progress func(params tool.Bytes)
}

// Request carries a request to the server that it is for, or answers it from what all
// servers have. Calls and lists of tools have their own ways.
func (s *Session) Request(ctx context.Context, r PeerRequest) (tool.Bytes, *jsonrpc.Error) {
	p := s.g.enter()
	defer p.leave()
	v := view{s.g, p}
	r.Peer = s.g.hiding(r.Peer)
	if tell := r.Progress; tell != nil {
		r.Progress = func(params tool.Bytes) { tell(tool.OneOf(s.g.hidden(params.Join()))) }
	}
	limit := max(p.cfg.Gateway.MaxCallTimeout, p.cfg.Gateway.CallTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &tool.Error{Kind: tool.Timeout, Text: fmt.Sprintf("%s was not answered within %s", r.Method, limit)})
	defer cancel()
	result, err := s.route(ctx, v, r.Viewer, relay.Request{Method: r.Method, Params: r.Params, Peer: r.Peer, Progress: r.Progress})
	if err != nil {
		return nil, clientError(v, r.Method, err)
	}
	if s.o.Modern && cacheable[r.Method] && !s.g.sameForAll(p, r.Viewer) {
		result = era.Private(result)
	}
	if p.cfg.Policy.Redact.Results {
		result, _ = s.g.secrets.Result(result)
	}
	return result, nil
}

// clientError returns an error as a client may see it.
func clientError(v view, method string, err error) *jsonrpc.Error {
	if lost, ok := errors.AsType[*upstream.LostError](err); ok && unknownThere(lost.HTTPStatus()) {
		return jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is refused: %s", method, v.secrets.Text(err.Error()))
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if e.Raw != nil {
			return jsonrpc.ErrorOf(tool.OneOf(v.secrets.Failure(e.Raw)))
		}
		return e
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", v.secrets.Text(err.Error()))
}

// unknownThere reports whether a server that answers a request with this status, and with
// no reason that can be read, does not know its method.
func unknownThere(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// route finds the server of a request.
func (s *Session) route(ctx context.Context, v view, as Viewer, r relay.Request) (tool.Bytes, error) {
	sees, err := v.as(as.subject())
	if err != nil {
		return nil, err
	}
	if e := method.Check(r.Method, r.Params); e != nil {
		return nil, e
	}
	server := s.o.Server
	if id := textOf(r.Params, "taskId"); id != "" && relay.IsOfTask(r.Method, nil) {
		var e *jsonrpc.Error
		if server, e = taskServer(s, id); e != nil {
			return nil, e
		}
	}
	if server == "" {
		return s.fromPool(ctx, sees, as, r)
	}
	m := v.byName[server]
	if m == nil {
		return nil, noServer(v, server)
	}
	if err := sees.mayReach(m); err != nil {
		return nil, err
	}
	if mode := sees.profile.Mode(); !method.Defined(r.Method) && (mode == tool.ModeReadOnly || mode == tool.ModeAskDestructive) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "MCP does not say what %s does, and the mode %s takes that for something that may do harm", r.Method, mode)
	}
	return s.carry(ctx, sees, as, m, r)
}

// pass carries a request to a server.
func (s *Session) pass(ctx context.Context, m *member, r relay.Request) (tool.Bytes, error) {
	to := m.way()
	if s.o.Modern {
		return s.client.Do(ctx, to, r)
	}
	switch r.Method {
	case "logging/setLevel":
		return s.client.SetLevel(ctx, to, textOf(r.Params, "level"), r.Params)
	case "resources/subscribe", "resources/unsubscribe":
		return s.client.Subscribe(ctx, to, r.Method == "resources/subscribe", textOf(r.Params, "uri"), r.Params)
	case "tasks/list":
		if relay.OverModern(ctx, s.client, to) {
			return relay.ListTasks(ctx, s.client, func(string) relay.Server { return to }, m.name)
		}
		list, err := s.client.Do(ctx, to, r)
		if err != nil || isAlone(s) {
			return list, err
		}
		return ownTasks(s, list)
	}
	return s.client.Do(ctx, to, r)
}

// textOf returns the text that is the member of an object with that key.
func textOf(obj []byte, key string) string {
	var span [1]jsonrpc.Span
	b := tool.OneOf(obj)
	if len(obj) == 0 || jsonrpc.Members(b, []string{key}, span[:]) != nil {
		return ""
	}
	text, _ := jsonrpc.String(span[0].In(b).Join())
	return text
}

// mayReach says why what a server has beside its tools is not for these callers: it is
// shown to those who see one of its tools at least, where it has any, and to those
// whose skill names one.
func (s *scoped) mayReach(m *member) error {
	hidden := &tool.Error{Kind: tool.Denied, Text: "Server " + m.name + " is not within reach of this client."}
	if m.err != nil {
		return &tool.Error{Kind: tool.Unavailable, Text: "Server " + m.name + " is unavailable: " + tool.Flatten(m.err)}
	}
	whole := tool.ID{Server: m.name, Name: "*"}
	if why := s.stops.Why(whole); why != "" {
		return stops.Refusal(why)
	}
	if s.Blacklisted(whole) || !s.profile.Reaches(m.name) {
		return hidden
	}
	tools, _ := s.catalog.Snapshot().Server(m.name)
	for i := range tools {
		if !s.denies(&tools[i]) {
			return nil
		}
	}
	if len(tools) > 0 {
		return hidden
	}
	return nil
}

// A hop is the way to one server, for the relay.
type hop struct {
	m    *member
	call upstream.Call // what all requests on it have in common
}

// Name implements relay.Server.
func (h hop) Name() string { return h.m.name }

// Era implements relay.Server.
func (h hop) Era(ctx context.Context) (era.Era, error) { return upstream.EraOf(ctx, h.m.server) }

// Send implements relay.Server.
func (h hop) Send(ctx context.Context, s *relay.Sending) (tool.Bytes, error) {
	c := h.call
	c.Method, c.Params, c.Meta, c.Progress = s.Method, s.Params, s.Meta, s.Progress
	if c.Method == "" {
		c.Method = "tools/call"
	} else if c.Method != "tools/call" {
		c.Name = ""
	}
	if s.Header != nil {
		c.Header = s.Header
	}
	if s.Stream != nil {
		c.Stream = s.Stream
	}
	if l, ok := s.Link.(*upstream.Link); ok {
		c.Link = l
	}
	return h.m.server.Call(ctx, c)
}

// Open implements relay.Server. Where each session has its own connection anyway, and
// at servers of our own, which ask nothing, clients get none.
func (h hop) Open(ctx context.Context, g relay.Greeting) (relay.Link, error) {
	if h.m.meta != nil || h.m.entry == nil || !upstream.IsShared(h.m.server) {
		return nil, nil
	}
	l, err := upstream.Open(ctx, h.m.server, upstream.Greeting{
		Capabilities: g.Capabilities, ClientInfo: g.ClientInfo, Handler: g.Handler, Task: h.call.Task, Caller: g.Caller,
	})
	switch {
	case errors.Is(err, upstream.ErrModernOnly):
		return nil, relay.ErrModernOnly
	case errors.Is(err, upstream.ErrTooMany):
		return nil, h.noPlace(err)
	case err != nil:
		return nil, err
	}
	return l, nil
}

// noPlace tells whoever makes a call that the server cannot ask this client anything now.
func (h hop) noPlace(err error) error {
	if h.call.Notes != nil {
		h.call.Notes.Note("relay", "server %s cannot ask this client anything now: %v", h.m.name, err)
	}
	return fmt.Errorf("server %s: %w: %w", h.m.name, relay.ErrNoPlace, err)
}

// An About is what one server says of itself.
type About struct {
	// Raw is its answer to initialize, or to server/discover where Modern is set.
	Raw    json.RawMessage
	Modern bool
	// Bridge says what clients of the other era do not have as they would have it there.
	Bridge string
}

// A Window is what one URL shows: all servers, one under its own names, or what a skill
// lists.
type Window struct {
	g      *Gateway
	server string
}

// Window returns the window of a server, of a skill, or of the pool where both are empty,
// and whether there is one.
func (g *Gateway) Window(server, skill string) (Window, bool) {
	p := g.pool.Load()
	known := server == "" || p.byName[server] != nil
	if skill != "" {
		known = slices.ContainsFunc(skillsOf(p.cfg), func(s skills.Skill) bool { return s.Name == skill })
	}
	return Window{g, server}, known
}

// About returns what the server of the window says of itself, once it runs. The error is
// a *tool.Error.
func (s Window) About(ctx context.Context, o Viewer) (About, error) {
	v := view{s.g, s.g.pool.Load()}
	sees, err := v.as(o.subject())
	if err != nil {
		return About{}, err
	}
	m := v.byName[s.server]
	if m == nil {
		return About{}, noServer(v, s.server)
	}
	if err := sees.mayReach(m); err != nil {
		return About{}, err
	}
	a, err := upstream.Meet(ctx, m.server)
	about := About{Raw: s.g.hidden(a.Raw), Modern: a.Era == era.Modern}
	client := era.Modern
	if about.Modern {
		client = era.Legacy
	}
	var words []string
	for _, g := range v.gaps(m, sees.shows) {
		if g.For(client) {
			words = append(words, g.Text)
		}
	}
	about.Bridge = v.secrets.Text(strings.Join(words, "; "))
	return about, err
}

// Instructions are what a server says of itself to models.
type Instructions struct{ Server, Text string }

// Instructions returns what the servers that have been met say of themselves, in the
// order of the configuration.
func (s Window) Instructions(o Viewer) []Instructions {
	v := view{s.g, s.g.pool.Load()}
	sees, err := v.as(o.subject())
	if err != nil {
		return nil
	}
	var out []Instructions
	for _, name := range sees.reachable() {
		if text := v.byName[name].server.About().Instructions; text != "" {
			if v.cfg.Policy.Redact.Results {
				text = s.g.secrets.Text(text)
			}
			out = append(out, Instructions{name, text})
		}
	}
	return out
}

// Lacks reports whether the server of the window has no tool with this name, once it
// has listed its tools.
func (s Window) Lacks(ctx context.Context, name string) bool {
	p := s.g.pool.Load()
	id := tool.ID{Server: s.server, Name: name}
	if _, ok := p.catalog.Snapshot().Find(id); ok || s.server == "" {
		return false
	}
	m := p.byName[s.server]
	if m == nil || m.await(ctx) != nil || p.catalog.Snapshot().Blacklisted(id) {
		return false // whoever makes the call says so
	}
	_, ok := p.catalog.Snapshot().Find(id)
	return !ok
}
