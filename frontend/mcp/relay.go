package mcp

import (
	"cmp"
	"context"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// passes reports whether requests with this method go on to servers, unless they are
// of those that the gateway answers itself.
func passes(method string, modern bool) bool {
	switch method {
	case "initialize", "server/discover", "ping", "subscriptions/listen":
		return false // it is for the other era
	case "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return !modern
	}
	return true
}

// viewer returns as whom a request looks at the pool.
func (h *handler) viewer(x *wire.Exchange, params tool.Bytes) tenon.Viewer {
	c := tool.Call{
		Session: header(x.Header, "X-Tenon-Session"), Task: header(x.Header, "X-Tenon-Task"), Skill: header(x.Header, "X-Tenon-Skill"),
	}
	var span [1]jsonrpc.Span
	if len(params) > 0 && jsonrpc.Members(params, []string{"_meta"}, span[:]) == nil && span[0].Found() {
		h.meta(&c, x, span[0].In(params))
	}
	return tenon.Viewer{
		Caller: via(x.Caller), Session: cmp.Or(c.Session, h.name, c.Task), Skill: cmp.Or(h.skill, c.Skill), Mode: c.Mode,
	}
}

// relay carries a legacy client's request on.
func (h *handler) relay(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	session := h.session.Load()
	if session == nil {
		session = h.begin(x, m.Params, nil, nil)
	}
	return session.Request(ctx, h.peerRequest(x, m))
}

// begin begins the session of a legacy client. The first one counts.
func (h *handler) begin(x *wire.Exchange, params tool.Bytes, capabilities, info []byte) *tenon.Session {
	o := tenon.SessionOptions{Viewer: h.viewer(x, params), Server: h.server, Capabilities: capabilities, ClientInfo: info}
	if x.Session != nil {
		o.Notify, o.Ask = x.Session.Notify, x.Session.Ask
	}
	session := h.gw.NewSession(o)
	if h.session.CompareAndSwap(nil, session) {
		return session
	}
	return h.session.Load()
}

func (h *handler) peerRequest(x *wire.Exchange, m *jsonrpc.Message) tenon.PeerRequest {
	r := tenon.PeerRequest{Viewer: h.viewer(x, m.Params), Method: m.Method, Params: m.Params.Join(), Peer: x}
	if token := tokenOf(m.Params); token != nil {
		r.Progress = func(params tool.Bytes) {
			own, err := jsonrpc.Edit(params.Join(), jsonrpc.Field{Key: "progressToken", Value: token})
			if err == nil {
				_ = x.Notify("notifications/progress", own) // a client that reads too slowly misses some
			}
		}
	}
	return r
}

// tokenOf returns the progress token of a request, or nil.
func tokenOf(params tool.Bytes) []byte {
	var span [1]jsonrpc.Span
	if len(params) == 0 || jsonrpc.Members(params, []string{"_meta"}, span[:]) != nil || !span[0].Found() {
		return nil
	}
	meta := span[0].In(params)
	span = [1]jsonrpc.Span{}
	if jsonrpc.Members(meta, metaKeys[:1], span[:]) != nil || !span[0].Found() {
		return nil
	}
	return span[0].In(meta).Join()
}

// modernOptions says who sends a modern request.
func (h *handler) modernOptions(x *wire.Exchange, meta era.RequestMeta, method string, params tool.Bytes) tenon.SessionOptions {
	return tenon.SessionOptions{
		Viewer: h.viewer(x, params), Server: h.server, Capabilities: meta.Capabilities, ClientInfo: meta.ClientInfo,
		Modern: true, Method: method, Params: params, Level: meta.LogLevel,
	}
}

// named are the members of params that the header Mcp-Name repeats, by method.
var named = map[string]string{
	"prompts/get": "name", "resources/read": "uri", "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}

var answerKeys = []string{"requestState", "inputResponses"}

// relayModern carries a modern request on.
func (h *handler) relayModern(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message, meta era.RequestMeta) (tool.Bytes, *jsonrpc.Error) {
	if key := named[m.Method]; key != "" && x.Header != nil {
		var span [1]jsonrpc.Span
		if jsonrpc.Members(m.Params, []string{key}, span[:]) == nil {
			name, _ := jsonrpc.String(span[0].In(m.Params).Join())
			if said, ok := wire.DecodeHeader(x.Header.Get(wire.HeaderName)); !ok || said != name {
				e := invalid(true, "header %s says %q, the body says %q", wire.HeaderName, said, name)
				e.Code = jsonrpc.CodeHeaderMismatch
				return nil, e
			}
		}
	}
	o := h.modernOptions(x, meta, m.Method, m.Params)
	var spans [2]jsonrpc.Span
	if jsonrpc.Members(m.Params, answerKeys, spans[:]) == nil && spans[0].Found() {
		o.State, _ = jsonrpc.String(spans[0].In(m.Params).Join())
		if o.State == "" {
			o.State = "-" // it is none of ours, whatever it is
		}
		o.Responses = spans[1].In(m.Params).Join()
	}
	result, e := h.gw.NewSession(o).Request(ctx, h.peerRequest(x, m))
	if e != nil {
		answer := *e
		answer.Status = cmp.Or(e.Status, statusOf(e.Code, true))
		return nil, &answer
	}
	return finish(m.Method, result), nil
}

// finish makes the result of a legacy server one of the modern era.
func finish(method string, result tool.Bytes) tool.Bytes {
	result = era.Complete(result)
	switch method {
	case "resources/list", "resources/templates/list", "prompts/list", "resources/read":
		return era.Cacheable(result)
	}
	return result
}
