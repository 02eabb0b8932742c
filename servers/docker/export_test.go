package docker

import (
	"github.com/moby/moby/api/types/container"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewEnv returns the server with another environment.
func NewEnv(o Options, getenv func(string) string) (*mcp.Server, error) { return NewIn(o, getenv) }

// CPU returns the share of a processor that two samples tell.
func CPU(r *container.StatsResponse) float64 {
	share, _ := cpu(r)
	return share
}

// Memory returns the memory in use, and the cache.
func Memory(m *container.MemoryStats) (used, cache uint64) { return memory(m) }
