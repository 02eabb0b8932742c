// Package egress is the one way by which bundled servers, and the gateway where it
// reads a page, reach the web: a client for HTTP that cannot be led inside.
//
//	pages, err := egress.New(egress.Options{Server: "reading", Allow: o.Allow, CAFile: o.CAFile, Proxy: o.Proxy})
//	if err != nil {
//		return nil, err // names the option
//	}
//	defer pages.Close()
//	page, err := pages.Do(ctx, egress.Request{URL: "https://example.com/", Robots: true})
//
//	search, err := pages.Service(o.SerperBaseURL) // the operator set it: it may be anywhere
//	answer, err := search.Do(ctx, egress.Request{
//		Method: "POST", URL: o.SerperBaseURL + "/search", Body: query,
//		Header: http.Header{"X-Api-Key": {key}},
//		Retry:  egress.Retry{Waits: egress.Seconds(2, 4, 8, 16), Unsafe: true},
//	})
//
// What is reached: public addresses, and what the option allow opens ([Guard]). A
// name is resolved once, each of its addresses is checked, and one of these is
// dialled; each redirect is checked like the first request, and carries no header
// of the caller's to another host.
//
// A client for pages goes where a model says. A client of [Client.Service] goes to
// one host and port, which an operator chose, and to nothing else, not by a
// redirect either. So an allowance for a service never is one for the model.
//
// Behind a proxy (Options.Proxy, else HTTPS_PROXY, HTTP_PROXY and NO_PROXY) the
// name is resolved and checked here before the proxy gets it. But the proxy
// resolves it again: a name server that answers differently a moment later is then
// the proxy's to refuse. Where names do not resolve here at all, ProxyResolves
// leaves names, but not addresses, to the proxy.
//
// It keeps no cookies and no cache, and runs no scripts.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/tenon-mcp/tenon/internal/version"
)

// UserAgent is what sites see where the caller sets nothing else. Its first word
// is the one that a robots.txt means.
func UserAgent() string { return version.Agent("+https://github.com/tenon-mcp/tenon") }

// Defaults and bounds.
const (
	DefaultMaxBody = 10 << 20
	maxRedirects   = 10
	maxURL         = 8 << 10
	maxHeader      = 64 << 10
)

// Options configures a Client. The zero value reaches the public web.
type Options struct {
	Server    string   // the bundled server, for the texts of refusals
	Allow     []string // what may be reached besides the public, see NewGuard
	Ports     []int    // where set, pages are read from these ports and those of Allow only
	UserAgent string   // default: UserAgent

	Proxy         string // URL (http, https, socks5), or "none"; empty: the environment's
	ProxyResolves bool   // names that do not resolve here go to the proxy unchecked
	CAFile        string // PEM certificates to trust besides the system's

	MaxBody int64 // bytes of a body once unpacked; default DefaultMaxBody
	Times   Times
	Polite  Polite

	Guard *Guard // in place of one made of Server and Allow
}

// Times bounds the phases of a request. Zero means the default.
type Times struct {
	Connect time.Duration // resolving and connecting; 10 s
	TLS     time.Duration // 10 s
	Header  time.Duration // until the answer begins; 30 s
	Total   time.Duration // with redirects, retries and the body; 60 s. The context's deadline counts too
}

// A Client makes requests. It is safe for concurrent use.
type Client struct {
	o         Options
	guard     *Guard
	service   string // host:port of the only host, or empty
	proxy     func(*url.URL) (*url.URL, error)
	direct    *http.Transport
	proxied   *http.Transport
	hosts     *hosts
	robots    *robots
	transport http.RoundTripper // what requests go through: checks, then one of the two
}

// New returns a client. Its errors name the option.
func New(o Options) (*Client, error) {
	c := &Client{o: o, guard: o.Guard, hosts: newHosts(o.Polite), robots: newRobots()}
	c.o.UserAgent = first(o.UserAgent, UserAgent())
	c.o.MaxBody = first(o.MaxBody, DefaultMaxBody)
	t := &c.o.Times
	t.Connect, t.TLS = first(t.Connect, 10*time.Second), first(t.TLS, 10*time.Second)
	t.Header, t.Total = first(t.Header, 30*time.Second), first(t.Total, 60*time.Second)
	if c.guard == nil {
		g, err := NewGuard(o.Server, o.Allow)
		if err != nil {
			return nil, err
		}
		c.guard = g
	}
	var err error
	if c.proxy, err = proxyFunc(o.Proxy); err != nil {
		return nil, fmt.Errorf("option proxy: %w", err)
	}
	roots, err := ReadRoots(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("option ca_file: %w", err)
	}
	c.build(roots)
	return c, nil
}

func first[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// build makes the two ways out.
func (c *Client) build(roots *x509.CertPool) {
	transport := func(dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
		return &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, c.o.Times.Connect)
				defer cancel()
				return dial(ctx, network, address)
			},
			TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    c.o.Times.TLS,
			ResponseHeaderTimeout:  c.o.Times.Header,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: maxHeader,
			MaxIdleConns:           64,
			MaxIdleConnsPerHost:    2,
			IdleConnTimeout:        15 * time.Second,
		}
	}
	c.direct = transport(c.guard.DialContext)
	c.proxied = transport((&net.Dialer{}).DialContext) // it connects to the proxy and to nothing else
	c.proxied.Proxy = func(r *http.Request) (*url.URL, error) { return c.proxy(r.URL) }
	c.transport = roundTripper(c.roundTrip)
}

// Service returns a client for one host: that of a base URL that an operator set,
// which may be an internal one. It reaches that host and port only, and its
// requests are not held back by politeness, as those to sites are.
func (c *Client) Service(base string) (*Client, error) {
	u, h, err := parseURL(base)
	if err != nil {
		return nil, err
	}
	at := hostport(u, h)
	s, g := *c, *c.guard
	if isMetadata(h.Addr) { // its credentials are no service for a tool
		return nil, g.refuse(h, 0, "is "+Special(h.Addr))
	}
	o, err := parseOpening(at)
	if err != nil {
		return nil, err
	}
	g.allow = append(slices.Clone(g.allow), o)
	s.guard, s.service, s.o.Ports = &g, at, nil
	s.o.Polite, s.hosts = Polite{}, nil
	s.build(c.direct.TLSClientConfig.RootCAs)
	return &s, nil
}

// Close closes the connections that are kept for the next request.
func (c *Client) Close() {
	c.direct.CloseIdleConnections()
	c.proxied.CloseIdleConnections()
}

// HTTP returns a client for a library that wants one. All rules but the bound on
// the body's size are kept; Times.Total bounds a request with its body.
func (c *Client) HTTP() *http.Client {
	return &http.Client{Transport: agent{c.transport, c.o.UserAgent}, CheckRedirect: c.checkRedirect(Request{}), Timeout: c.o.Times.Total}
}

// agent sets the User-Agent where a library set none.
type agent struct {
	next http.RoundTripper
	name string
}

// RoundTrip implements [http.RoundTripper].
func (a agent) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("User-Agent") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", a.name)
	}
	return a.next.RoundTrip(r)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// roundTrip is the way of each request, those after redirects too.
func (c *Client) roundTrip(r *http.Request) (*http.Response, error) {
	h, err := c.check(r.URL)
	if err != nil {
		return nil, err
	}
	via, err := c.proxy(r.URL)
	if err != nil {
		return nil, fmt.Errorf("the proxy of the environment cannot be used: %w", err)
	}
	way := c.direct
	if via != nil {
		if err := c.checkProxied(r.Context(), r.URL, h); err != nil {
			return nil, err
		}
		way = c.proxied
	}
	release, err := c.hosts.enter(r.Context(), hostport(r.URL, h))
	if err != nil {
		return nil, err
	}
	resp, err := way.RoundTrip(r)
	if err != nil {
		release()
		return nil, err
	}
	resp.Body = leaving(resp.Body, release)
	return resp, nil
}

// checkProxied resolves and checks what the guard would see when it dials.
func (c *Client) checkProxied(ctx context.Context, u *url.URL, h Host) error {
	_, port, _ := net.SplitHostPort(hostport(u, h))
	n, _ := strconv.Atoi(port)
	_, err := c.guard.Resolve(ctx, h.Name, n)
	if l, ok := errors.AsType[*LookupError](err); ok {
		if c.o.ProxyResolves {
			return nil
		}
		return fmt.Errorf("%w. Requests go through a proxy, and names are checked here first; where only the proxy resolves names, an operator can leave them to it (option proxy_resolves)", l)
	}
	return err
}

// check says why a URL is not requested, as far as that shows without a look at
// the network.
func (c *Client) check(u *url.URL) (Host, error) {
	h, err := checkURL(u)
	if err != nil {
		return Host{}, err
	}
	at := hostport(u, h)
	if c.service != "" && at != c.service {
		return Host{}, &URLError{fmt.Sprintf("refused: %s is not the service %s that was set", show(at), c.service)}
	}
	_, port, _ := net.SplitHostPort(at)
	n, _ := strconv.Atoi(port)
	if len(c.o.Ports) > 0 && !slices.Contains(c.o.Ports, n) && !c.guard.Names(h, n) {
		return Host{}, &URLError{"refused: the port is none of those of the web, which alone are fetched"}
	}
	return h, nil
}

// A URLError is the error for a URL that is not requested.
type URLError struct{ why string }

// Error says what is wrong with the URL.
func (e *URLError) Error() string { return e.why }

func parseURL(s string) (*url.URL, Host, error) {
	s = strings.TrimSpace(s)
	if len(s) > maxURL {
		return nil, Host{}, &URLError{fmt.Sprintf("the address is longer than %d bytes", maxURL)}
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, Host{}, &URLError{"the address is no valid URL"}
	}
	u.Fragment, u.RawFragment = "", ""
	h, err := checkURL(u)
	return u, h, err
}

func checkURL(u *url.URL) (Host, error) {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return Host{}, &URLError{fmt.Sprintf("the address has the scheme %q; only http and https can be fetched", show(u.Scheme))}
	case u.User != nil:
		return Host{}, &URLError{"the address holds a user name before @, which is not sent. Leave that part out"}
	case u.Opaque != "" || u.Hostname() == "":
		return Host{}, &URLError{"the address names no host"}
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return Host{}, &URLError{"the address has a port that is not between 1 and 65535"}
		}
	}
	return ParseHost(u.Hostname())
}

// hostport returns where a URL leads, in one spelling.
func hostport(u *url.URL, h Host) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(h.Name, port)
}

// proxyFunc returns how the proxy of a request is found.
func proxyFunc(option string) (func(*url.URL) (*url.URL, error), error) {
	switch option {
	case "":
		return httpproxy.FromEnvironment().ProxyFunc(), nil
	case "none":
		return func(*url.URL) (*url.URL, error) { return nil, nil }, nil
	}
	u, err := url.Parse(option)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New(`it is no URL such as http://proxy.example:3128; "none" is for none`) // the value may hold a password
	}
	if !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return nil, fmt.Errorf("the scheme %q is not that of a proxy; use http, https or socks5", show(u.Scheme))
	}
	env := httpproxy.FromEnvironment()
	return (&httpproxy.Config{HTTPProxy: option, HTTPSProxy: option, NoProxy: env.NoProxy}).ProxyFunc(), nil
}

// ReadRoots returns the certificates to trust: those of a PEM file besides the
// system's, or nil for the system's alone. (On Linux and the BSDs these are already
// those of SSL_CERT_FILE and SSL_CERT_DIR, where they are set.)
func ReadRoots(file string) (*x509.CertPool, error) {
	var roots *x509.CertPool
	if file == "" {
		return roots, nil
	}
	pem, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, err
	}
	if roots, err = x509.SystemCertPool(); err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", show(file))
	}
	return roots, nil
}
