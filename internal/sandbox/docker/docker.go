// Package docker runs a model's code in containers of an engine that speaks Docker's
// API, on this machine or another one.
//
//	b := docker.New(docker.Options{Engine: dockerhost.Options{Getenv: os.Getenv}})
//	defer b.Close()
//	status, err := b.Check(ctx) // status.Level is "container"
//	box, err := b.Create(ctx, sandbox.Spec{})
//
// # How a sandbox is made
//
// It is a container of an image that has Python, and its first process is the program
// of internal/sandbox/inside, spoken to over the container's standard input and output.
// Its root is read-only; /home/user, /tmp and /dev/shm lie in memory and have a fixed
// size. It runs as user 1000 without any capability and can get none, behind a filter
// of system calls of our own that allows what is known to be of use and nothing else
// ([Profile]). It has no network, no volume and no folder of the host, its output goes
// into no log, and its memory, processes and files are bounded by the engine.
//
// Check makes one, and tries from inside what must not work. What works all the same
// (an engine that knows no seccomp, say) is an error: then nothing is run there.
//
// # The engine
//
// Whoever may use the engine's socket is root on its machine: so this back end asks of
// it only what is needed, never runs anything that a model has named, and gives the
// socket to no container.
//
// # The end
//
// The engine removes a container once its first process has ended, and that one ends
// when its input does, which is when the connection of Tenon breaks, or after minutes of
// silence. Containers that are left all the same bear the name of the Tenon that made
// them: the next one on this machine removes those of the dead (internal/alive).
package docker

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/inside"
	"github.com/tenon-mcp/tenon/internal/version"
)

// Options are the settings of the back end. The zero value takes the engine that the
// docker command would, but for its environment.
type Options struct {
	Engine dockerhost.Options
	// Image has Python 3.8 or newer and a shell; empty is DefaultImage.
	Image string
	// Pull has the engine fetch the image where it is not there.
	Pull bool
	// Dir is where the processes that make sandboxes know of each other; empty is a
	// folder in the cache of the user.
	Dir string
}

// DefaultImage is used where no other is named.
const DefaultImage = "docker.io/library/python:3-slim"

// Usual values.
const (
	startLimit = 30 * time.Second
	pullLimit  = 10 * time.Minute
	askLimit   = 15 * time.Second
)

// A Backend makes sandboxes in containers.
type Backend struct {
	o     Options
	maker maker

	checking chan struct{} // held by the one that checks
	checked  *sandbox.Status
	at       dockerhost.Host // the engine that was checked

	mu     sync.Mutex
	engine *engine
	boxes  map[*inside.Box]struct{}
	closed bool
	ends   sync.WaitGroup // of sandboxes
}

// New returns the back end. It asks no engine anything before the first Check or Create.
func New(o Options) *Backend {
	if o.Image == "" {
		o.Image = DefaultImage
	}
	return &Backend{o: o, maker: maker{dir: o.Dir}, checking: make(chan struct{}, 1), boxes: map[*inside.Box]struct{}{}}
}

// Name returns "docker".
func (b *Backend) Name() string { return "docker" }

// Check makes a sandbox and tries to get out of it.
func (b *Backend) Check(ctx context.Context) (sandbox.Status, error) {
	_, status, err := b.ready(ctx)
	if err != nil {
		status.Level = sandbox.LevelNone
	}
	return status, err
}

// ready returns the engine, once it was checked.
func (b *Backend) ready(ctx context.Context) (*engine, sandbox.Status, error) {
	select {
	case b.checking <- struct{}{}:
	case <-ctx.Done():
		return nil, sandbox.Status{}, ctx.Err()
	}
	defer func() { <-b.checking }()
	e, err := b.find(ctx)
	if err != nil {
		return nil, sandbox.Status{}, err
	}
	if b.checked != nil && b.at == e.host {
		return e, *b.checked, nil
	}
	status, err := b.check(ctx, e)
	if err != nil {
		return nil, sandbox.Status{}, err
	}
	b.checked, b.at = &status, e.host
	return e, status, nil
}

func (b *Backend) check(ctx context.Context, e *engine) (sandbox.Status, error) {
	notes := []string{"containers of the engine at " + e.host.Address + ", image " + b.o.Image}
	if err := e.image(ctx, b.o.Image, b.o.Pull); err != nil {
		return sandbox.Status{}, err
	}
	if err := b.maker.sweep(ctx, e); err != nil {
		notes = append(notes, "what a Tenon that has crashed left behind was not looked for: "+err.Error())
	}
	x, more, err := b.launch(ctx, e, sandbox.Spec{})
	if err != nil {
		return sandbox.Status{}, err
	}
	defer func() { _ = x.Kill(ctx) }() // what it was for is done
	found, err := spring(ctx, x)
	if err != nil {
		return sandbox.Status{}, err
	}
	if len(found.Leaks) > 0 {
		return sandbox.Status{}, &sandbox.Error{Kind: sandbox.Unavailable, Text: "the engine at " + e.host.Address + " does not keep code apart, so none is run. From inside this could be done: " +
			strings.Join(found.Leaks, "; ") + ". An operator looks at its settings, or takes another back end"}
	}
	notes = append(notes, more...)
	return sandbox.Status{Level: sandbox.LevelContainer, Python: x.Python(), Notes: append(notes, found.Notes...)}, nil
}

// Create makes a sandbox.
func (b *Backend) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	e, _, err := b.ready(ctx)
	if err != nil {
		return nil, err
	}
	x, _, err := b.launch(ctx, e, spec)
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Close ends all sandboxes.
func (b *Backend) Close() error {
	b.mu.Lock()
	b.closed = true
	all := slices.Collect(maps.Keys(b.boxes))
	e := b.engine
	b.engine = nil
	b.mu.Unlock()
	err := sandbox.EndAll(all, func(x *inside.Box) error { return x.End("the server was stopped") })
	b.ends.Wait()
	if e != nil {
		err = errors.Join(err, e.Close())
	}
	return errors.Join(err, b.maker.leave(err))
}

// find returns the engine, as it is named now.
func (b *Backend) find(ctx context.Context) (*engine, error) {
	host, err := dockerhost.Find(ctx, b.o.Engine)
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, &sandbox.Error{Kind: sandbox.Gone, Text: "the server is being stopped"}
	}
	if b.engine != nil && b.engine.host == host {
		return b.engine, nil
	}
	c, err := host.Client(client.WithUserAgent(version.Agent("python")))
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	b.engine = &engine{Client: c, host: host} // sandboxes keep the one that they were made by
	return b.engine, nil
}

// unavailable is an error of the engine as one that a model may read.
func unavailable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*sandbox.Error](err); ok {
		return e
	}
	return &sandbox.Error{Kind: sandbox.Unavailable, Text: optionNames.Replace(err.Error())}
}

// Named is an error of internal/dockerhost with the names of the options of the server
// that this back end is for.
func Named(err error) error { return errors.New(optionNames.Replace(err.Error())) }

// optionNames has what internal/dockerhost says name the options of this server.
var optionNames = strings.NewReplacer("option host", "option docker_host", "option context", "option docker_context", "options tls and cert_path", "options docker_tls and docker_cert_path",
	"option tls", "option docker_tls", "cert_path", "docker_cert_path", "host and context", "docker_host and docker_context", "tenon server docker", "tenon server python")

// add notes a sandbox, and forgets it at its end.
func (b *Backend) add(x *inside.Box) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return &sandbox.Error{Kind: sandbox.Gone, Text: "the server is being stopped"}
	}
	b.boxes[x] = struct{}{}
	b.ends.Go(func() {
		<-x.Done()
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.boxes, x)
	})
	return nil
}

// TakesNetwork reports that sandboxes may have a proxy: the program inside listens for
// it on the loopback of the container, which has no other network.
func (b *Backend) TakesNetwork() bool { return true }
