package offer

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// mark begins the types of content that hold the address of a resource.
const mark = `"resource`

// NamesResources reports whether a result may have content with addresses in it. It looks
// over the edges of pieces too.
func NamesResources(result tool.Bytes) bool {
	const n = len(mark) - 1
	var buf [2 * n]byte
	edge := 0 // how many bytes of buf are the last ones before the piece
	for _, p := range result {
		over := buf[:edge+copy(buf[edge:edge+n], p)]
		if bytes.Contains(over, []byte(mark)) || bytes.Contains(p, []byte(mark)) {
			return true
		}
		if last := p[max(0, len(p)-n):]; len(last) == n {
			edge = copy(buf[:], last)
		} else {
			edge = copy(buf[:], over[max(0, len(over)-n):])
		}
	}
	return false
}

// Readdress returns a result of a server in which its resources have the addresses under
// which the pool finds them: one that is another server's there says whose it is. list
// names the member with blocks of content, or the one with messages that have one each.
// lists returns what all servers have, and is asked once at most.
func Readdress(result tool.Bytes, list, server string, lists func() (resources, templates *All)) tool.Bytes {
	var span [1]jsonrpc.Span
	var blocks []json.RawMessage
	if jsonrpc.OwnMembers(result, []string{list}, span[:]) != nil || json.Unmarshal(span[0].In(result).Join(), &blocks) != nil {
		return result
	}
	r := &readdress{server: server, lists: lists}
	changed := false
	for i, block := range blocks {
		edited, ok := r.block(block)
		if list == "messages" {
			edited, ok = within(block, "content", r.block)
		}
		if ok {
			blocks[i], changed = edited, true
		}
	}
	if !changed {
		return result
	}
	out, err := jsonrpc.Edit(result.Join(), jsonrpc.Field{Key: list, Value: jsonrpc.Array(blocks)})
	if err != nil {
		return result
	}
	return tool.OneOf(out)
}

// A readdress changes addresses that one server has given.
type readdress struct {
	server               string
	lists                func() (resources, templates *All)
	resources, templates *All
}

// block changes a block of content, and reports whether it did.
func (r *readdress) block(raw json.RawMessage) (json.RawMessage, bool) {
	switch kind, _ := keyOf(raw, "type"); kind {
	case "resource_link":
		return r.address(raw)
	case "resource":
		return within(raw, "resource", r.address)
	}
	return nil, false
}

// within changes the value of a member.
func within(raw json.RawMessage, key string, change func(json.RawMessage) (json.RawMessage, bool)) (json.RawMessage, bool) {
	var span [1]jsonrpc.Span
	b := tool.OneOf(raw)
	if jsonrpc.OwnMembers(b, []string{key}, span[:]) != nil || !span[0].Found() {
		return nil, false
	}
	changed, ok := change(span[0].In(b).Join())
	if !ok {
		return nil, false
	}
	out, err := jsonrpc.Edit(raw, jsonrpc.Field{Key: key, Value: changed})
	return out, err == nil
}

// address changes the address of an object, where it is another server's in the pool.
func (r *readdress) address(raw json.RawMessage) (json.RawMessage, bool) {
	uri, ok := keyOf(raw, "uri")
	if !ok {
		return nil, false
	}
	if r.resources == nil {
		r.resources, r.templates = r.lists()
	}
	at, ok := r.resources.Find(uri)
	if !ok && !isWeb(uri) {
		at, ok = r.templates.Match(uri)
	}
	if !ok || at.Server == r.server {
		return nil, false
	}
	out, err := jsonrpc.Edit(raw, jsonrpc.Field{Key: "uri", Value: jsonrpc.Quote(nil, Wrap(r.server, uri))})
	return out, err == nil
}

// isWeb reports whether an address is one that a client opens itself.
func isWeb(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}
