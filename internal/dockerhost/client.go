package dockerhost

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// Client returns a client of the engine's API. It connects on its first request,
// and agrees with the engine on the newest version that both know; with
// DOCKER_API_VERSION the version is given. Whoever has used it closes it: that
// ends the connections that it keeps. More options come after those of h.
func (h Host) Client(more ...client.Opt) (*client.Client, error) {
	t, err := h.Transport()
	if err != nil {
		return nil, err
	}
	c, err := client.New(append([]client.Opt{
		client.WithHost(h.Address),
		client.WithHTTPClient(&http.Client{Transport: t, CheckRedirect: client.CheckRedirect}), // after the host, whose transport it replaces
		client.WithAPIVersionFromEnv(),
	}, more...)...)
	if err != nil {
		return nil, fmt.Errorf("client of the engine at %s: %w", h.Address, err)
	}
	return c, nil
}

// Transport returns the way to the engine alone. It reads no proxy from the
// environment: an engine is not a page of the web.
func (h Host) Transport() (*http.Transport, error) {
	t := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return h.dial(ctx) },
		MaxIdleConns:    8,
		IdleConnTimeout: 30 * time.Second,
	}
	if h.TLS {
		config, err := h.tls()
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig = config
	}
	return t, nil
}

func (h Host) tls() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	c.InsecureSkipVerify = h.Unverified // the operator may ask for that by name
	if h.CA != "" {
		pem, err := os.ReadFile(filepath.Clean(h.CA))
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool() // whoever names an authority wants no other
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", h.CA)
		}
	}
	if h.Cert != "" {
		pair, err := tls.LoadX509KeyPair(h.Cert, h.Key)
		if err != nil {
			return nil, fmt.Errorf("certificate for the engine at %s: %w", h.Address, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// dial connects to the engine, without TLS.
func (h Host) dial(ctx context.Context) (net.Conn, error) {
	scheme, rest, _ := strings.Cut(h.Address, "://")
	d := net.Dialer{Timeout: 10 * time.Second}
	switch scheme {
	case "unix":
		d.Timeout = dialTimeout
		return d.DialContext(ctx, "unix", rest)
	case "npipe":
		return dialPipe(ctx, rest)
	case "tcp":
		authority, _, _ := strings.Cut(rest, "/")
		return d.DialContext(ctx, "tcp", authority)
	}
	return nil, errors.New("no address of an engine")
}
