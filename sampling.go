package tenon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/internal/sampling"
	"github.com/tenon-mcp/tenon/internal/upstream"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/tool"
)

// createMessage is what a server asks a model with.
const createMessage = "sampling/createMessage"

// A sampler is the model that answers servers whose clients cannot.
type sampler struct {
	*sampling.Sampler
	perCall int
}

// newSampler returns the sampler of a configuration, or nil where there is none.
func newSampler(cfg *config.Config) (*sampler, error) {
	c := cfg.Sampling
	if c == nil {
		return nil, nil
	}
	client, err := modelOf(cfg, "sampling", &c.Model)
	if err != nil {
		return nil, fmt.Errorf("sampling: %w", err)
	}
	return &sampler{
		Sampler: sampling.New(sampling.Options{Ask: client.Ask, MaxTokens: c.Model.MaxTokens, PerMinute: c.PerMinute, Sound: client.Kind != model.Anthropic}),
		perCall: c.PerCall,
	}, nil
}

// way returns the way to a member for what is no call of a tool: a server that may ask a
// model is told so by whoever meets it first.
func (m *member) way() relay.Server {
	if m.asksModel() {
		return &sampledHop{hop: hop{m: m}}
	}
	return hop{m: m}
}

// asksModel reports whether the configuration lets the server ask its model.
func (m *member) asksModel() bool { return m.entry != nil && m.entry.Care.Sampled }

// A sampledHop is the way to a server that may ask a model. A client that can answer is
// asked; where it cannot, the model of the pool is, within a call. It is for one call.
type sampledHop struct {
	hop
	v       view
	call    *call.Request // nil: what is asked meanwhile is refused
	instead bool          // the client is one that was made up for this call
	able    bool          // the client can answer by itself
	asked   atomic.Int32
}

// sampled returns the way of a call to a server that may ask a model, and as which client
// to go it: who cannot be asked anything has no connection of their own, and gets one.
func sampled(v view, h hop, r *call.Request, client *relay.Client) (*sampledHop, *relay.Client) {
	way := &sampledHop{hop: h, v: v, call: r}
	if client == nil || client.Plain() {
		way.instead = true
		client = v.relay.Client(relay.Options{
			Modern: true, Caller: ownerOf(r.Caller), Capabilities: json.RawMessage(`{"sampling":{}}`),
			ClientInfo: json.RawMessage(`{"name":"tenon","version":"` + version.String() + `"}`),
		})
	}
	way.able = !way.instead && slices.Contains(strings.Fields(client.Can()), "sampling")
	return way, client
}

// Open implements relay.Server.
func (h *sampledHop) Open(ctx context.Context, g relay.Greeting) (relay.Link, error) {
	with, had := sampling.Capable(g.Capabilities)
	a := &answerer{Handler: g.Handler, client: had && !h.instead}
	g.Capabilities, g.Handler = with, a
	l, err := h.hop.Open(ctx, g)
	if up, ok := l.(*upstream.Link); ok && err == nil {
		return sampledLink{up, a}, nil
	}
	return nil, err
}

// A sampledLink is a link whose server may ask a model.
type sampledLink struct {
	*upstream.Link
	a *answerer
}

// An answerer takes what a server sends by itself, and answers what it asks a model.
type answerer struct {
	relay.Handler
	client bool                          // the client can
	calls  upstream.Running[*sampledHop] // all of one client
}

// Asked implements relay.Handler.
func (a *answerer) Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	if method != createMessage || a.client {
		return a.Handler.Asked(ctx, method, params)
	}
	h, ok := a.calls.Newest()
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "a model is asked within calls of tools alone")
	}
	return h.sample(ctx, params.Join())
}

// sample answers one question of the server for the call.
func (h *sampledHop) sample(ctx context.Context, params []byte) (tool.Bytes, *jsonrpc.Error) {
	if h.call == nil || h.v.pool == nil || h.v.sampler == nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "a model is asked within calls of tools alone")
	}
	s := h.v.sampler
	if n := h.asked.Add(1); int(n) > s.perCall {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "a call may ask a model %d times", s.perCall)
	}
	if broke := h.call.Broke(); broke != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", broke.Text)
	}
	result, used, err := s.Answer(ctx, h.v.hidden(params))
	h.call.Spend(used)
	if err != nil {
		h.v.log.Info("a server's question to a model has no answer", "server", h.m.name, "call", h.call.ID, "error", err)
		return nil, asError(err)
	}
	return tool.OneOf(result), nil
}

// asError returns an error as a server gets it.
func asError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", err)
}

// maxSampleRounds is how often a modern server may want an answer of the model, one after
// the other, in one call.
const maxSampleRounds = 10

// Send implements relay.Server.
func (h *sampledHop) Send(ctx context.Context, s *relay.Sending) (tool.Bytes, error) {
	out := *s
	if l, ok := s.Link.(sampledLink); ok {
		out.Link = l.Link
		if h.call != nil {
			defer l.a.calls.Begin(h)()
		}
		if s.Stream != nil && !l.a.client { // what comes with the answer belongs to this call for sure
			a := &answerer{Handler: s.Stream}
			defer a.calls.Begin(h)()
			out.Stream = a
		}
		return h.hop.Send(ctx, &out)
	}
	switch {
	case h.call == nil: // nobody's
		return h.hop.Send(ctx, &out)
	case s.Meta == nil: // a legacy server
		if !upstream.IsShared(h.m.server) { // each link is of one session or call
			out.Stream = &sampledCall{h, s.Stream}
		}
		return h.hop.Send(ctx, &out)
	}
	had := h.declare(&out)
	if had && !h.instead {
		return h.hop.Send(ctx, &out)
	}
	return h.rounds(ctx, &out)
}

// A sampledCall takes what a legacy server sends during one call, on a link that is the
// call's or its session's: where the call's client has no way back, the model answers.
type sampledCall struct {
	h    *sampledHop
	next relay.Handler // of the client; may be nil
}

// Asked implements relay.Handler.
func (c *sampledCall) Asked(ctx context.Context, method string, params tool.Bytes) (tool.Bytes, *jsonrpc.Error) {
	switch {
	case method != createMessage:
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported by this client, which declared sampling alone", method)
	case c.h.able && c.next != nil:
		return c.next.Asked(ctx, method, params)
	}
	return c.h.sample(ctx, params.Join())
}

// Heard implements relay.Handler.
func (c *sampledCall) Heard(method string, params tool.Bytes) {
	if c.next != nil {
		c.next.Heard(method, params)
	}
}

// declare says to a modern server that sampling can be done, and reports whether the
// client says so itself.
func (h *sampledHop) declare(s *relay.Sending) (had bool) {
	said := sampling.Member(s.Params, "_meta", era.MetaCapabilities)
	var fields []jsonrpc.Field
	for _, f := range s.Meta {
		if f.Key == era.MetaCapabilities {
			said = f.Value
			continue
		}
		fields = append(fields, f)
	}
	if h.instead { // params of another client, or of none
		said = nil
		fields = append(fields[:0:0], era.ClientMeta("tenon", version.String())[:2]...)
	}
	with, had := sampling.Capable(said)
	s.Meta = append(fields, jsonrpc.Field{Key: era.MetaCapabilities, Value: with})
	return had
}

// rounds sends a call to a modern server, and gives it the answers of the model that it
// wants. What it wants of the client beside goes on to the client; the answers of the
// model wait in the state meanwhile.
func (h *sampledHop) rounds(ctx context.Context, s *relay.Sending) (tool.Bytes, error) {
	first, err := sampling.Restore(s.Params)
	if err != nil {
		return nil, err
	}
	s.Params = first
	for range maxSampleRounds {
		result, err := h.hop.Send(ctx, s)
		if err != nil {
			return nil, err
		}
		if textOf(result.Join(), "resultType") != "input_required" {
			return result, nil
		}
		var in sampling.Inputs
		if json.Unmarshal(result.Join(), &in) != nil {
			return result, nil // whoever reads it next says so
		}
		answers := map[string]json.RawMessage{}
		for name, want := range in.Wants {
			if want.Method != createMessage {
				continue
			}
			said, e := h.sample(ctx, want.Params)
			if e != nil {
				return nil, e
			}
			answers[name] = said.Join()
			delete(in.Wants, name)
		}
		switch {
		case len(answers) == 0:
			return result, nil
		case len(in.Wants) > 0:
			held, err := sampling.Withhold(result.Join(), in, answers)
			return tool.OneOf(held), err
		}
		if s.Params, err = sampling.Answered(first, in.State, answers); err != nil {
			return nil, err
		}
	}
	return nil, jsonrpc.Errorf(jsonrpc.CodeInternal, "server %s wanted answers of a model more than %d times for one call", h.m.name, maxSampleRounds)
}
