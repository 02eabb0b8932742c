package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

var (
	callKeys = []string{"name", "arguments", "_meta", "requestState", "inputResponses"}
	metaKeys = []string{"progressToken", "tenon/session", "tenon/task", "tenon/skill", "tenon/idempotency_key", "tenon/mode"}
)

func (h *handler) call(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message, modern bool, meta era.RequestMeta) (tool.Bytes, *jsonrpc.Error) {
	params := tool.OneOf(m.Params.Join())
	var spans [5]jsonrpc.Span
	if err := jsonrpc.OwnMembers(params, callKeys, spans[:]); err != nil {
		return nil, invalid(modern, "params of tools/call: %v", err)
	}
	name, ok := jsonrpc.String(spans[0].In(params).Join())
	if !ok {
		return nil, invalid(modern, "params of tools/call lack the name of a tool")
	}
	if modern && x.Header != nil {
		if said, ok := wire.DecodeHeader(x.Header.Get(wire.HeaderName)); !ok || said != name {
			e := invalid(true, "header %s says %q, the body says %q", wire.HeaderName, said, name)
			e.Code = jsonrpc.CodeHeaderMismatch
			return nil, e
		}
	}
	c := tool.Call{
		Tool: name, Arguments: spans[1].In(params).Join(), Params: params.Join(), Caller: via(x.Caller),
		Session: header(x.Header, "X-Tenon-Session"), Task: header(x.Header, "X-Tenon-Task"), Skill: header(x.Header, "X-Tenon-Skill"),
	}
	h.meta(&c, x, spans[2].In(params))
	c.Session = cmp.Or(c.Session, h.name)
	c.Skill = cmp.Or(h.skill, c.Skill)
	if h.server != "" && h.shows.Lacks(ctx, name) {
		return nil, invalid(modern, "Unknown tool: server %s has no tool %q", h.server, name)
	}
	if modern {
		return h.callModern(ctx, x, c, params, spans, meta)
	}
	if h.elicits.Load() {
		c.Person = asker{x}
	}
	h.target(&c)
	if session := h.session.Load(); session != nil {
		return answer(addressed(ctx, h, c, session.Call(ctx, x, c)), false)
	}
	return answer(addressed(ctx, h, c, h.gw.Call(ctx, c)), false)
}

// callModern makes a call whose client may be given a question to come again with.
func (h *handler) callModern(ctx context.Context, x *wire.Exchange, c tool.Call, params tool.Bytes, spans [5]jsonrpc.Span, meta era.RequestMeta) (tool.Bytes, *jsonrpc.Error) {
	name := c.Tool
	h.target(&c)
	if x.Header != nil {
		if wrong := h.shows.CheckParams(c.Server, c.Tool, c.Arguments, x.Header); wrong != "" {
			e := invalid(true, "header %s does not say what the argument in the body says", wrong)
			e.Code = jsonrpc.CodeHeaderMismatch
			return nil, e
		}
	}
	given, _ := jsonrpc.String(spans[3].In(params).Join())
	relayed := tenon.IsRelayState(given)
	switch {
	case spans[3].Found() && !relayed:
		person, e := h.returned(ctx, &c, hashOfCall(name, c.Arguments), spans[3].In(params).Join(), spans[4].In(params).Join())
		if e != nil {
			return nil, e
		}
		c.Person = person
		c.Params = withoutAnswer(params, spans)
	case modernElicits(spans[2].In(params)):
		c.Person = &returning{}
	}
	var res *tool.Result
	if relayed || meta.LogLevel != "" || tenon.CapabilitiesCount(meta.Capabilities) {
		o := h.modernOptions(x, meta, "tools/call", params)
		if relayed {
			o.State, o.Responses = given, spans[4].In(params).Join()
		}
		res = h.gw.NewSession(o).Call(ctx, x, c)
	} else {
		res = h.gw.Call(ctx, c)
	}
	if d, ok := errors.AsType[*tool.Deferred](res.Err); ok {
		raw, e := h.inputRequired(d.Approval, c.Caller, hashOfCall(name, c.Arguments))
		return tool.OneOf(raw), e
	}
	return answer(addressed(ctx, h, c, res), true)
}

// addressed returns a result with the addresses of resources as a client of the pool has
// them.
func addressed(ctx context.Context, h *handler, c tool.Call, res *tool.Result) *tool.Result {
	if h.server != "" || !tenon.NamesResources(res) {
		return res
	}
	own := *res
	own.Raw = h.shows.Addresses(ctx, tenon.Viewer{Caller: c.Caller, Session: c.Session, Skill: c.Skill, Mode: c.Mode}, res.Server, res.Raw)
	return &own
}

// withoutAnswer returns the params of a call without what is for the gateway alone.
func withoutAnswer(params tool.Bytes, spans [5]jsonrpc.Span) []byte {
	out := []byte{'{'}
	for i, key := range callKeys[:3] {
		if !spans[i].Found() {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsonrpc.Quote(out, key), ':')
		out = append(out, spans[i].In(params).Join()...)
	}
	return append(out, '}')
}

// statusOf returns the HTTP status that a modern client gets with an error.
func statusOf(code int, modern bool) int {
	switch {
	case !modern:
		return 0
	case code == jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case code == jsonrpc.CodeMissingCapability, code == jsonrpc.CodeHeaderMismatch, code == jsonrpc.CodeUnsupportedVersion, code == jsonrpc.CodeInvalidParams:
		return http.StatusBadRequest
	}
	return 0
}

func invalid(modern bool, format string, args ...any) *jsonrpc.Error {
	e := jsonrpc.Errorf(jsonrpc.CodeInvalidParams, format, args...)
	if modern {
		e.Status = http.StatusBadRequest
	}
	return e
}

func header(h http.Header, name string) string {
	if h == nil {
		return ""
	}
	return h.Get(name)
}

// meta takes what the _meta of a call says to the gateway.
func (h *handler) meta(c *tool.Call, x *wire.Exchange, meta tool.Bytes) {
	var spans [6]jsonrpc.Span
	if len(meta) == 0 || jsonrpc.Members(meta, metaKeys, spans[:]) != nil {
		return
	}
	if spans[0].Found() {
		c.Progress = func(params json.RawMessage) {
			_ = x.Notify("notifications/progress", params) // a client that reads too slowly misses some
		}
	}
	text := func(i int) string {
		s, _ := jsonrpc.String(spans[i].In(meta).Join())
		return s
	}
	c.Session = cmp.Or(text(1), c.Session)
	c.Task = cmp.Or(text(2), c.Task)
	c.Skill = cmp.Or(text(3), c.Skill)
	c.IdempotencyKey = text(4)
	c.Mode = tool.Mode(text(5))
}

// target turns the flat name of a call into server and tool. A name that is not
// in the list yet, because its server is still starting, is taken apart; one that
// is no flat name at all goes on as it is, for the pipeline to correct.
func (h *handler) target(c *tool.Call) {
	if h.server != "" {
		c.Server = h.server
		return
	}
	if id, ok := h.gw.Named(c.Tool); ok {
		c.Server, c.Tool = id.Server, id.Name
		return
	}
	if server, name, ok := strings.Cut(c.Tool, "__"); ok && server != "" && name != "" {
		c.Server, c.Tool = server, name
	}
}

// answer turns a result into a CallToolResult. What the gateway did not change
// passes as it came; an error of the protocol that a server answered with stays
// one.
func answer(res *tool.Result, modern bool) (tool.Bytes, *jsonrpc.Error) {
	if len(res.Notes) == 0 {
		if e, ok := errors.AsType[*jsonrpc.Error](res.Err); ok {
			return nil, &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data, Raw: e.Raw, Status: statusOf(e.Code, modern)}
		}
	}
	raw := res.Raw
	switch {
	case len(raw) == 0:
		raw = tool.OneOf(failure(res))
	case len(res.Notes) > 0:
		raw = tool.OneOf(noted(res))
	}
	if modern {
		raw = era.Complete(raw)
	}
	return raw, nil
}

func textBlock(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	return append(jsonrpc.Quote(dst, text), '}')
}

// failure makes the CallToolResult of an error that no server answered with.
func failure(res *tool.Result) []byte {
	text := res.Message
	if lead := lead(res); lead != "" {
		text = lead + "\n" + text
	}
	out := append(textBlock([]byte(`{"content":[`), text), `],"isError":true,"_meta":{`...)
	out = append(said(out, res), "}}"...)
	return out
}

// lead is what the model is told of what the gateway did.
func lead(res *tool.Result) string {
	parts := make([]string, len(res.Notes))
	for i, n := range res.Notes {
		parts[i] = n.Text
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, "; ") + "]"
}

// said appends the members of _meta that say what the gateway did.
func said(dst []byte, res *tool.Result) []byte {
	for i, f := range saidFields(res) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonrpc.Quote(dst, f.Key), ':')
		dst = append(dst, f.Value...)
	}
	return dst
}

func saidFields(res *tool.Result) []jsonrpc.Field {
	fields := []jsonrpc.Field{{Key: "tenon/id", Value: jsonrpc.Quote(nil, res.ID)}}
	if res.Kind != "" {
		fields = append(fields, jsonrpc.Field{Key: "tenon/error_kind", Value: jsonrpc.Quote(nil, string(res.Kind))})
	}
	if len(res.Notes) > 0 {
		if notes, err := json.Marshal(res.Notes); err == nil {
			fields = append(fields, jsonrpc.Field{Key: "tenon/notes", Value: notes})
		}
	}
	if res.Handle != nil {
		if handle, err := json.Marshal(res.Handle); err == nil {
			fields = append(fields, jsonrpc.Field{Key: "tenon/handle", Value: handle})
		}
	}
	return fields
}

// noted adds to a server's result what the gateway did: a leading text block,
// and members of _meta.
func noted(res *tool.Result) []byte {
	raw := res.Raw.Join()
	var span [1]jsonrpc.Span
	b := tool.OneOf(raw)
	out := raw
	if jsonrpc.Members(b, []string{"content"}, span[:]) == nil && span[0].Found() {
		content := span[0].In(b).Join()
		if rest := strings.TrimLeft(string(content[1:]), " \t\r\n"); content[0] == '[' {
			lead := textBlock([]byte{'['}, lead(res))
			if rest != "]" {
				lead = append(lead, ',')
			}
			if edited, err := jsonrpc.Edit(raw, jsonrpc.Field{Key: "content", Value: append(lead, rest...)}); err == nil {
				out = edited
			}
		}
	}
	if edited, err := jsonrpc.EditMeta(out, saidFields(res)...); err == nil {
		return edited.Join()
	}
	return out
}
