package python_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/servers/python"
)

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
		"no TLS":      {o: python.DockerOptions{DockerTLS: "perhaps"}, want: "none of on, off, unverified"},
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
