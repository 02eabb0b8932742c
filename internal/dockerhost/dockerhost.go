// Package dockerhost finds the container engine of this machine or another one,
// and makes clients of its API. It speaks to Docker, and to what speaks like it,
// such as Podman; the docker command is never run.
//
//	h, err := dockerhost.Find(ctx, dockerhost.Options{Getenv: os.Getenv}) // DOCKER_HOST, the current context, a known socket
//	if err != nil {
//		return err // says what was tried, and what to set
//	}
//	c, err := h.Client()
//	…
//	list, err := c.ContainerList(ctx, client.ContainerListOptions{})
//	if err != nil {
//		return h.Explain(ctx, err)
//	}
//
// The first of these that is given names the engine, as with the docker command:
// the options Host and Context, DOCKER_HOST, DOCKER_CONTEXT, the current context
// of ~/.docker/config.json. Where none is, the sockets that Docker and Podman make
// are tried in turn, and the first that can be connected to is taken. Podman's
// CONTAINER_HOST comes before them.
//
// Finding reads a few small files and asks no engine anything. A Host is a value:
// it can be compared, so that a client is kept for as long as the answer stays the
// same.
package dockerhost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options say where to look. The zero value looks where the docker command does.
type Options struct {
	Host     string // address, such as unix:///run/docker.sock or tcp://10.0.0.5:2376
	Context  string // name of a context of the docker command
	CertPath string // folder with ca.pem, cert.pem and key.pem, for TCP
	// TLS is the word on, off or unverified, or nothing for what the environment
	// and the context say.
	TLS string

	Getenv  func(string) string // the environment; nil is an empty one
	Home    string              // home folder; "" is the user's
	Sockets []string            // addresses to try where nothing names one; nil: those of this system
}

// The values of Options.TLS.
const (
	TLSOn         = "on"
	TLSOff        = "off"
	TLSUnverified = "unverified" // encrypted, but the engine may be anybody
)

// A Host is where an engine is, and how to reach it.
type Host struct {
	Address string // with its scheme: unix, tcp or npipe
	From    string // what named it, for people
	TLS     bool   // over TCP
	// Files of TLS; "" where there is none. Unverified leaves the engine's
	// certificate unchecked.
	CA, Cert, Key string
	Unverified    bool
}

// String returns the address.
func (h Host) String() string { return h.Address }

// dialTimeout bounds the try of one socket.
const dialTimeout = 2 * time.Second

// Check says what is wrong with options, without looking for an engine.
func (o Options) Check() error {
	if o.Host != "" && o.Context != "" {
		return errors.New("host and context are both given; one of them names the engine")
	}
	switch o.TLS {
	case "", TLSOn, TLSOff, TLSUnverified:
	default:
		return fmt.Errorf("option tls: %q is none of on, off, unverified", o.TLS)
	}
	if o.Host == "" && o.Context == "" {
		_, _, err := o.files(o.CertPath)
		return err
	}
	_, err := o.named(o.Host, o.Context)
	return err
}

// Find returns the engine that the options, the environment and the docker
// command's configuration name, else the first known socket that answers. An
// engine that is named is not connected to.
func Find(ctx context.Context, o Options) (Host, error) {
	if h, err := o.named(o.Host, o.Context); err != nil || h.Address != "" {
		return h, err
	}
	tried := o.Sockets
	if tried == nil {
		tried = o.known()
	}
	var attempts []attempt
	for _, address := range tried {
		h := Host{Address: address, From: "found at a usual place"}
		conn, err := h.dial(ctx)
		if err == nil {
			_ = conn.Close()
			return h, nil
		}
		if ctx.Err() != nil {
			return Host{}, ctx.Err()
		}
		attempts = append(attempts, attempt{h, err})
	}
	return Host{}, notFound(attempts)
}

// named returns the engine that is named somewhere, or no address.
func (o Options) named(host, contextName string) (Host, error) {
	switch {
	case host != "":
		return o.address(host, "the option host")
	case contextName != "":
		return o.context(contextName, "the option context")
	case o.getenv("DOCKER_HOST") != "":
		return o.address(o.getenv("DOCKER_HOST"), "DOCKER_HOST")
	case o.getenv("DOCKER_CONTEXT") != "":
		return o.context(o.getenv("DOCKER_CONTEXT"), "DOCKER_CONTEXT")
	}
	current, err := o.currentContext()
	if err != nil {
		return Host{}, err
	}
	if current != "" {
		return o.context(current, "currentContext in "+filepath.Join(o.config(), "config.json"))
	}
	if podman := o.getenv("CONTAINER_HOST"); podman != "" {
		return o.address(podman, "CONTAINER_HOST")
	}
	return Host{}, nil
}

// address makes a Host of an address, with the files of TLS that options and
// environment name.
func (o Options) address(s, from string) (Host, error) {
	address, secure, err := parse(s)
	if err != nil {
		return Host{}, fmt.Errorf("%s: %w", from, err)
	}
	h := Host{Address: address, From: from}
	if !strings.HasPrefix(address, "tcp://") {
		return h, nil
	}
	folder := o.CertPath
	if folder == "" {
		folder = o.getenv("DOCKER_CERT_PATH")
	}
	verify := o.getenv("DOCKER_TLS_VERIFY") != ""
	switch o.TLS {
	case TLSOff:
		return h.withPort(), nil
	case "":
		if folder == "" && !verify && !secure {
			return h.withPort(), nil
		}
	}
	if folder == "" && verify { // where the docker command looks for them
		folder = o.config()
	}
	h.TLS, h.Unverified = true, o.TLS == TLSUnverified
	if h.CA, h.Cert, err = o.files(folder); err != nil {
		return Host{}, err
	}
	if h.Cert != "" {
		h.Key = filepath.Join(folder, "key.pem")
	}
	return h.withPort(), nil
}

// files returns the paths of ca.pem and cert.pem in a folder, "" for one that is
// not there. A folder that is given must be one, and a certificate needs its key.
func (o Options) files(folder string) (ca, cert string, err error) {
	if folder == "" {
		return "", "", nil
	}
	if s, err := os.Stat(folder); err != nil {
		return "", "", fmt.Errorf("cert_path: %w", err)
	} else if !s.IsDir() {
		return "", "", fmt.Errorf("cert_path: %s is no folder", folder)
	}
	there := func(name string) string {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err != nil {
			return ""
		}
		return path
	}
	ca, cert = there("ca.pem"), there("cert.pem")
	if (cert == "") != (there("key.pem") == "") {
		return "", "", fmt.Errorf("cert_path: %s has only one of cert.pem and key.pem", folder)
	}
	return ca, cert, nil
}

func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

func (o Options) home() string {
	if o.Home != "" {
		return o.Home
	}
	home, _ := os.UserHomeDir() // without one, what lies there is not found
	return home
}

// withPort adds the port that Docker uses where an address has none.
func (h Host) withPort() Host {
	rest := strings.TrimPrefix(h.Address, "tcp://")
	authority, path, slash := strings.Cut(rest, "/")
	if _, _, err := net.SplitHostPort(authority); err == nil {
		return h
	}
	port := "2375"
	if h.TLS {
		port = "2376"
	}
	h.Address = "tcp://" + authority + ":" + port
	if slash {
		h.Address += "/" + path
	}
	return h
}
