package servers

import "github.com/modelcontextprotocol/go-sdk/mcp"

// SafeCalls is the middleware before every tool.
func SafeCalls(next mcp.MethodHandler) mcp.MethodHandler { return safeCalls(next) }
