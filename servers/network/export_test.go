package network

import (
	"context"
	"net"
	"net/netip"

	"github.com/miekg/dns"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Hooks stand in for what a test must not reach: the world's name servers and
// hosts. A nil one is the real thing.
type Hooks struct {
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)

	Anchors []*dns.DS // keys of the root of DNS
	UDP     bool      // trace as those do who may not send ICMP
}

func hooked(o Options, h Hooks) (*server, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	if h.Lookup != nil {
		s.guard.Lookup = h.Lookup
	}
	if h.Dial != nil {
		s.guard.Dial = h.Dial
	}
	s.anchors, s.traceByUDP = h.Anchors, h.UDP
	return s, nil
}

// NewHooked returns the server with hooks.
func NewHooked(o Options, h Hooks) (*mcp.Server, error) {
	s, err := hooked(o, h)
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

// HTTPCheck calls the tool http_check without a client.
func HTTPCheck(ctx context.Context, o Options, h Hooks, url string) (string, error) {
	s, err := hooked(o, h)
	if err != nil {
		return "", err
	}
	text, _, err := (&fetcher{s.guard, s.roots}).check(ctx, httpInput{URL: url, TimeoutSec: 5})
	return text, err
}

// Reversed reads a name of in-addr.arpa or ip6.arpa.
func Reversed(name string) (netip.Addr, bool) { return reversed(name) }

// Quoted reads the echo request that a router quotes.
func Quoted(b []byte, v6 bool) (id, seq int, ok bool) { return quoted(b, v6) }

// SystemServers returns the system's name servers.
func SystemServers(ctx context.Context) []string { return systemServers(ctx) }
