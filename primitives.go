package tenon

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/relay"
	"github.com/tenon-mcp/tenon/tool"
)

// fromPool answers a request to all servers.
func (s *Session) fromPool(ctx context.Context, sees *scoped, r relay.Request) (tool.Bytes, error) {
	return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method %q is not supported", r.Method)
}
