package docker

import (
	"context"
	"fmt"

	"github.com/moby/moby/client"
)

// Reach asks the engine for its version, and makes nothing.
func (b *Backend) Reach(ctx context.Context) (string, error) {
	e, err := b.find(ctx)
	if err != nil {
		return "", err
	}
	if _, err := e.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return "", unavailable(ctx, e.host.Explain(ctx, err))
	}
	v, err := e.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", unavailable(ctx, e.host.Explain(ctx, err))
	}
	return fmt.Sprintf("version %s at %s", v.Version, e.host), nil
}
