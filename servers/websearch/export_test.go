package websearch

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// NewWith is NewIn with a guard in place of one made of the option allow.
func NewWith(o Options, getenv func(string) string, guard *egress.Guard) (*mcp.Server, error) {
	s, err := build(o, getenv, guard)
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}
