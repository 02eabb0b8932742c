package login

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// askBound bounds one request to an issuer.
const askBound = 15 * time.Second

// guarded returns the client for what a server and its issuer name: addresses that
// somebody else chose. It reaches what is public, and the host of the server itself;
// from a server on this machine also what else is on it. Redirects are answers.
func guarded(server string) *http.Client {
	own := &url.URL{}
	if u, err := url.Parse(server); err == nil {
		own = u
	}
	g := &guard{host: own.Hostname(), local: isLocal(own.Hostname()), public: ssrf.New(
		ssrf.WithAnyPort(),
		ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")), // Azure's, a public address
	)}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: secured{local: g.local, next: &http.Transport{
			DialContext: g.dial, TLSHandshakeTimeout: askBound, MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives: true, ForceAttemptHTTP2: true,
		}},
	}
}

type guard struct {
	host   string // of the server
	local  bool   // it is on this machine
	public *ssrf.Guardian
}

func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: askBound}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.EqualFold(host, g.host):
	case g.local && isLocal(host):
		d.Control = onlyLoopback
	default:
		d.Control = g.public.Safe
	}
	conn, err := d.DialContext(ctx, network, address)
	if errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) {
		return nil, fmt.Errorf("%s is no public address, and not the host of the server", host)
	}
	return conn, err
}

// onlyLoopback refuses what a name like localhost should not mean.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !to.Addr().Unmap().IsLoopback() {
		return fmt.Errorf("%s is not on this machine", address)
	}
	return nil
}

func isLocal(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// secured refuses addresses on whose way somebody may listen. It reads answers to their
// end, within bounds: of what it gives back nothing has to be closed.
type secured struct {
	local bool
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s secured) RoundTrip(req *http.Request) (*http.Response, error) {
	if !secureURL(req.URL, s.local) {
		return nil, fmt.Errorf("%s://%s is neither https nor on this machine beside the server", req.URL.Scheme, req.URL.Host)
	}
	ctx, cancel := context.WithTimeoutCause(req.Context(), askBound, fmt.Errorf("%s did not answer within %s", req.URL.Host, askBound))
	defer cancel()
	resp, err := s.next.RoundTrip(req.WithContext(ctx))
	if err == nil {
		var text []byte
		text, err = io.ReadAll(io.LimitReader(resp.Body, maxMetadata+1))
		_ = resp.Body.Close() // it was read, or is given up
		resp.Body = io.NopCloser(bytes.NewReader(text))
		if len(text) > maxMetadata {
			err = fmt.Errorf("%s answered with more than %d bytes", req.URL.Host, maxMetadata)
		}
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// secureURL reports whether secrets may be sent there.
func secureURL(u *url.URL, local bool) bool {
	return u.Scheme == "https" && u.Host != "" || u.Scheme == "http" && local && isLocal(u.Hostname())
}
