package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// An engine makes containers.
type engine struct {
	*client.Client
	host dockerhost.Host
}

// failed returns an error of the engine as one that says what to do.
func (e *engine) failed(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errLate) {
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("the container engine at %s has not answered in time, while it was to %s. Try again; if that does not help, a person looks at it", e.host, doing)}
	}
	if explained := e.host.Explain(ctx, err); errors.Is(explained, dockerhost.ErrUnreachable) {
		return unavailable(ctx, explained)
	}
	text := line(strings.TrimPrefix(err.Error(), "Error response from daemon: "), 400)
	return &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("the container engine at %s could not %s: %s", e.host, doing, text)}
}

// CheckImage says what is wrong with the name of an image.
func CheckImage(name string) error {
	if name == "" {
		return nil
	}
	if len(name) > 400 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.ContainsAny(name[:1], "-./:@") {
		return fmt.Errorf("%q is no name of an image, such as python:3-slim", line(name, 60))
	}
	return nil
}

var errLate = errors.New("the engine takes too long")

// within bounds what is asked of an engine.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, errLate)
}

// line is a foreign text in one line.
func line(s string, most int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, s)
}

// image sees that an image is there, and can be used.
func (e *engine) image(ctx context.Context, name string, pull bool) error {
	ask, cancel := within(ctx, askLimit)
	defer cancel()
	about, err := e.ImageInspect(ask, name)
	if errdefs.IsNotFound(err) {
		if !pull {
			return &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("the container engine at %s has no image %s, which sandboxes are made of. "+
				"The operator fetches it with: docker pull %s; or sets the option docker_pull, so that the engine does it at the first use, or docker_image to another image with Python 3.8 or newer", e.host, name, name)}
		}
		if err := e.pull(ctx, name); err != nil {
			return err
		}
		again, cancel := within(ctx, askLimit)
		defer cancel()
		about, err = e.ImageInspect(again, name)
		ask = again
	}
	if err != nil {
		return e.failed(ask, "look for the image "+name, err)
	}
	if about.Os != "" && about.Os != "linux" {
		return &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("the image %s is for %s; sandboxes need one for linux", name, line(about.Os, 20))}
	}
	if about.Config != nil && len(about.Config.Volumes) > 0 {
		return &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("the image %s declares volumes, whose space on the disk nobody bounds: set docker_image to one without", name)}
	}
	return nil
}

// remove ends a container, and waits until the engine has done so. One that has gone is
// no error.
func (e *engine) remove(ctx context.Context, id string) error {
	_, err := e.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || errdefs.IsNotFound(err) {
		return nil
	}
	// The engine removes it by itself as well.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for tries := 0; errdefs.IsConflict(err) && tries < 500; tries++ {
		if _, gone := e.ContainerInspect(ctx, id, client.ContainerInspectOptions{}); errdefs.IsNotFound(gone) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}
