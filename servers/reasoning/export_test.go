package reasoning

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Build is New with an environment, and hardly any wait before a model is asked again.
// It returns how often that would be.
func Build(o Options, env map[string]string) (*mcp.Server, int, error) {
	s, err := build(o, func(name string) string { return env[name] })
	if err != nil {
		return nil, 0, err
	}
	again := 0
	if s.thinker != nil {
		again = len(s.thinker.Waits)
		s.thinker.Waits = []time.Duration{time.Millisecond, time.Millisecond}
	}
	return s.mcp(), again, nil
}
