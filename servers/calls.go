package servers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// safeCalls stands before every tool of every bundled server.
//
// Models write null for an argument that they do not want to give, where a
// schema says only what type the argument has: null is taken as left out.
//
// A panic in a tool is a fault of Tenon, but it must cost one call and not the
// server with all calls that run beside it.
func safeCalls(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		call, ok := req.(*mcp.CallToolRequest)
		if !ok || call.Params == nil {
			return next(ctx, method, req)
		}
		defer func() {
			if p := recover(); p != nil {
				failed := &mcp.CallToolResult{}
				failed.SetError(fmt.Errorf("the tool %s failed by a fault of its own (%v). Try other arguments, or another tool", call.Params.Name, p))
				res, err = failed, nil
			}
		}()
		call.Params.Arguments = withoutNulls(call.Params.Arguments)
		return next(ctx, method, req)
	}
}

// withoutNulls returns the object without its members that are null. What is no
// object is returned as it is: the tool says what is wrong with it.
func withoutNulls(arguments json.RawMessage) json.RawMessage {
	if !bytes.Contains(arguments, []byte("null")) {
		return arguments
	}
	if string(bytes.TrimSpace(arguments)) == "null" {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(arguments, &members) != nil {
		return arguments
	}
	for name, value := range members {
		if string(value) == "null" {
			delete(members, name)
		}
	}
	out, err := json.Marshal(members)
	if err != nil {
		return arguments
	}
	return out
}
