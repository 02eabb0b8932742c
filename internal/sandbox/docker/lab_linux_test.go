package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/sandbox/docker"
	"github.com/tenon-mcp/tenon/internal/testenv"
)

// The lab is one engine with an image, for all tests that need one.
var lab struct {
	mu     sync.Mutex
	engine *testenv.Docker
	moby   *client.Client
}

const image = "tenon.test/python:1"

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "hold" {
		fmt.Fprintln(os.Stderr, hold(os.Args[2], os.Args[3], os.Args[4]))
		os.Exit(1)
	}
	code := m.Run()
	if lab.engine != nil {
		if lab.moby != nil {
			_ = lab.moby.Close()
		}
		lab.engine.Stop()
	}
	os.Exit(code)
}

// engine returns the engine of the lab, started by whoever asks first.
func engine(t testing.TB) (*testenv.Docker, *client.Client) {
	t.Helper()
	lab.mu.Lock()
	defer lab.mu.Unlock()
	if lab.engine == nil {
		tarball := guest(t)
		lab.engine = testenv.KeepDocker(t)
		c, err := dockerhost.Host{Address: "unix://" + lab.engine.Socket}.Client()
		if err != nil {
			t.Fatal(err)
		}
		load(t, c, tarball, image)
		lab.moby = c
	}
	if lab.moby == nil {
		t.Fatal("the engine has no image")
	}
	return lab.engine, lab.moby
}

func load(t testing.TB, c *client.Client, tarball io.Reader, name string, changes ...string) {
	t.Helper()
	res, err := c.ImageImport(t.Context(), client.ImageImportSource{Source: tarball, SourceName: "-"}, name,
		client.ImageImportOptions{Changes: append(changes, "ENV PATH=/usr/bin:/bin")})
	if err == nil {
		_, err = io.Copy(io.Discard, res)
		err = errors.Join(err, res.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// guest returns an image as a tar: the Python of this machine, and what commands of the
// tests use, with their libraries.
func guest(t testing.TB) *bytes.Buffer {
	t.Helper()
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		t.Skip("there is no Python of the system: ", err)
	}
	var b bytes.Buffer
	g := &guestImage{t: t, w: tar.NewWriter(&b), there: map[string]bool{}}
	for _, dir := range []string{"usr", "usr/bin", "usr/lib", "usr/lib64", "tmp", "etc"} {
		g.add(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}, nil)
	}
	for _, l := range [][2]string{{"bin", "usr/bin"}, {"lib", "usr/lib"}, {"lib64", "usr/lib64"}, {"usr/bin/python3", filepath.Base(python)}} {
		g.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: l[0], Linkname: l[1], Mode: 0o777}, nil)
	}
	g.add(&tar.Header{Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n"))
	g.add(&tar.Header{Name: "etc/shadow", Mode: 0o600}, []byte("root:*:::::::\n"))
	g.program(python)
	for name := range strings.FieldsSeq("sh cat echo env head tr sleep mkfifo mkdir ln rm rmdir ls seq xargs touch setsid true mv grep id") {
		g.program(filepath.Join("/usr/bin", name))
	}
	g.library(filepath.Join("/usr/lib", filepath.Base(python)))
	if err := g.w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

type guestImage struct {
	t     testing.TB
	w     *tar.Writer
	there map[string]bool
}

func (g *guestImage) add(h *tar.Header, content []byte) {
	g.t.Helper()
	if dir := filepath.Dir(h.Name); dir != "." && !g.there[dir+"/"] {
		g.add(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}, nil)
	}
	if h.Typeflag == tar.TypeDir {
		if g.there[h.Name+"/"] {
			return
		}
		g.there[h.Name+"/"] = true
	}
	h.Size = int64(len(content))
	err := g.w.WriteHeader(h)
	if err == nil {
		_, err = g.w.Write(content)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// program adds a program, or a library, with what it needs.
func (g *guestImage) program(path string) {
	g.t.Helper()
	to := strings.TrimPrefix(path, "/")
	if !strings.HasPrefix(to, "usr/") {
		to = "usr/" + to
	}
	if g.there[to] {
		return
	}
	g.there[to] = true
	content, err := os.ReadFile(path)
	if err != nil {
		g.t.Fatal(err)
	}
	g.add(&tar.Header{Name: to, Mode: 0o755}, content)
	g.needs(path)
}

func (g *guestImage) needs(paths ...string) {
	g.t.Helper()
	out, err := exec.CommandContext(g.t.Context(), "ldd", paths...).Output()
	if err != nil {
		g.t.Fatal(err)
	}
	for f := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(f, "/") && !strings.HasSuffix(f, ":") && strings.Contains(f, ".so") {
			if lib := strings.TrimPrefix(f, "/usr"); !g.there["usr"+lib] {
				g.there["usr"+lib] = true
				content, err := os.ReadFile(f)
				if err != nil {
					g.t.Fatal(err)
				}
				g.add(&tar.Header{Name: "usr" + lib, Mode: 0o755}, content)
			}
		}
	}
}

// library adds the modules of Python that are of use here.
func (g *guestImage) library(root string) {
	g.t.Helper()
	var shared []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{"test", "tests", "idlelib", "lib2to3", "ensurepip", "tkinter", "turtledemo", "pydoc_data", "distutils", "dist-packages", "site-packages", "unittest", "asyncio", "xml", "sqlite3"}, d.Name()) ||
				strings.HasPrefix(d.Name(), "config-") {
				return filepath.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(path) // through links
		if err != nil || len(content) > 1<<20 {
			return nil
		}
		if strings.HasSuffix(path, ".so") {
			shared = append(shared, path)
		}
		g.add(&tar.Header{Name: strings.TrimPrefix(path, "/"), Mode: 0o644, ModTime: modified(d)}, content)
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.needs(shared...)
}

func modified(d fs.DirEntry) time.Time {
	info, err := d.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func newBackend(t testing.TB, change func(*docker.Options)) *docker.Backend {
	t.Helper()
	e, _ := engine(t)
	o := docker.Options{Engine: dockerhost.Options{Host: "unix://" + e.Socket}, Image: image, Dir: t.TempDir()}
	if change != nil {
		change(&o)
	}
	b := docker.New(o)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// alone is a name of the image for one test, so that its containers are known.
func alone(t testing.TB) string {
	t.Helper()
	_, c := engine(t)
	name := "tenon.test/" + strings.ToLower(rand.Text()) + ":1"
	if _, err := c.ImageTag(t.Context(), client.ImageTagOptions{Source: image, Target: name}); err != nil {
		t.Fatal(err)
	}
	return name
}

// containers are those of an image that there are, however they are.
func containers(t testing.TB, image string) []string {
	t.Helper()
	_, c := engine(t)
	list, err := c.ContainerList(context.WithoutCancel(t.Context()), client.ContainerListOptions{All: true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, i := range list.Items {
		if i.Image == image {
			ids = append(ids, i.ID)
		}
	}
	return ids
}
