package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks the engine for its version.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	find := dockerhost.Options{Host: o.Host, Context: o.Context, TLS: o.TLS, CertPath: o.CertPath, Getenv: getenv}
	return probe.All(ctx, probe.Ask{Service: "container engine", Do: func(ctx context.Context) (string, error) {
		host, err := dockerhost.Find(ctx, find)
		if err != nil {
			return "", err
		}
		e := &engine{host: host}
		if err := e.open(); err != nil {
			return "", err
		}
		defer e.base.CloseIdleConnections()
		_, err = e.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
		if err == nil {
			var v client.ServerVersionResult
			if v, err = e.ServerVersion(ctx, client.ServerVersionOptions{}); err == nil {
				return fmt.Sprintf("version %s at %s", v.Version, host), nil
			}
		}
		err = e.failed(ctx, err)
		if ctx.Err() == nil && !errors.Is(err, dockerhost.ErrUnreachable) {
			err = &probe.FaultError{State: tool.ProbeFailing, Text: err.Error()}
		}
		return "", err
	}})
}
