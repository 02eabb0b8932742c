package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	moby "github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/servers/docker"
)

// The lab is one engine with an image, for all tests that need one.
var lab struct {
	mu     sync.Mutex
	engine *testenv.Docker
	moby   *moby.Client
}

const image = "tenon.test/guest:1"

func stopLab() {
	if lab.engine != nil {
		if lab.moby != nil {
			_ = lab.moby.Close()
		}
		lab.engine.Stop()
	}
}

// engine returns the engine of the lab, started by whoever asks first.
func engine(t *testing.T) (*testenv.Docker, *moby.Client) {
	t.Helper()
	lab.mu.Lock()
	defer lab.mu.Unlock()
	if lab.engine == nil {
		lab.engine = testenv.KeepDocker(t)
		c, err := dockerhost.Host{Address: "unix://" + lab.engine.Socket}.Client()
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.ImageImport(t.Context(), moby.ImageImportSource{Source: guest(t), SourceName: "-"}, image,
			moby.ImageImportOptions{Changes: []string{`ENTRYPOINT ["/guest"]`}})
		if err == nil {
			_, err = new(bytes.Buffer).ReadFrom(res)
			err = errors.Join(err, res.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		lab.moby = c
	}
	if lab.moby == nil {
		t.Fatal("the engine has no image")
	}
	return lab.engine, lab.moby
}

// guest returns the image as a tar of its files.
func guest(t *testing.T) *bytes.Buffer {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "guest")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "testdata/guest/main.go")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, content := range map[string][]byte{"guest": program, "seed": []byte("seed")} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}))
		_, failed := w.Write(content)
		err = errors.Join(err, failed)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return &b
}

// run makes a container, starts it, waits until it has printed ready or ended,
// and removes it at the end of the test.
func run(t *testing.T, name string, change func(*moby.ContainerCreateOptions), command ...string) string {
	t.Helper()
	_, c := engine(t)
	o := moby.ContainerCreateOptions{
		Name:       name,
		Config:     &container.Config{Image: image, Cmd: command},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	}
	if change != nil {
		change(&o)
	}
	res, err := c.ContainerCreate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.ContainerRemove(context.WithoutCancel(t.Context()), res.ID, moby.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			t.Error(err)
		}
	})
	if _, err := c.ContainerStart(t.Context(), res.ID, moby.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, name+" is ready", func() bool {
		about, err := c.ContainerInspect(t.Context(), res.ID, moby.ContainerInspectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s := about.Container.State; !s.Running && !s.Restarting {
			return true
		}
		return bytes.Contains(tailOf(t, c, res.ID), []byte("ready"))
	})
	return res.ID
}

func tailOf(t *testing.T, c *moby.Client, id string) []byte {
	t.Helper()
	body, err := c.ContainerLogs(t.Context(), id, moby.ContainerLogsOptions{ShowStdout: true, Tail: "20"})
	if err != nil {
		return nil // a log that cannot be read: it is ready when it has ended
	}
	defer body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// await polls until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(60 * time.Second); !holds(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("not so after a minute: %s", what)
		}
	}
}

// options are those of a server that uses the lab.
func options(t *testing.T) docker.Options {
	t.Helper()
	e, _ := engine(t)
	return docker.Options{Host: "unix://" + e.Socket}
}

func volume(source, target string) mount.Mount {
	return mount.Mount{Type: mount.TypeVolume, Source: source, Target: target}
}
