package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"

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
	// elicits is set where the client of the session can show a form to its person.
	elicits atomic.Bool
}

// isModern reports whether a request over HTTP is of the modern era: by its
// version header, else by its body. The header Mcp-Method says nothing, since
// some legacy clients send it too.
func isModern(h http.Header, m *jsonrpc.Message) bool {
	if v := h.Get(wire.HeaderVersion); v != "" {
		return era.Of(v) == era.Modern
	}
	if h.Get(wire.HeaderSession) != "" || m.Method == "initialize" {
		return false
	}
	return era.MetaOf(m.Params).Version != ""
}

// Request implements wire.Handler.
func (h *handler) Request(ctx context.Context, x *wire.Exchange, m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	modern := h.modern || h.stdio && m.Method != "initialize" && era.MetaOf(m.Params).Version != ""
	if modern {
		if e := checkModern(x.Header, m); e != nil {
			return nil, e
		}
	}
	switch {
	case m.Method == "tools/call":
		return h.call(ctx, x, m, modern)
	case m.Method == "tools/list":
		return h.tools(ctx, x, m, modern)
	case m.Method == "server/discover" && modern:
		return tool.OneOf(h.discover()), nil
	case m.Method == "initialize" && !modern:
		return h.initialize(m)
	case m.Method == "ping" && !modern:
		return tool.OneOf([]byte("{}")), nil
	}
	e := jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported", m.Method)
	if modern {
		e.Status = http.StatusNotFound
	}
	return nil, e
}

// Notification implements wire.Handler. There is nothing that a client of this
// version's features could tell: cancellation is the wire's.
func (h *handler) Notification(*wire.Exchange, *jsonrpc.Message) {}

// checkModern holds what MCP 2026-07-28 demands of every request: what its _meta
// must say, and that the headers say the same as the body.
func checkModern(header http.Header, m *jsonrpc.Message) *jsonrpc.Error {
	bad := func(code int, format string, args ...any) *jsonrpc.Error {
		e := jsonrpc.Errorf(code, format, args...)
		e.Status = http.StatusBadRequest
		return e
	}
	meta := era.MetaOf(m.Params)
	if header != nil {
		if v := header.Get(wire.HeaderVersion); v != "" && meta.Version != "" && v != meta.Version {
			return bad(jsonrpc.CodeHeaderMismatch, "header %s says %q, _meta says %q", wire.HeaderVersion, v, meta.Version)
		}
		if method := header.Get(wire.HeaderMethod); method != m.Method {
			return bad(jsonrpc.CodeHeaderMismatch, "header %s says %q, the body says %q", wire.HeaderMethod, method, m.Method)
		}
	}
	if meta.Version == "" {
		return bad(jsonrpc.CodeInvalidParams, "_meta lacks %s", era.MetaVersion)
	}
	if meta.Version != era.ModernFirst {
		e := bad(jsonrpc.CodeUnsupportedVersion, "protocol version %q is not supported", meta.Version)
		e.Data = append(jsonrpc.Quote([]byte(`{"supported":["`+era.ModernFirst+`"],"requested":`), meta.Version), '}')
		return e
	}
	if !meta.Capabilities {
		return bad(jsonrpc.CodeInvalidParams, "_meta lacks %s", era.MetaCapabilities)
	}
	return nil
}

func (h *handler) initialize(m *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	var p struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
	}
	if err := json.Unmarshal(m.Params.Join(), &p); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params of initialize: %v", err)
	}
	version := era.Negotiate(p.Version)
	h.elicits.Store(version >= firstElicitation && elicits(p.Capabilities))
	return tool.OneOf(h.hello(`"protocolVersion":"` + version + `"`)), nil
}

func (h *handler) discover() []byte {
	return h.hello(`"resultType":"complete","supportedVersions":["` + era.ModernFirst + `"],"ttlMs":5000,"cacheScope":"private"`)
}

// hello returns what the gateway says of itself, after the given members.
func (h *handler) hello(members string) []byte {
	out := append([]byte("{"), members...)
	out = append(out, `,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"tenon","title":"Tenon","version":`...)
	out = jsonrpc.Quote(out, cmp.Or(h.o.Version, "0"))
	out = append(out, `},"instructions":`...)
	return append(jsonrpc.Quote(out, h.instructions()), '}')
}

// maxReason bounds what the instructions say of one failed server.
const maxReason = 200

// instructions tell a model what the pool is, and what of it is missing.
func (h *handler) instructions() string {
	var b strings.Builder
	b.WriteString("This is a pool of tool servers. Each tool is named server__tool. " +
		"When a call fails, its text says what to do next.")
	for _, st := range h.gw.Status() {
		if st.State != tool.StateFailed {
			continue
		}
		reason := []rune(st.Reason)
		b.WriteString("\nServer " + st.Name + " is not available: " + string(reason[:min(len(reason), maxReason)]))
	}
	return b.String()
}
