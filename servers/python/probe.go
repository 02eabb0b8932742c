package python

import (
	"context"
	"errors"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/internal/sandbox/docker"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks what sandboxes are made by: E2B whether it takes the key, and the engine of
// containers for its version. The back ends of this machine ask nobody.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	s := setting{o, getenv, nil}
	switch o.Backend {
	case "e2b":
		if b, err := s.e2b(); err == nil { // else the server is not made either, and says why
			return probe.All(ctx, b.Probe())
		}
	case "docker":
		b, err := newDocker(s)
		if err != nil {
			return nil
		}
		return probe.All(ctx, probe.Ask{Service: "container engine", Do: func(ctx context.Context) (string, error) {
			defer func() { _ = b.Close() }() // it has made nothing
			d, ok := b.(*docker.Backend)
			if !ok {
				return "", nil
			}
			version, err := d.Reach(ctx)
			if err != nil && ctx.Err() == nil && !errors.Is(err, dockerhost.ErrUnreachable) {
				err = &probe.FaultError{State: tool.ProbeUnreachable, Text: err.Error()}
			}
			return version, err
		}})
	}
	return nil
}
