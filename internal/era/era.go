// Package era knows the two eras of the Model Context Protocol, and translates
// between them for one hop. The legacy era (2024-11-05 to 2025-11-25) opens a
// session with initialize; the modern one (2026-07-28) has no sessions and says
// everything with each request. A client and a server of different eras can so
// meet in the gateway.
//
// The package holds no state and does no I/O. It is not about transports: those
// are wire's.
package era

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// An Era is one of the two, or empty where it is not known yet.
type Era string

// The eras.
const (
	Unknown Era = ""
	Legacy  Era = "legacy"
	Modern  Era = "modern"
)

// Protocol versions.
const (
	LatestLegacy = "2025-11-25"
	ModernFirst  = "2026-07-28"
)

// legacyVersions are those that this side speaks as a server.
var legacyVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", LatestLegacy}

// Keys of the _meta object of a modern request.
const (
	MetaVersion      = "io.modelcontextprotocol/protocolVersion"
	MetaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaClientInfo   = "io.modelcontextprotocol/clientInfo"
	MetaLogLevel     = "io.modelcontextprotocol/logLevel"
	MetaServerInfo   = "io.modelcontextprotocol/serverInfo"
	MetaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Of returns the era of a protocol version. Versions are dates, so they compare
// as text.
func Of(version string) Era {
	if len(version) == len(ModernFirst) && version >= ModernFirst {
		return Modern
	}
	return Legacy
}

// RequestMeta is what a request says of itself in its _meta.
type RequestMeta struct {
	Version      string // empty for a legacy request
	Capabilities []byte // nil where they are not there, or no object
	ClientInfo   []byte
	LogLevel     string
}

var metaKeys = []string{MetaVersion, MetaCapabilities, MetaClientInfo, MetaLogLevel}

// MetaOf reads the _meta of the params of a request; what is not there or not
// readable is empty.
func MetaOf(params tool.Bytes) (m RequestMeta) {
	var meta [1]jsonrpc.Span
	if len(params) == 0 || jsonrpc.Members(params, metaKey, meta[:]) != nil || !meta[0].Found() {
		return m
	}
	body := meta[0].In(params)
	var spans [4]jsonrpc.Span
	if jsonrpc.Members(body, metaKeys, spans[:]) != nil {
		return m
	}
	m.Version, _ = jsonrpc.String(spans[0].In(body).Join())
	if capabilities := spans[1].In(body).Join(); len(capabilities) > 0 && capabilities[0] == '{' {
		m.Capabilities = capabilities
	}
	m.ClientInfo = spans[2].In(body).Join()
	m.LogLevel, _ = jsonrpc.String(spans[3].In(body).Join())
	return m
}

// Known reports whether version is one of the legacy era.
func Known(version string) bool { return slices.Contains(legacyVersions, version) }

// Stripped returns the params of a modern request without what that era alone says in
// them, for a legacy server, which may refuse a version that it did not agree to.
func Stripped(params []byte) []byte {
	b := tool.OneOf(params)
	var at [1]jsonrpc.Span
	if len(params) == 0 || jsonrpc.Members(b, metaKey, at[:]) != nil || !at[0].Found() {
		return params
	}
	var spans [4]jsonrpc.Span
	if jsonrpc.Members(at[0].In(b), metaKeys, spans[:]) != nil {
		return params
	}
	out := slices.Clone(params)
	for range spans { // the last one first, so that the places of the others stay
		last := -1
		for i := range spans {
			if spans[i].Found() && (last < 0 || spans[i].Start > spans[last].Start) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		out = cut(out, metaKeys[last], at[0].Start+spans[last].Start, at[0].Start+spans[last].End)
		spans[last] = jsonrpc.Span{}
	}
	return out
}

var metaKey = []string{"_meta"}

// cut takes the member with that key out of an object, whose value is text[from:to]. A
// key that is written with escapes stays, and its value with it.
func cut(text []byte, key string, from, to int) []byte {
	from = len(bytes.TrimRight(text[:from], " \t\r\n:"))
	begin := from - len(key) - 2
	if begin < 0 || string(text[begin+1:from-1]) != key {
		return text
	}
	rest := bytes.TrimLeft(text[to:], " \t\r\n")
	if rest[0] == ',' {
		return slices.Delete(text, begin, len(text)-len(rest)+1)
	}
	if before := bytes.TrimRight(text[:begin], " \t\r\n"); before[len(before)-1] == ',' {
		begin = len(before) - 1
	}
	return slices.Delete(text, begin, to)
}

// Negotiate returns the version to answer a legacy initialize with: the one that
// the client asked for where this side speaks it, else the latest.
func Negotiate(requested string) string {
	if slices.Contains(legacyVersions, requested) {
		return requested
	}
	return LatestLegacy
}

// ClientMeta returns the members of _meta that every modern request must have,
// from a client that offers nothing.
func ClientMeta(name, version string) []jsonrpc.Field {
	info := jsonrpc.Quote([]byte(`{"name":`), name)
	info = append(jsonrpc.Quote(append(info, `,"version":`...), version), '}')
	return []jsonrpc.Field{
		{Key: MetaVersion, Value: []byte(`"` + ModernFirst + `"`)},
		{Key: MetaClientInfo, Value: info},
		{Key: MetaCapabilities, Value: []byte("{}")},
	}
}

// Complete makes the result of a legacy server a modern one, by the resultType
// that it lacks. It copies nothing of a long result.
func Complete(result tool.Bytes) tool.Bytes {
	var spans [1]jsonrpc.Span
	if jsonrpc.Members(result, []string{"resultType"}, spans[:]) != nil || spans[0].Found() {
		return result
	}
	return jsonrpc.Prepend(result, jsonrpc.Field{Key: "resultType", Value: []byte(`"complete"`)})
}

// Supports reports whether the result of server/discover offers the modern version.
func Supports(discover []byte) bool {
	var d struct {
		Versions []string `json:"supportedVersions"`
	}
	return json.Unmarshal(discover, &d) == nil && slices.Contains(d.Versions, ModernFirst)
}

// offered are the versions that a server says it speaks, in the error that refuses one.
func offered(e *jsonrpc.Error) []string {
	var d struct {
		Supported []string `json:"supported"`
	}
	if e.Code != jsonrpc.CodeUnsupportedVersion || json.Unmarshal(e.Data, &d) != nil {
		return nil
	}
	return d.Supported
}

// Offers reports whether an error that refuses a version offers the modern one.
func Offers(e *jsonrpc.Error) bool { return slices.Contains(offered(e), ModernFirst) }

// OffersLegacy reports whether an error that refuses a version offers none but those of
// the legacy era.
func OffersLegacy(e *jsonrpc.Error) bool {
	return !Offers(e) && slices.ContainsFunc(offered(e), Known)
}

// IsModernError reports whether an error could only come from a modern server.
func IsModernError(e *jsonrpc.Error) bool {
	return e.Code == jsonrpc.CodeHeaderMismatch || e.Code == jsonrpc.CodeMissingCapability || e.Code == jsonrpc.CodeUnsupportedVersion
}

// Cacheable gives the result of a legacy server the hints that the modern era demands
// where a client may keep it: not at all.
func Cacheable(result tool.Bytes) tool.Bytes {
	var spans [3]jsonrpc.Span
	if jsonrpc.Members(result, []string{"ttlMs", "cacheScope", "inputRequests"}, spans[:]) != nil || spans[2].Found() {
		return result
	}
	var fields []jsonrpc.Field
	if !spans[0].Found() {
		fields = append(fields, jsonrpc.Field{Key: "ttlMs", Value: []byte("0")})
	}
	if !spans[1].Found() {
		fields = append(fields, jsonrpc.Field{Key: "cacheScope", Value: []byte(`"private"`)})
	}
	if fields == nil {
		return result
	}
	return jsonrpc.Prepend(result, fields...)
}

// about are the members that the answers to initialize and to server/discover have in
// common, after head and a word on what the two eras do not share. Where a modern server says its name in _meta alone, it is taken from there.
func about(raw []byte, head, bridge string) []byte {
	b := tool.OneOf(raw)
	keys := []string{"capabilities", "serverInfo", "instructions", "_meta"}
	var spans [4]jsonrpc.Span
	out := append(append([]byte("{"), head...), `,"_meta":{"tenon/bridge":`...)
	out = append(jsonrpc.Quote(out, bridge), '}')
	if jsonrpc.Members(b, keys, spans[:]) != nil {
		return append(out, '}')
	}
	info := spans[1].In(b).Join()
	if meta := spans[3].In(b); len(info) == 0 && spans[3].Found() {
		var span [1]jsonrpc.Span
		if jsonrpc.Members(meta, []string{MetaServerInfo}, span[:]) == nil {
			info = span[0].In(meta).Join()
		}
	}
	for i, value := range [][]byte{theirTasks(spans[0].In(b).Join()), info, spans[2].In(b).Join()} {
		if len(value) > 0 {
			out = append(jsonrpc.Quote(append(out, ','), keys[i]), ':')
			out = append(out, value...)
		}
	}
	return append(out, '}')
}

// Initialized makes the answer to initialize from that to server/discover. bridge is what
// legacy clients do not have as modern ones do.
func Initialized(discover []byte, version, bridge string) []byte {
	return about(discover, `"protocolVersion":"`+version+`"`, "The server speaks MCP "+ModernFirst+" only: "+bridge)
}

// Discovered makes the answer to server/discover from that to initialize. bridge is what
// modern clients do not have as legacy ones do.
func Discovered(initialize []byte, bridge string) []byte {
	return about(initialize, `"resultType":"complete","supportedVersions":["`+ModernFirst+`"],"ttlMs":0,"cacheScope":"private"`,
		"The server speaks MCP up to "+LatestLegacy+" only: "+bridge)
}
