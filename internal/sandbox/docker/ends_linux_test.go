package docker_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/alive"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/docker"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
)

func TestNothingSurvivesTenon(t *testing.T) {
	t.Parallel()
	e, _ := engine(t)
	image := alone(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "hold", e.Socket, t.TempDir(), image)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // it was for keeping it
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "held\n" {
		t.Fatalf("%q, %v", said, err)
	}
	if n := len(containers(t, image)); n != 1 {
		t.Errorf("there are %d containers", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	sandboxtest.Until(t, "its container stays", func() bool { return len(containers(t, image)) == 0 })
}

func TestOrphansAreSwept(t *testing.T) {
	t.Parallel()
	_, c := engine(t)
	dir, image := t.TempDir(), alone(t)
	in := func(o *docker.Options) { o.Dir, o.Image = dir, image }
	first := newBackend(t, in)
	x := sandboxtest.Create(t, first, sandbox.Spec{})
	labels := map[string]string{}
	for _, id := range containers(t, image) {
		about, err := c.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(labels, about.Container.Config.Labels)
	}
	stray := func(change func(map[string]string)) string {
		own := maps.Clone(labels)
		change(own)
		made, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{Config: &container.Config{Image: image, Cmd: []string{"true"}, Labels: own}, HostConfig: &container.HostConfig{NetworkMode: "none"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_, _ = c.ContainerRemove(context.WithoutCancel(t.Context()), made.ID, client.ContainerRemoveOptions{Force: true}) // it may have gone
		})
		return made.ID
	}
	died, err := alive.New(dir)
	if err == nil {
		err = died.Leave()
	}
	if err != nil {
		t.Fatal(err)
	}
	dead := stray(func(l map[string]string) { l["tenon.sandbox.owner"] = died.ID })
	living := stray(func(map[string]string) {})
	elsewhere := stray(func(l map[string]string) {
		l["tenon.sandbox.owner"], l["tenon.sandbox.place"] = died.ID, "another machine"
	})

	sandboxtest.Create(t, newBackend(t, in), sandbox.Spec{})
	there := containers(t, image)
	if slices.Contains(there, dead) {
		t.Error("what a dead one left is still there")
	}
	if !slices.Contains(there, living) || !slices.Contains(there, elsewhere) {
		t.Error("containers of others were removed")
	}
	if o := sandboxtest.Sh(t, x, "echo here"); o.Stdout != "here\n" {
		t.Errorf("got %+v", o)
	}
}

// A relay stands between Tenon and the engine, and can break.
type relay struct {
	socket string
	l      net.Listener
	tasks  sync.WaitGroup
	mu     sync.Mutex
	conns  []net.Conn
}

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	r := &relay{socket: filepath.Join(t.TempDir(), "s")}
	var config net.ListenConfig
	var err error
	if r.l, err = config.Listen(t.Context(), "unix", r.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.tear)
	r.tasks.Go(func() {
		for {
			from, err := r.l.Accept()
			if err != nil {
				return
			}
			var d net.Dialer
			into, err := d.DialContext(t.Context(), "unix", to)
			if err != nil {
				_ = from.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, from, into)
			r.mu.Unlock()
			r.tasks.Go(func() { _, _ = io.Copy(into, from); _ = into.Close() })
			r.tasks.Go(func() { _, _ = io.Copy(from, into); _ = from.Close() })
		}
	})
	return r
}

// tear breaks all that goes through it.
func (r *relay) tear() {
	_ = r.l.Close()
	r.mu.Lock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.tasks.Wait()
}

func TestEngineGoesAway(t *testing.T) {
	t.Parallel()
	e, _ := engine(t)
	image := alone(t)
	r := newRelay(t, e.Socket)
	b := newBackend(t, func(o *docker.Options) { o.Engine.Host, o.Image = "unix://"+r.socket, image })
	x := sandboxtest.Create(t, b, sandbox.Spec{})
	var all sync.WaitGroup
	errs := make([]error, 2)
	all.Go(func() {
		_, errs[0] = x.Command(t.Context(), sandbox.Command{Line: "echo > begun; sleep 600"})
	})
	all.Go(func() { _, errs[1] = x.Code(t.Context(), sandbox.Cell{Source: "import time\ntime.sleep(600)"}) })
	sandboxtest.Until(t, "it does not begin", func() bool { return sandboxtest.Sh(t, x, "ls begun").ExitCode == 0 })
	began := time.Now()
	r.tear()
	all.Wait()
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	for _, err := range errs {
		said, ok := errors.AsType[*sandbox.Error](err)
		if !ok || said.Kind != sandbox.Gone || !strings.Contains(said.Text, "the container engine does not answer any more") || !strings.Contains(said.Text, r.socket) {
			t.Errorf("got %v", err)
		}
	}
	_, err := b.Create(t.Context(), sandbox.Spec{})
	if said, ok := errors.AsType[*sandbox.Error](err); !ok || said.Kind != sandbox.Unavailable || !strings.Contains(said.Text, "docker_host") {
		t.Errorf("got %v", err)
	}
	sandboxtest.Until(t, "its container stays", func() bool { return len(containers(t, image)) == 0 })
}
