package python

import (
	"fmt"

	"github.com/tenon-mcp/tenon/internal/dockerhost"
	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/docker"
)

// DockerOptions are those of the back end docker.
type DockerOptions struct {
	DockerImage    string `json:"docker_image,omitempty" jsonschema:"back end docker: image with Python 3.8 or newer that sandboxes are made of; default: docker.io/library/python:3-slim"`
	DockerPull     bool   `json:"docker_pull,omitempty" jsonschema:"back end docker: have the engine fetch the image at the first use where it is not there"`
	DockerHost     string `json:"docker_host,omitempty" jsonschema:"back end docker: address of the engine, unix:///path, tcp://host:2376 or npipe:////./pipe/name; default: DOCKER_HOST, else the current context of the docker command, else the first usual socket that answers"`
	DockerContext  string `json:"docker_context,omitempty" jsonschema:"back end docker: context of the docker command whose engine to use, in place of docker_host"`
	DockerTLS      string `json:"docker_tls,omitempty" jsonschema:"back end docker: TLS over TCP: on, off, or unverified, which takes any certificate; default: on where DOCKER_TLS_VERIFY, DOCKER_CERT_PATH, docker_cert_path or the context asks for it"`
	DockerCertPath string `json:"docker_cert_path,omitempty" path:"yes" jsonschema:"back end docker: folder with ca.pem, cert.pem and key.pem for TLS; default: DOCKER_CERT_PATH, or that of the context"`
}

func newDocker(s setting) (sandbox.Backend, error) {
	o := docker.Options{
		Engine: dockerhost.Options{Host: s.DockerHost, Context: s.DockerContext, TLS: s.DockerTLS, CertPath: s.DockerCertPath, Getenv: s.getenv},
		Image:  s.DockerImage, Pull: s.DockerPull,
	}
	if err := o.Engine.Check(); err != nil {
		return nil, fmt.Errorf("options of the back end docker: %w", docker.Named(err))
	}
	if err := docker.CheckImage(s.DockerImage); err != nil {
		return nil, fmt.Errorf("option docker_image: %w", err)
	}
	return docker.New(o), nil
}
