package python_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/python"
)

// TestPullIsTold has an engine fetch an image for longer than a second, and run out of
// room.
func TestPullIsTold(t *testing.T) {
	t.Parallel()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.44")
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
		case strings.HasSuffix(r.URL.Path, "/images/create"):
			more := time.NewTicker(100 * time.Millisecond)
			defer more.Stop()
			for i := range 14 {
				<-more.C
				_, _ = fmt.Fprintf(w, `{"status":"Downloading","id":"layer%d","progressDetail":{"current":%d,"total":99000000}}`+"\n", i%2, (i+1)<<20)
				w.(http.Flusher).Flush()
			}
			_, _ = fmt.Fprintln(w, `{"errorDetail":{"message":"no space left on device"},"error":"no space left on device"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprintln(w, `{"message":"No such image"}`)
		}
	}))
	t.Cleanup(engine.Close)
	srv, err := python.NewIn(python.Options{Backend: "docker", DockerOptions: python.DockerOptions{
		DockerHost: "tcp://" + strings.TrimPrefix(engine.URL, "http://"), DockerPull: true,
	}}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	var first, counted atomic.Int32
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := srv.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ss.Wait() })
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			switch p := r.Params; {
			case p.ProgressToken != "told":
				t.Errorf("got %+v", p)
			case strings.Contains(p.Message, "MiB so far"):
				counted.Add(1)
			case strings.Contains(p.Message, "fetches the image docker.io/library/python:3-slim"):
				first.Add(1)
			}
		},
	}).Connect(t.Context(), ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	params := &mcp.CallToolParams{Name: "create_sandbox", Arguments: map[string]any{}}
	params.SetProgressToken("told")
	res, err := cs.CallTool(t.Context(), params)
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "no space left on device") {
		t.Errorf("%v, %+v", err, res)
	}
	if first.Load() != 1 || counted.Load() < 1 || counted.Load() > 9 {
		t.Errorf("told %d and %d times", first.Load(), counted.Load())
	}
}

func TestOptionsOfDocker(t *testing.T) {
	for name, row := range map[string]struct {
		o    python.DockerOptions
		env  map[string]string
		want string
	}{
		"useful":      {o: python.DockerOptions{DockerImage: "registry.example.com:5000/science/python@sha256:abc", DockerHost: "tcp://engine.example.com:2376"}},
		"no image":    {o: python.DockerOptions{DockerImage: "--privileged"}, want: "option docker_image"},
		"no word":     {o: python.DockerOptions{DockerImage: "python latest"}, want: "option docker_image"},
		"two engines": {o: python.DockerOptions{DockerHost: "unix:///a", DockerContext: "b"}, want: "docker_host and docker_context"},
		"no TLS":      {o: python.DockerOptions{DockerTLS: "perhaps"}, want: "option docker_tls: \"perhaps\" is none of on, off, unverified"},
		"no address":  {o: python.DockerOptions{DockerHost: "ssh://x"}, want: "option docker_host"},
		"no folder":   {o: python.DockerOptions{DockerCertPath: "/no/such/folder"}, want: "docker_cert_path"},
		"environment": {env: map[string]string{"DOCKER_HOST": "unix:///nowhere/engine"}},
	} {
		_, err := python.NewIn(python.Options{Backend: "docker", DockerOptions: row.o}, func(name string) string { return row.env[name] })
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", name, err, row.want)
		}
	}
	if _, err := python.NewIn(python.Options{Backend: "docker2"}, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "docker") {
		t.Errorf("got %v", err)
	}
}
