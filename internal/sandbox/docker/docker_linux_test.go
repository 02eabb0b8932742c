package docker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/docker"
	"github.com/tenon-mcp/tenon/internal/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	sandboxtest.Conformance(t, func(t testing.TB) sandbox.Backend { return newBackend(t, nil) })
}

func TestEscape(t *testing.T) {
	sandboxtest.Escape(t, func(t testing.TB) sandbox.Backend { return newBackend(t, nil) }, sandboxtest.Options{Fixed: true})
}

// hold makes a sandbox and waits to be killed.
func hold(socket, dir string) error {
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

func TestMeasure(t *testing.T) {
	b := newBackend(t, nil)
	began := time.Now()
	if _, err := b.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Log("check", time.Since(began))
	for range 10 {
		began := time.Now()
		x, err := b.Create(t.Context(), sandbox.Spec{})
		if err != nil {
			t.Fatal(err)
		}
		made := time.Since(began)
		first := time.Now()
		sandboxtest.Py(t, x, "1")
		one := time.Since(first)
		var over time.Duration
		for range 20 {
			at := time.Now()
			o := sandboxtest.Py(t, x, "1")
			over += time.Since(at) - o.Took
		}
		k := time.Now()
		_ = x.Kill(t.Context())
		t.Log("create", made, "first", one, "over", over/20, "kill", time.Since(k))
	}
}
