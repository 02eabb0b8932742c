package audio

import (
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Build is New with an environment, 60 times shorter pieces, and hardly any wait before a
// model is asked again.
func Build(o Options, env map[string]string) (*mcp.Server, error) {
	s, err := build(o, func(name string) string { return env[name] }, []time.Duration{time.Millisecond, time.Millisecond})
	if err != nil {
		return nil, err
	}
	s.most = lengths{usual.whole / 60, usual.piece / 60, usual.heard / 60}
	return s.mcp(), nil
}
