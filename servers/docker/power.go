package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/client"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/typed"
)

const (
	powerChars = 1000
	powerLimit = 30 * time.Second // besides the time that the container gets
	usualGrace = 10               // what engines give where nobody says otherwise
	maxGrace   = 60
)

type powerInput struct {
	Name     string `json:"name" jsonschema:"name or id of the container, as docker_ps lists it"`
	GraceSec *int   `json:"grace_sec,omitempty" jsonschema:"seconds that its program gets to end by itself before it is killed, 1 to 60; left out: what the container is set to, else 10. Starting takes none"`
}

func (in powerInput) about() string { return in.Name }

func (in powerInput) check() error {
	if in.GraceSec != nil && (*in.GraceSec < 1 || *in.GraceSec > maxGrace) {
		return errors.New("grace_sec must be between 1 and 60; nothing was changed. Left out, it is what the container is set to, else 10")
	}
	return checkName(in.Name)
}

func (in powerInput) grace() int {
	if in.GraceSec == nil {
		return usualGrace
	}
	return *in.GraceSec
}

type powerOutput struct {
	Container string  `json:"container" jsonschema:"name of the container"`
	Before    string  `json:"before" jsonschema:"its state before"`
	After     string  `json:"after" jsonschema:"its state now"`
	TookSec   float64 `json:"took_sec" jsonschema:"how long it took"`
}

func (s *server) addPower(srv *mcp.Server) {
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_restart", Title: "Restart container",
		Description: "Restarts a container: its program is asked to end, killed when the time is over, and started again. What it did not store is lost, and who uses it is cut off. Switched off unless the operator allows it, and subject to approval. Look at docker_logs and docker_inspect first: a restart hides why something failed.",
	}, limit: powerLimit, changes: true}, power("Restarted", func(ctx context.Context, e *engine, id string, in powerInput) error {
		_, err := e.ContainerRestart(ctx, id, client.ContainerRestartOptions{Timeout: in.GraceSec})
		return err
	}))
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_start", Title: "Start container",
		Description: "Starts a container that does not run, as it is set up. Does nothing to one that runs. Switched off unless the operator allows it, and subject to approval.",
	}, limit: powerLimit, changes: true, idempotent: true}, power("Started", func(ctx context.Context, e *engine, id string, _ powerInput) error {
		_, err := e.ContainerStart(ctx, id, client.ContainerStartOptions{})
		return err
	}))
	add(srv, s, spec{Spec: typed.Spec{
		Name: "docker_stop", Title: "Stop container",
		Description: "Stops a container: its program is asked to end, and killed when the time is over. It stays stopped until somebody starts it, and who uses it is cut off. Does nothing to one that does not run. Switched off unless the operator allows it, and subject to approval.",
	}, limit: powerLimit, changes: true, idempotent: true}, power("Stopped", func(ctx context.Context, e *engine, id string, in powerInput) error {
		_, err := e.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: in.GraceSec})
		return err
	}))
}

// power makes the answer of a tool that changes whether a container runs. What is
// asked for by name is done to the id that the name had, once.
func power(done string, do func(context.Context, *engine, string, powerInput) error) func(context.Context, *engine, powerInput) (string, powerOutput, error) {
	return func(ctx context.Context, e *engine, in powerInput) (string, powerOutput, error) {
		before, err := e.ContainerInspect(ctx, in.Name, client.ContainerInspectOptions{})
		if err != nil {
			return "", powerOutput{}, err
		}
		out := powerOutput{Container: answer.Line(strings.TrimPrefix(before.Container.Name, "/"), 128), Before: stateWord(before.Container.State)}
		start := time.Now()
		if err := do(ctx, e, before.Container.ID, in); err != nil {
			return "", out, err
		}
		out.TookSec = round(time.Since(start).Seconds())
		after, err := e.ContainerInspect(ctx, before.Container.ID, client.ContainerInspectOptions{})
		if err != nil {
			return "", out, fmt.Errorf("%s was done to %s, but what came of it is not known: %w", strings.ToLower(done), out.Container, err)
		}
		out.After = stateWord(after.Container.State)
		return fmt.Sprintf("%s %s in %.1f s. Before: %s; now: %s. docker_logs tells how it goes on.", done, out.Container, out.TookSec, out.Before, out.After), out, nil
	}
}
