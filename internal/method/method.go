// Package method knows the requests of MCP by their names and looks a request over that
// a gateway carries to a server: what the gateway decides about it and what the server
// reads must be the same.
//
//	method.Check("tasks/get", []byte(`{"taskId":"a","taskId":"b"}`)) // which of the two?
//	method.Check("Tools/Call", nil)                                  // for a lax server a call
//	method.Defined("x/wipe")                                         // false: nobody knows what it does
//
// Sources: the method tables of the MCP schemas 2025-11-25 and 2026-07-28.
package method

import (
	"errors"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// defined are the requests of clients.
var defined = []string{
	"initialize", "ping", "server/discover",
	"tools/list", "tools/call",
	"prompts/list", "prompts/get",
	"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
	"subscriptions/listen", "completion/complete", "logging/setLevel",
	"tasks/get", "tasks/list", "tasks/result", "tasks/cancel", "tasks/update",
}

// Defined reports whether MCP says what a method does. Every notification counts as such:
// it asks for nothing.
func Defined(method string) bool {
	return slices.Contains(defined, method) || strings.HasPrefix(method, "notifications/")
}

// deciding are the members of params by which it is decided where a request goes, and
// referring those of the object that ref is.
var (
	deciding  = []string{"taskId", "name", "uri", "level", "ref", "task"}
	referring = []string{"type", "name", "uri"}
)

// Check returns why a request or a notification may not be carried to a server, as the
// error to answer with, or nil:
//
//   - the method is no plain name, or one that MCP defines but for its case: a lax server
//     would take it for that one;
//   - a member by which a request of MCP is routed is there twice, or but for its case: two
//     readers could take another one;
//   - it is about a task and does not say which.
func Check(method string, params []byte) *jsonrpc.Error {
	if i := slices.IndexFunc(defined, func(known string) bool { return strings.EqualFold(known, method) }); i >= 0 && defined[i] != method {
		return jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "there is no method %q; there is %q", method, defined[i])
	}
	if i := strings.IndexFunc(method, func(r rune) bool { return r <= ' ' || r >= 0x7f }); i >= 0 || method == "" {
		return jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "%.100q is no name of a method: it has letters of ASCII, digits and marks", method)
	}
	ofTask := strings.HasPrefix(method, "tasks/") && method != "tasks/list"
	if !ofTask && (!slices.Contains(defined, method) || len(params) == 0) {
		return nil
	}
	found, err := members(params, deciding)
	if err == nil && found["ref"] != nil {
		_, err = members(found["ref"], referring)
	}
	if id, ok := jsonrpc.String(found["taskId"]); err == nil && ofTask && (!ok || id == "") {
		err = errors.New("taskId, the text that names the task, is missing")
	}
	if err != nil {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params of %s: %v", method, err)
	}
	return nil
}

// members returns what an object has under these keys.
func members(object []byte, keys []string) (map[string][]byte, error) {
	b := tool.OneOf(object)
	spans := make([]jsonrpc.Span, len(keys))
	if err := jsonrpc.OwnMembers(b, keys, spans); err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for i, key := range keys {
		found[key] = spans[i].In(b).Join()
	}
	return found, nil
}
