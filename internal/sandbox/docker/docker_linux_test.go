package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/docker"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	sandboxtest.Conformance(t, func(t testing.TB) sandbox.Backend { return newBackend(t, nil) }, sandboxtest.Options{})
}

func TestEscape(t *testing.T) {
	t.Parallel() // it waits most of the time
	sandboxtest.Escape(t, func(t testing.TB) sandbox.Backend { return newBackend(t, nil) }, sandboxtest.Options{Fixed: true})
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	sandboxtest.Network(t, func(t testing.TB) sandbox.Backend { return newBackend(t, nil) }, sandboxtest.Options{})
}

// hold makes a sandbox and waits to be killed.
func hold(socket, dir, image string) error {
	b := docker.New(docker.Options{Engine: dockerhost.Options{Host: "unix://" + socket}, Image: image, Dir: dir})
	x, err := b.Create(context.Background(), sandbox.Spec{})
	if err != nil {
		return err
	}
	if _, err := x.Command(context.Background(), sandbox.Command{Line: "sleep 600 & echo", Timeout: time.Minute}); err != nil {
		return err
	}
	fmt.Println("held")
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	return errors.New("nobody has killed it")
}

// BenchmarkStart is the time until a sandbox is there, and that of a cell in it besides
// its own.
func BenchmarkStart(b *testing.B) {
	k := newBackend(b, nil)
	if _, err := k.Check(b.Context()); err != nil {
		b.Fatal(err)
	}
	var made, over []time.Duration
	for b.Loop() {
		began := time.Now()
		x, err := k.Create(b.Context(), sandbox.Spec{})
		if err != nil {
			b.Fatal(err)
		}
		made = append(made, time.Since(began))
		sandboxtest.Py(b, x, "1")
		for range 20 {
			began := time.Now()
			o := sandboxtest.Py(b, x, "1")
			over = append(over, time.Since(began)-o.Took)
		}
		if err := x.Kill(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(made)
	slices.Sort(over)
	b.ReportMetric(float64(made[len(made)/2].Milliseconds()), "start-ms")
	b.ReportMetric(float64(over[len(over)/2].Microseconds()), "cell-over-us")
}
