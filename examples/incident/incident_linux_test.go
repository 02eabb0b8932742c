package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/testenv"
)

// TestIncident makes the incident for real, and has it found out.
func TestIncident(t *testing.T) {
	disk := smallDisk(t)
	fill(t, disk)
	engine := testenv.KeepDocker(t) // its mounts are those of now
	t.Cleanup(engine.Stop)
	orders(t, engine.Socket, filepath.Join(disk, "orders"))
	gateway := serve(t, engine.Socket)

	var log bytes.Buffer
	a := agent{gateway: gateway, log: &log}
	found, err := a.investigate(t.Context())
	t.Logf("\n%s", log.String())
	if err != nil {
		t.Fatal(err)
	}
	if found.Container != "orders" || found.Symptom != "no space left on device" || found.Mount != disk || found.Percent < 95 ||
		found.File != filepath.Join(disk, "logs", "debug.log") || found.Directory != filepath.Join(disk, "logs") ||
		found.Bytes < 10<<20 || !strings.HasPrefix(found.Runbook, "disk-full.md") {
		t.Errorf("found %+v", found)
	}
	if found.Calls > 10 {
		t.Errorf("it took %d calls", found.Calls)
	}
}

// smallDisk returns the mount point of a file system of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a disk")
	}
	mkfs, mountProgram, umount := testenv.Program(t, "mkfs.ext4"), testenv.Program(t, "mount"), testenv.Program(t, "umount")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	image, at := filepath.Join(dir, "disk.img"), filepath.Join(dir, "srv")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 32<<20), os.Mkdir(at, 0o755)); err != nil {
		t.Fatal(err)
	}
	run := func(program string, args ...string) error {
		out, err := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...).CombinedOutput()
		if err != nil {
			t.Logf("%s: %s", program, out)
		}
		return err
	}
	if err := run(mkfs, "-q", "-m", "0", image); err != nil {
		t.Fatal(err)
	}
	if err := run(mountProgram, "-o", "loop", image, at); err != nil {
		t.Skip("no disk can be mounted here: " + err.Error())
	}
	t.Cleanup(func() {
		if err := run(umount, at); err != nil {
			t.Error(err)
		}
	})
	return at
}

// fill fills the disk with a log that nobody rotates.
func fill(t *testing.T, disk string) {
	t.Helper()
	for _, dir := range []string{"orders", "logs"} {
		if err := os.Mkdir(filepath.Join(disk, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(disk, "logs", "debug.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := bytes.Repeat([]byte("debug: nothing of note\n"), 1<<12)
	for {
		if _, err := f.Write(line); err != nil {
			break // it is full
		}
	}
	if err := f.Sync(); err != nil {
		t.Logf("sync: %v", err)
	}
}

// orders starts the service, which is restarted whenever it ends, and waits until it
// was.
func orders(t *testing.T, socket, folder string) {
	t.Helper()
	c, err := client.New(client.WithHost("unix://" + socket))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	imported, err := c.ImageImport(t.Context(), client.ImageImportSource{Source: image(t), SourceName: "-"}, "tenon.test/orders:1",
		client.ImageImportOptions{Changes: []string{`ENTRYPOINT ["/orders"]`}})
	if err == nil {
		_, err = io.Copy(io.Discard, imported)
		err = errors.Join(err, imported.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "orders", Config: &container.Config{Image: "tenon.test/orders:1"},
		HostConfig: &container.HostConfig{
			NetworkMode: "none", RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyAlways},
			Mounts: []mount.Mount{{Type: mount.TypeBind, Source: folder, Target: "/data"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ContainerStart(t.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the container restarts", func() bool {
		r, err := c.ContainerInspect(t.Context(), made.ID, client.ContainerInspectOptions{})
		return err == nil && r.Container.State.Status == container.StateRestarting && r.Container.RestartCount > 3
	})
}

// image returns the service as the tar of an image.
func image(t *testing.T) io.Reader {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "orders")
	build(t, bin, "./testdata/orders")
	program, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err = w.WriteHeader(&tar.Header{Name: "orders", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = w.Write(program)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return &b
}

func build(t *testing.T, bin, pkg string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// serve starts a gateway with the configuration of the example, and returns its URL.
func serve(t *testing.T, socket string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "tenon")
	build(t, bin, "../../cmd/tenon")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// The socket is the engine's own; the example finds the one of the machine.
	config, err := os.ReadFile("tenon.yaml")
	if err != nil {
		t.Fatal(err)
	}
	runbooks, err := filepath.Abs("runbooks")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(config), "{bundled: docker}", "{bundled: docker, options: {host: 'unix://"+socket+"'}}", 1)
	home := t.TempDir()
	if err := errors.Join(os.Symlink(runbooks, filepath.Join(home, "runbooks")), os.WriteFile(filepath.Join(home, "tenon.yaml"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "serve", "--config", filepath.Join(home, "tenon.yaml"), "--listen", address)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "DOCKER_HOST=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // by its signal
		if t.Failed() {
			t.Log(stderr.String())
		}
	})
	url := "http://" + address
	eventually(t, "the gateway is ready", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/readyz", nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultClient.Do(req)
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	return url
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("waited in vain until " + what)
		}
	}
}
