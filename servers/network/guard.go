package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"
)

// A guard decides which hosts the tools may reach, and is the only way by which
// they reach one. A model chooses the hosts, perhaps because a page that it read
// told it to; what it must not reach through this machine is what only this
// machine can reach: its own services, its private networks, a cloud's metadata.
//
// A name is resolved once. If any of its addresses is refused, all are; and the
// connection is made to the very addresses that were checked, so that a name
// server which gives another answer a moment later (DNS rebinding) gains nothing.
// Every connection goes this way: the first, and each after a redirect or a
// referral.
//
// Why this is not a library: those that exist check the address when a TCP
// socket is connected, which is sound, but knows neither the name that was asked
// for nor pings and DNS answers, and opens no single host and port.
type guard struct {
	allow  []opening
	lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// A host is what a model named, once it is known to be well formed.
type host struct {
	name string     // lower case, ASCII, without a final dot; an address as netip prints it
	addr netip.Addr // valid where the host is an address
}

// A target is a host that may be reached, at these addresses and no others.
type target struct {
	host
	addrs []netip.Addr
}

// A refusal is the error for a host that must not be reached.
type refusal struct {
	host string // as it was named
	why  string
	open string // entry for the option allow that would open it, or empty
}

// Error says what was refused and why, and who can change it.
func (r *refusal) Error() string {
	s := fmt.Sprintf("refused: %s %s. This server reaches public addresses only; another spelling of the host will not help.", show(r.host), r.why)
	if r.open != "" {
		s += fmt.Sprintf(" If it is meant to be reached, an operator can add %q to the option allow of the server network.", show(r.open))
	}
	return s
}

// A hostError is the error for what is no host at all.
type hostError struct{ host, why string }

// Error says what is wrong with the host and how to write one.
func (e *hostError) Error() string {
	return fmt.Sprintf("%q is no host: %s. Give a name such as example.com, or an address such as 93.184.215.14", show(e.host), e.why)
}

// parseHost reads the name of a host or an address. There is one spelling of an
// address: what the resolvers of some systems take for one besides (2130706433,
// 0177.0.0.1, 0x7f.1, 127.1) is refused, also in full-width digits.
func parseHost(s string) (host, error) {
	s = strings.TrimSpace(s)
	bare := s
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		bare = strings.TrimSuffix(inner, "]")
	}
	switch {
	case s == "":
		return host{}, &hostError{s, "it is empty"}
	case len(s) > 255:
		return host{}, &hostError{s, "it is too long"}
	case strings.HasPrefix(bare, "-"):
		return host{}, &hostError{s, "it begins with a hyphen"}
	case strings.Contains(bare, "%"):
		return host{}, &hostError{s, "zones and escapes are not taken"}
	case strings.Contains(bare, "://"):
		return host{}, &hostError{s, "it is a URL"}
	}
	if a, err := netip.ParseAddr(bare); err == nil {
		if a.Is4In6() {
			return host{}, &refusal{s, "is " + special(a), ""}
		}
		return host{a.String(), a}, nil
	}
	name, err := asciiName(s)
	if err != nil {
		return host{}, &hostError{s, err.Error()}
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; isNumber(last) {
		return host{}, &hostError{s, "it ends in a number like an address but is not written as one"}
	}
	return host{name: name}, nil
}

// asciiName returns a name as it is looked up, or what is wrong with it.
func asciiName(s string) (string, error) {
	name := strings.ToLower(s)
	if !isASCII(s) {
		mapped, err := idna.Lookup.ToASCII(s)
		if err != nil {
			return "", errors.New("it is no valid international name")
		}
		name = mapped
	}
	name = strings.TrimSuffix(name, ".")
	if len(name) > 253 {
		return "", errors.New("it is too long")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") {
			return "", errors.New("a part of it is empty, too long, or begins with a hyphen")
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", fmt.Errorf("%q has no place in it", rune(c))
			}
		}
	}
	return name, nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// isNumber reports whether some system takes a label for a number: decimal,
// octal or hexadecimal.
func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	for _, c := range []byte(digits) {
		if (c < '0' || c > '9') && (!hex || c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// resolve returns the addresses at which a host may be reached. The port is that
// of the connection that is meant; 0 where there is none.
func (g *guard) resolve(ctx context.Context, named string, port int) (target, error) {
	h, err := parseHost(named)
	if err != nil {
		return target{}, err
	}
	if h.addr.IsValid() {
		if why := g.refuses(h.addr, "", port); why != "" {
			return target{}, &refusal{h.name, "is " + why, entry(h, port)}
		}
		return target{h, []netip.Addr{h.addr}}, nil
	}
	if isLocal(h.name) && !g.opensName(h.name, port) {
		return target{}, &refusal{h.name, "is this machine", entry(h, port)}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := g.lookup(ctx, h.name)
	if err != nil {
		return target{}, &lookupError{h.name, err}
	}
	t := target{host: h, addrs: make([]netip.Addr, 0, len(found))}
	for _, a := range found {
		a = a.Unmap() // some resolvers give IPv4 in this form
		if why := g.refuses(a, h.name, port); why != "" {
			// The address itself is not told: where a name leads inside is not for the outside.
			return target{}, &refusal{h.name, "leads to " + why, entry(h, port)}
		}
		t.addrs = append(t.addrs, a)
	}
	if len(t.addrs) == 0 {
		return target{}, &lookupError{h.name, errNoAddress}
	}
	return t, nil
}

// isLocal reports whether a name means this machine by definition (RFC 6761).
func isLocal(name string) bool { return name == "localhost" || strings.HasSuffix(name, ".localhost") }

// entry returns the entry of allow that opens a host.
func entry(h host, port int) string {
	if isMetadata(h.addr) {
		return "" // not for a model to suggest
	}
	if port == 0 {
		return h.name
	}
	return net.JoinHostPort(h.name, strconv.Itoa(port))
}

// refuses says what kind of address a is where it must not be reached, and
// returns "" where it may. The name is the one that led to it, if any.
func (g *guard) refuses(a netip.Addr, name string, port int) string {
	why := special(a)
	if why == "" {
		return ""
	}
	if isMetadata(a) {
		for _, o := range g.allow {
			if o.prefix.IsValid() && o.prefix.IsSingleIP() && o.prefix.Contains(a) && o.opensPort(port) {
				return ""
			}
		}
		return why
	}
	if !g.opensName(name, port) && !g.opensAddress(a, port) {
		return why
	}
	if inner, ok := embedded(a); ok { // a gateway passes it on: the inner address counts too
		if what := g.refuses(inner, name, port); what != "" {
			return what
		}
	}
	return ""
}

func (g *guard) opensName(name string, port int) bool {
	for _, o := range g.allow {
		if name != "" && o.opensName(name) && o.opensPort(port) {
			return true
		}
	}
	return false
}

func (g *guard) opensAddress(a netip.Addr, port int) bool {
	for _, o := range g.allow {
		if o.prefix.IsValid() && o.prefix.Contains(a) && o.opensPort(port) {
			return true
		}
	}
	return false
}

// names reports whether the operator named this host with this port: more than
// that it is public.
func (g *guard) names(h host, port int) bool {
	if h.addr.IsValid() {
		return g.opensAddress(h.addr, port)
	}
	return g.opensName(h.name, port)
}

// DialContext connects to host:port as a [net.Dialer] does, if the guard lets it.
// The host is resolved here, and only the addresses that were checked are tried,
// one after the other in the time that ctx leaves.
func (g *guard) DialContext(ctx context.Context, network, hostport string) (net.Conn, error) {
	named, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, &hostError{hostport, "its port is missing or wrong"}
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil || port == 0 {
		return nil, &hostError{hostport, "its port is not between 1 and 65535"}
	}
	t, err := g.resolve(ctx, named, int(port))
	if err != nil {
		return nil, err
	}
	return g.connect(ctx, network, t, uint16(port))
}

// connect tries the addresses of t, each with its share of the time that is left.
func (g *guard) connect(ctx context.Context, network string, t target, port uint16) (net.Conn, error) {
	const most = 6 // a name with more addresses than that answers at one of the first, or not at all
	addrs := t.addrs[:min(most, len(t.addrs))]
	var first error
	for i, a := range addrs {
		conn, err := g.attempt(ctx, network, netip.AddrPortFrom(a, port), len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (g *guard) attempt(ctx context.Context, network string, at netip.AddrPort, share int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(share))
		defer cancel()
	}
	return g.dial(ctx, network, at.String())
}

// lookupTime bounds the resolution of one name.
const lookupTime = 5 * time.Second

var errNoAddress = errors.New("it has no address")

// A lookupError is the error for a name that does not resolve.
type lookupError struct {
	name string
	err  error
}

// Error says what the name servers said.
func (e *lookupError) Error() string {
	if d, ok := errors.AsType[*net.DNSError](e.err); ok {
		switch {
		case d.IsNotFound:
			return fmt.Sprintf("DNS: there is no host %s. Check the spelling", e.name)
		case d.IsTimeout:
			return fmt.Sprintf("DNS: no answer for %s in time. The name servers may be down, or this machine has no network", e.name)
		}
		return fmt.Sprintf("DNS: %s for %s", show(d.Err), e.name)
	}
	return fmt.Sprintf("DNS: %s: %s", e.name, show(e.err.Error()))
}

// Unwrap returns the resolver's error.
func (e *lookupError) Unwrap() error { return e.err }
