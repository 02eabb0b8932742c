package vision

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Build is New with an environment, and hardly any wait before a model is asked again.
func Build(o Options, env map[string]string) (*mcp.Server, error) {
	s, err := build(o, func(name string) string { return env[name] }, []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond})
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}
