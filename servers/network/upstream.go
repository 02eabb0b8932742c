package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// An upstream is a name server with the way to ask it.
type upstream struct {
	shown string
	ask   func(ctx context.Context, q *dns.Msg) (*dns.Msg, error)
}

// A dialer connects; the guard's is for what a model named.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// upstreams makes ways to ask name servers.
type upstreams struct {
	dial  dialer
	doh   func(base string) (*egress.Client, error)
	roots *x509.CertPool
	guard *egress.Guard // set where a model names them: whose ports are those of DNS, or the operator's choice
}

// newUpstream reads the name of a name server: an address or name with or without
// a port for the plain protocol, tls://dns.example for DNS over TLS, or
// https://dns.example/dns-query for DNS over HTTPS.
func (u upstreams) newUpstream(s string) (upstream, error) {
	s = strings.TrimSpace(s)
	scheme, rest, _ := strings.Cut(s, "://")
	switch {
	case strings.HasPrefix(s, "https://"):
		return u.https(s)
	case rest == "":
		rest, scheme = s, "dns"
	case scheme != "tls" && scheme != "dns":
		return upstream{}, fmt.Errorf("the scheme %s is not offered. Give an address such as 1.1.1.1, tls://dns.example or https://dns.example/dns-query", show(scheme))
	}
	h, port, err := serverAddress(strings.TrimSuffix(rest, "/"))
	if err != nil {
		return upstream{}, err
	}
	if u.guard != nil && port != 0 && port != 53 && port != 853 && !u.guard.Names(h, port) {
		return upstream{}, fmt.Errorf("refused: the port %d is not that of name servers, 53 or 853", port)
	}
	if scheme == "tls" {
		at := net.JoinHostPort(h.Name, strconv.Itoa(first(port, 853)))
		return upstream{"tls://" + at, func(ctx context.Context, q *dns.Msg) (*dns.Msg, error) { return u.overTLS(ctx, q, h.Name, at) }}, nil
	}
	at := net.JoinHostPort(h.Name, strconv.Itoa(first(port, 53)))
	return upstream{at, func(ctx context.Context, q *dns.Msg) (*dns.Msg, error) { return u.plain(ctx, q, at) }}, nil
}

func first(port, otherwise int) int {
	if port == 0 {
		return otherwise
	}
	return port
}

// serverAddress reads host, host:port, an address, or [address]:port.
func serverAddress(s string) (egress.Host, int, error) {
	if a, err := netip.ParseAddr(s); err == nil {
		h, err := egress.ParseHost(a.String())
		return h, 0, err
	}
	name, port, err := egress.SplitPort(s)
	if err != nil {
		return egress.Host{}, 0, err
	}
	h, err := egress.ParseHost(name)
	return h, port, err
}

// plain asks over UDP, twice, and over TCP where the answer was cut.
func (u upstreams) plain(ctx context.Context, q *dns.Msg, at string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	m, err := u.over(ctx, "udp", q, at, queryTime/2)
	if err != nil && isTimeout(err) && ctx.Err() == nil { // a packet may get lost
		m, err = u.over(ctx, "udp", q, at, queryTime/2)
	}
	if err != nil || !m.Truncated {
		return m, err
	}
	return u.over(ctx, "tcp", q, at, queryTime)
}

func (u upstreams) over(ctx context.Context, network string, q *dns.Msg, at string, limit time.Duration) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := u.dial(ctx, network, at)
	if err != nil {
		return nil, err
	}
	return exchangeOn(ctx, conn, q)
}

// exchangeOn asks over a connection, which it closes.
func exchangeOn(ctx context.Context, conn net.Conn, q *dns.Msg) (*dns.Msg, error) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // wakes the reader
	defer stop()
	c := &dns.Client{Timeout: queryTime, UDPSize: 1232}
	m, _, err := c.ExchangeWithConnContext(ctx, q, &dns.Conn{Conn: conn, UDPSize: 1232})
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return m, asked(m, q)
}

// asked reports an answer to another question.
func asked(m, q *dns.Msg) error {
	if len(m.Question) == 1 && m.Question[0].Qtype == q.Question[0].Qtype && strings.EqualFold(m.Question[0].Name, q.Question[0].Name) {
		return nil
	}
	if len(m.Question) == 0 && m.Rcode != dns.RcodeSuccess {
		return nil
	}
	return errors.New("the name server answered another question")
}

func (u upstreams) overTLS(ctx context.Context, q *dns.Msg, name, at string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	raw, err := u.dial(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{ServerName: name, RootCAs: u.roots, NextProtos: []string{"dot"}, MinVersion: tls.VersionTLS12})
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return exchangeOn(ctx, conn, q)
}

// https asks by RFC 8484.
func (u upstreams) https(base string) (upstream, error) {
	at, err := url.Parse(base)
	if err != nil || at.Hostname() == "" || at.User != nil {
		return upstream{}, errors.New("the name server is no URL such as https://dns.example/dns-query") // it may hold a password
	}
	if at.Path == "" {
		at.Path = "/dns-query"
	}
	at.RawQuery, at.Fragment = "", ""
	client, err := u.doh(at.String())
	if err != nil {
		return upstream{}, err
	}
	return upstream{at.String(), func(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
		defer client.Close()
		q = q.Copy()
		q.Id = 0 // so that caches on the way may answer
		b, err := q.Pack()
		if err != nil {
			return nil, err
		}
		resp, err := client.Do(ctx, egress.Request{
			Method: http.MethodPost, URL: at.String(), Body: b, MaxBody: dns.MaxMsgSize, Timeout: queryTime,
			Header: http.Header{"Content-Type": {"application/dns-message"}, "Accept": {"application/dns-message"}},
		})
		if err != nil {
			return nil, err
		}
		if !resp.OK() {
			return nil, fmt.Errorf("the name server answered with the HTTP status %d", resp.Status)
		}
		m := new(dns.Msg)
		if err := m.Unpack(resp.Body); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		return m, asked(m, q)
	}}, nil
}
