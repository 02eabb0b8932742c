package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/docker"
)

func refused(t *testing.T, b sandbox.Backend, wants ...string) {
	t.Helper()
	status, err := b.Check(t.Context())
	said, ok := errors.AsType[*sandbox.Error](err)
	if !ok || said.Kind != sandbox.Unavailable || status.Level != sandbox.LevelNone {
		t.Fatalf("got %+v, %v", status, err)
	}
	for _, want := range wants {
		if !strings.Contains(said.Text, want) {
			t.Errorf("%q is not in %q", want, said.Text)
		}
	}
	if _, err := b.Create(t.Context(), sandbox.Spec{}); err == nil {
		t.Error("it makes sandboxes all the same")
	}
}

func TestImageIsMissing(t *testing.T) {
	t.Parallel()
	const other = "tenon.test/other:1"
	hints := []string{"no image " + other, "docker pull " + other, "docker_pull", "docker_image"}
	b := newBackend(t, func(o *docker.Options) { o.Image = other })
	refused(t, b, hints...)
	_, c := engine(t)
	if _, err := c.ImageTag(t.Context(), client.ImageTagOptions{Source: image, Target: other}); err != nil {
		t.Fatal(err)
	}
	if status, err := b.Check(t.Context()); err != nil || status.Level != sandbox.LevelContainer {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := c.ImageRemove(t.Context(), other, client.ImageRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Create(t.Context(), sandbox.Spec{})
	for _, hint := range hints {
		if err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q is not in %v", hint, err)
		}
	}
}

func TestEngineIsMissing(t *testing.T) {
	b := newBackend(t, func(o *docker.Options) { o.Engine.Host = "unix:///nowhere/docker.sock" })
	refused(t, b, "no container engine answers at unix:///nowhere/docker.sock", "option docker_host")
}

// TestPull has the engine fetch an image, which has no Python.
func TestPull(t *testing.T) {
	t.Parallel()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "seed", Mode: 0o644}), w.Close()); err != nil {
		t.Fatal(err)
	}
	sum := func(b []byte) string { s := sha256.Sum256(b); return "sha256:" + hex.EncodeToString(s[:]) }
	config := fmt.Appendf(nil, `{"architecture":"amd64","os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[%q]}}`, sum(layer.Bytes()))
	const kind = "application/vnd.docker.distribution.manifest.v2+json"
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.docker.container.image.v1+json","size":%d,"digest":%q},"layers":[{"mediaType":"application/vnd.docker.image.rootfs.diff.tar","size":%d,"digest":%q}]}`,
		kind, len(config), sum(config), layer.Len(), sum(layer.Bytes()))
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/v2/":
		case strings.HasPrefix(path, "/v2/seed/manifests/"):
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Docker-Content-Digest", sum(manifest))
			_, _ = w.Write(manifest)
		case path == "/v2/seed/blobs/"+sum(config):
			_, _ = w.Write(config)
		case path == "/v2/seed/blobs/"+sum(layer.Bytes()):
			_, _ = w.Write(layer.Bytes())
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(registry.Close)
	host := strings.TrimPrefix(registry.URL, "http://")
	pulling := func(name string) func(*docker.Options) {
		return func(o *docker.Options) { o.Image, o.Pull = host+"/"+name, true }
	}
	refused(t, newBackend(t, pulling("nothing:1")), "could not fetch the image "+host+"/nothing:1")
	refused(t, newBackend(t, pulling("seed:1")), "start a container", "python3")
	_, c := engine(t)
	if _, err := c.ImageInspect(t.Context(), host+"/seed:1"); err != nil {
		t.Error(err)
	}
}

func TestImageWithVolumes(t *testing.T) {
	t.Parallel()
	_, c := engine(t)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "seed", Mode: 0o644}), w.Close()); err != nil {
		t.Fatal(err)
	}
	load(t, c, &b, "tenon.test/volumes:1", "VOLUME /data")
	refused(t, newBackend(t, func(o *docker.Options) { o.Image = "tenon.test/volumes:1" }), "declares volumes", "docker_image")
}

// TestEngineIgnoresWalls has an engine do less than it was asked for.
func TestEngineIgnoresWalls(t *testing.T) {
	t.Parallel()
	e, _ := engine(t)
	for name, row := range map[string]struct {
		less  func(config, host map[string]any)
		wants []string
	}{
		"another filter": {func(_, host map[string]any) { host["SecurityOpt"] = []string{"no-new-privileges"} }, []string{"does not keep code apart", "call io_uring"}},
		"no wall": {func(config, host map[string]any) {
			for _, key := range []string{"CapDrop", "PidsLimit", "Memory", "MemorySwap", "Ulimits"} {
				delete(host, key)
			}
			delete(config, "NetworkDisabled")
			delete(config, "Hostname")
			config["User"], host["NetworkMode"], host["ReadonlyRootfs"], host["SecurityOpt"] = "0:0", "host", false, []string{"seccomp=unconfined"}
		}, []string{
			"does not keep code apart", "gain privileges", "no filter", "see network interfaces", "call unshare", "call ptrace",
			"open a socket of family 16", "any number of processes", "any amount of memory", "files of any size",
		}},
		// A program that begins as root becomes a user by itself, or runs nothing.
		"root": {func(config, _ map[string]any) { config["User"] = "0:0" }, []string{"does not work as a sandbox", "not permitted"}},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := &httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) {
					r.SetURL(&url.URL{Scheme: "http", Host: "engine"})
					if strings.HasSuffix(r.In.URL.Path, "/containers/create") {
						change(t, r.Out, row.less)
					}
				},
				Transport: &http.Transport{DialContext: (&dialer{e.Socket}).dial, DisableKeepAlives: true},
			}
			srv := httptest.NewServer(proxy)
			t.Cleanup(srv.Close)
			refused(t, newBackend(t, func(o *docker.Options) { o.Engine.Host = "tcp://" + strings.TrimPrefix(srv.URL, "http://") }), row.wants...)
		})
	}
}

func change(t *testing.T, r *http.Request, less func(config, host map[string]any)) {
	t.Helper()
	var config map[string]any
	err := json.NewDecoder(r.Body).Decode(&config)
	if err != nil {
		t.Error(err)
		return
	}
	host, _ := config["HostConfig"].(map[string]any)
	less(config, host)
	b, err := json.Marshal(config)
	if err != nil {
		t.Error(err)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
}

// A dialer connects to one socket, whatever is asked for.
type dialer struct{ socket string }

func (d *dialer) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	var plain net.Dialer
	return plain.DialContext(ctx, "unix", d.socket)
}
