package offer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// NamesResources reports whether a result may have content with addresses in it. It looks
// over the edges of pieces too.
func NamesResources(result tool.Bytes) bool {
	const n = len(mark)
	var buf [2 * n]byte
	edge := 0 // how many bytes of buf are the last ones before the piece
	for _, p := range result {
		over := buf[:edge+copy(buf[edge:edge+n], p)]
		if marked(over) || marked(p) {
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

// What tells that a result may have content with addresses.
const (
	mark   = `"resource` // begins the types of such content
	escape = `\u00`      // begins an escaped letter of one, and then comes 6 or 7
)

// marked reports whether a text may have a type of content with addresses. A quote within
// a text has a backslash before it, and one that begins a text never has.
func marked(p []byte) bool {
	for at := 0; ; at += len(mark) {
		i := bytes.Index(p[at:], []byte(mark))
		if i < 0 {
			break
		}
		if at += i; at > 0 && p[at-1] != '\\' {
			return true
		}
	}
	for at := 0; ; {
		i := bytes.Index(p[at:], []byte(escape))
		if i < 0 {
			return false
		}
		if at += i + len(escape); at < len(p) && (p[at] == '6' || p[at] == '7') {
			return true
		}
	}
}

// Readdress returns a result of a server in which its resources have the addresses under
// which the pool finds them: one that is another server's there says whose it is, and so does
// one that says a server by itself. list names the member with blocks of content, or the one
// with messages that have one each. lists returns what all servers have, and is asked once
// at most; it is nil where there is no other server. A result of which two readers could
// find another address is an error.
func Readdress(result tool.Bytes, list, server string, lists func() (resources, templates *All)) (tool.Bytes, error) {
	r := &readdress{server: server, lists: lists}
	var blocks []json.RawMessage
	if json.Unmarshal(r.member(result, list).Join(), &blocks) != nil {
		return result, r.err
	}
	changed := false
	for i, block := range blocks {
		edited, ok := r.block(block)
		if list == "messages" {
			edited, ok = r.within(block, "content", r.block)
		}
		if ok {
			blocks[i], changed = edited, true
		}
	}
	if !changed || r.err != nil {
		return result, r.err
	}
	out, err := jsonrpc.Edit(result.Join(), jsonrpc.Field{Key: list, Value: jsonrpc.Array(blocks)})
	return tool.OneOf(out), err
}

// A readdress changes addresses that one server has given.
type readdress struct {
	server               string
	lists                func() (resources, templates *All)
	resources, templates *All
	err                  error // the first of what can be read in two ways
}

// member returns the value of a member, or nothing where there is none.
func (r *readdress) member(obj tool.Bytes, key string) tool.Bytes {
	var span [1]jsonrpc.Span
	if err := jsonrpc.OwnMembers(obj, []string{key}, span[:]); err != nil {
		r.err = cmp.Or(r.err, err)
		return nil
	}
	return span[0].In(obj)
}

// block changes a block of content, and reports whether it did.
func (r *readdress) block(raw json.RawMessage) (json.RawMessage, bool) {
	switch kind, _ := jsonrpc.String(r.member(tool.OneOf(raw), "type").Join()); kind {
	case "resource_link":
		return r.address(raw)
	case "resource":
		return r.within(raw, "resource", r.address)
	}
	return nil, false
}

// within changes the value of a member.
func (r *readdress) within(raw json.RawMessage, key string, change func(json.RawMessage) (json.RawMessage, bool)) (json.RawMessage, bool) {
	value := r.member(tool.OneOf(raw), key).Join()
	if len(value) == 0 {
		return nil, false
	}
	changed, ok := change(value)
	if !ok {
		return nil, false
	}
	return r.edit(raw, key, changed)
}

// address changes the address of an object, where it is another server's in the pool.
func (r *readdress) address(raw json.RawMessage) (json.RawMessage, bool) {
	uri, ok := jsonrpc.String(r.member(tool.OneOf(raw), "uri").Join())
	if !ok || !r.isOthers(uri) {
		return nil, false
	}
	return r.edit(raw, "uri", jsonrpc.Quote(nil, Wrap(r.server, uri)))
}

func (r *readdress) edit(raw json.RawMessage, key string, value []byte) (json.RawMessage, bool) {
	out, err := jsonrpc.Edit(raw, jsonrpc.Field{Key: key, Value: value})
	r.err = cmp.Or(r.err, err)
	return out, err == nil
}

// isOthers reports whether the pool finds an address at another server, or could.
func (r *readdress) isOthers(uri string) bool {
	switch {
	case IsWrapped(uri):
		return true
	case r.lists == nil:
		return false
	case r.resources == nil:
		r.resources, r.templates = r.lists()
	}
	at, ok := r.resources.Find(uri)
	if !ok && !isWeb(uri) {
		at, ok = r.templates.Match(uri)
	}
	return ok && at.Server != r.server
}

// isWeb reports whether an address is one that a client opens itself.
func isWeb(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}
