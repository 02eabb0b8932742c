package era

import (
	"encoding/json"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Hints say how long a client of the modern era may keep a result, and whether it may
// show it to anybody. The zero value is for what says nothing: it is stale at once, and
// for who asked alone.
type Hints struct {
	TTL    int64 // milliseconds
	Public bool
}

// hintKeys are the members of a result that hold them.
var hintKeys = []string{"ttlMs", "cacheScope"}

// HintsOf returns the hints of a result.
func HintsOf(result tool.Bytes) (h Hints) {
	var spans [2]jsonrpc.Span
	if jsonrpc.Members(result, hintKeys, spans[:]) != nil {
		return Hints{}
	}
	if json.Unmarshal(spans[0].In(result).Join(), &h.TTL) != nil || h.TTL < 0 {
		h.TTL = 0
	}
	scope, _ := jsonrpc.String(spans[1].In(result).Join())
	h.Public = scope == "public"
	return h
}

// And returns the hints of a result that is made of two.
func (h Hints) And(o Hints) Hints {
	return Hints{min(h.TTL, o.TTL), h.Public && o.Public}
}

// Fields are the hints as members of a result.
func (h Hints) Fields() []jsonrpc.Field {
	scope := `"private"`
	if h.Public {
		scope = `"public"`
	}
	return []jsonrpc.Field{
		{Key: hintKeys[0], Value: strconv.AppendInt(nil, h.TTL, 10)},
		{Key: hintKeys[1], Value: []byte(scope)},
	}
}

// Private returns a result that may be shown to who asked alone. It copies nothing of a
// long one.
func Private(result tool.Bytes) tool.Bytes {
	var spans [2]jsonrpc.Span
	if jsonrpc.Members(result, hintKeys, spans[:]) != nil || !spans[1].Found() {
		return result
	}
	if scope, _ := jsonrpc.String(spans[1].In(result).Join()); scope == "private" {
		return result
	}
	out := append(tool.Bytes{}, result.Slice(0, spans[1].Start)...)
	out = append(out, []byte(`"private"`))
	return append(out, result.Slice(spans[1].End, result.Len())...)
}
