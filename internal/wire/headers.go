package wire

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Headers of streamable HTTP.
const (
	HeaderSession = "Mcp-Session-Id"
	HeaderVersion = "Mcp-Protocol-Version"
	HeaderMethod  = "Mcp-Method"
	HeaderName    = "Mcp-Name"

	headerLastEvent = "Last-Event-Id"
)

const (
	base64Prefix = "=?base64?"
	base64Suffix = "?="
)

// EncodeHeader returns s as MCP writes it into the Mcp-Name and Mcp-Param-
// headers (SEP-2243): as it is where it is plain ASCII, else in base64 between
// =?base64? and ?=.
func EncodeHeader(s string) string {
	if plainHeader(s) {
		return s
	}
	return base64Prefix + base64.StdEncoding.EncodeToString([]byte(s)) + base64Suffix
}

// DecodeHeader undoes EncodeHeader. It reports false where the base64 is broken.
func DecodeHeader(s string) (string, bool) {
	inner, ok := strings.CutPrefix(s, base64Prefix)
	if !ok {
		return s, true
	}
	if inner, ok = strings.CutSuffix(inner, base64Suffix); !ok {
		return s, true
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	return string(b), err == nil
}

func plainHeader(s string) bool {
	if s == "" {
		return true
	}
	// HTTP trims what stands at the ends of a value.
	if s[0] == ' ' || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return !strings.HasPrefix(s, base64Prefix) || !strings.HasSuffix(s, base64Suffix)
}

// nameMember returns the member of a request's params that Mcp-Name repeats, or
// "" where the method has none.
func nameMember(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}

// nameOf returns the value for the Mcp-Name header of a request.
func nameOf(r *Request) (string, bool) {
	member := nameMember(r.Method)
	if member == "" {
		return "", false
	}
	for _, f := range r.Set {
		if f.Key == member {
			return jsonrpc.String(f.Value)
		}
	}
	if len(r.Params) == 0 {
		return "", false
	}
	var span [1]jsonrpc.Span
	text := tool.OneOf(r.Params)
	if jsonrpc.Members(text, []string{member}, span[:]) != nil {
		return "", false
	}
	return jsonrpc.String(span[0].In(text).Join())
}

// visibleASCII reports whether s can be a session id in a header.
func visibleASCII(s string) bool {
	if len(s) > maxHeaderValue {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return s != ""
}

// maxHeaderValue bounds what a server can make this side send back in a header.
const maxHeaderValue = 4 << 10

// mediaType returns the value of Content-Type without its parameters, in lower
// case.
func mediaType(h http.Header) string {
	v := h.Get("Content-Type")
	if i := strings.IndexByte(v, ';'); i >= 0 {
		v = v[:i]
	}
	return strings.ToLower(strings.TrimSpace(v))
}
