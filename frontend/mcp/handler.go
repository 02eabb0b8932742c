package mcp

import (
	"cmp"
	"context"
	"net/http"
	"sync/atomic"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// handler answers one session, or all requests that belong to none.
type handler struct {
	*Server
	name   string // of the session, for isolation; empty for the stateless
	modern bool   // all requests are of the modern era
	stdio  bool   // each request says its era itself
	scope
	shows   tenon.Window
	session atomic.Pointer[tenon.Session] // of a client that has sent initialize
	form    tenon.ListForm                // of its lists
	// elicits is set where the client of the session can show a form to its person.
	elicits atomic.Bool
}

// isModern reports whether a request over HTTP is of the modern era: by its
// version header, else by its body. The header Mcp-Method says nothing, since
// some legacy clients send it too.
func isModern(h http.Header, m *jsonrpc.Message) bool {
	v := h.Get(wire.HeaderVersion)
	if v != "" && (era.Known(v) || era.Of(v) == era.Modern) {
		return era.Of(v) == era.Modern
	}
	if h.Get(wire.HeaderSession) != "" || m.Method == "initialize" {
		return false
	}
	if v != "" && !era.Known(v) { // no session to look for: it is told that its version is unknown
		return true
	}
	return era.MetaOf(m.Params).Version != ""
}

// Request implements wire.Handler.
func (h *handler) Request(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	modern := h.modern || h.stdio && m.Method != "initialize" && era.MetaOf(m.Params).Version != ""
	var meta era.RequestMeta
	if modern {
		meta = era.MetaOf(m.Params)
		if e := checkModern(x.Header, m, meta); e != nil {
			return nil, e
		}
	}
	switch {
	case m.Method == "tools/call":
		return h.call(ctx, x, m, modern, meta)
	case m.Method == "tools/list":
		return h.tools(ctx, x, m, modern)
	case m.Method == "server/discover" && modern:
		return h.discover(ctx, x, m)
	case m.Method == "subscriptions/listen" && modern:
		return h.listen(ctx, x, m)
	case m.Method == "initialize" && !modern:
		return h.initialize(ctx, x, m)
	case m.Method == "ping" && !modern:
		return tool.OneOf([]byte("{}")), nil
	case !passes(m.Method, modern):
		return nil, notSupported(m.Method, modern)
	case modern:
		return h.relayModern(ctx, x, m, meta)
	}
	return h.relay(ctx, x, m)
}

func notSupported(method string, modern bool) *jsonrpc.Error {
	e := jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported", method)
	if modern {
		e.Status = http.StatusNotFound
	}
	return e
}

// Notification implements wire.Handler. Cancellation is the wire's.
func (h *handler) Notification(x *wire.Exchange, m *jsonrpc.Message) {
	if s := h.session.Load(); s != nil && m.Method != "notifications/initialized" {
		ctx, cancel := context.WithTimeout(x.Session.Context(), notifyBound)
		defer cancel()
		s.Notify(ctx, m.Method, m.Params.Join())
	}
}

// notifyBound bounds how long a notification of a client may take to its servers.
const notifyBound = 10 * time.Second

// end ends the session.
func (h *handler) end() {
	if s := h.session.Load(); s != nil {
		s.Close()
	}
}

// checkModern holds what MCP 2026-07-28 demands of every request: what its _meta
// must say, and that the headers say the same as the body.
func checkModern(header http.Header, m *jsonrpc.Message, meta era.RequestMeta) *jsonrpc.Error {
	bad := func(code int, format string, args ...any) *jsonrpc.Error {
		e := jsonrpc.Errorf(code, format, args...)
		e.Status = http.StatusBadRequest
		return e
	}
	v := header.Get(wire.HeaderVersion)
	if v != "" && meta.Version != "" && v != meta.Version {
		return bad(jsonrpc.CodeHeaderMismatch, "header %s says %q, _meta says %q", wire.HeaderVersion, v, meta.Version)
	}
	// What another version demands nobody knows, so this comes before all else.
	if v = cmp.Or(v, meta.Version); v != "" && v != era.ModernFirst {
		e := bad(jsonrpc.CodeUnsupportedVersion, "protocol version %q is not supported", v)
		e.Data = append(jsonrpc.Quote([]byte(`{"supported":["`+era.ModernFirst+`"],"requested":`), v), '}')
		return e
	}
	if method := header.Get(wire.HeaderMethod); header != nil && method != m.Method {
		return bad(jsonrpc.CodeHeaderMismatch, "header %s says %q, the body says %q", wire.HeaderMethod, method, m.Method)
	}
	if meta.Version == "" {
		return bad(jsonrpc.CodeInvalidParams, "_meta lacks %s", era.MetaVersion)
	}
	if meta.Capabilities == nil {
		return bad(jsonrpc.CodeInvalidParams, "_meta lacks %s", era.MetaCapabilities)
	}
	return nil
}
