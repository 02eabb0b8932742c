package egress

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

// A Guard decides which hosts the tools may reach, and is the only way by which
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
type Guard struct {
	// Lookup resolves a name, and Dial connects to an address. They are the
	// system's where a caller sets no others.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	// Own returns the networks that this machine has addresses in; net.InterfaceAddrs
	// where it is nil.
	Own func() ([]net.Addr, error)

	server string
	allow  []opening
}

// NewGuard returns a guard. Server is the bundled server whose option allow holds
// the entries, for the texts of refusals; empty where nobody can open anything. An
// entry is a network, an address or a name, with or without a port: 10.20.0.0/16,
// 10.1.2.3:443, [fd00::1]:443, db.internal:5432, *.corp.example. The error for one
// that cannot be read names it.
func NewGuard(server string, allow []string) (*Guard, error) {
	g := &Guard{server: server, Dial: (&net.Dialer{}).DialContext, Lookup: func(ctx context.Context, name string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	}}
	for _, e := range allow {
		o, err := parseOpening(e)
		if err != nil {
			return nil, fmt.Errorf("option allow: %q: %w", e, err)
		}
		g.allow = append(g.allow, o)
	}
	return g, nil
}

// A Host is what a model named, once it is known to be well formed.
type Host struct {
	Name string     // lower case, ASCII, without a final dot; an address as netip prints it
	Addr netip.Addr // valid where the host is an address
}

// A Target is a host that may be reached, at these addresses and no others.
type Target struct {
	Host
	Addrs []netip.Addr
}

// A Refusal is the error for a host that must not be reached.
type Refusal struct {
	host string // as it was named
	why  string
	open string // entry for the option allow that would open it, or empty

	server string // whose option that is, or empty
}

// Error says what was refused and why, and who can change it.
func (r *Refusal) Error() string {
	s := fmt.Sprintf("refused: %s %s. Only public addresses are reached; another spelling of the host will not help.", show(r.host), r.why)
	if r.open != "" && r.server != "" {
		s += fmt.Sprintf(" If it is meant to be reached, an operator can add %q to the option allow of the server %s.", show(r.open), r.server)
	}
	return s
}

// Refused says that a rule stands behind the error: see package typed.
func (r *Refusal) Refused() bool { return true }

// A HostError is the error for what is no host at all.
type HostError struct{ host, why string }

// Error says what is wrong with the host and how to write one.
func (e *HostError) Error() string {
	return fmt.Sprintf("%q is no host: %s. Give a name such as example.com, or an address such as 93.184.215.14", show(e.host), e.why)
}

// ParseHost reads the name of a host or an address. There is one spelling of an
// address: what the resolvers of some systems take for one besides (2130706433,
// 0177.0.0.1, 0x7f.1, 127.1) is refused, also in full-width digits.
func ParseHost(s string) (Host, error) {
	s = strings.TrimSpace(s)
	bare := s
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		bare = strings.TrimSuffix(inner, "]")
	}
	switch {
	case s == "":
		return Host{}, &HostError{s, "it is empty"}
	case len(s) > 255:
		return Host{}, &HostError{s, "it is too long"}
	case strings.HasPrefix(bare, "-"):
		return Host{}, &HostError{s, "it begins with a hyphen"}
	case strings.Contains(bare, "%"):
		return Host{}, &HostError{s, "zones and escapes are not taken"}
	case strings.Contains(bare, "://"):
		return Host{}, &HostError{s, "it is a URL"}
	}
	if a, err := netip.ParseAddr(bare); err == nil {
		if a.Is4In6() {
			return Host{}, &Refusal{host: s, why: "is " + Special(a)}
		}
		return Host{a.String(), a}, nil
	}
	name, err := asciiName(s)
	if err != nil {
		return Host{}, &HostError{s, err.Error()}
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; isNumber(last) {
		return Host{}, &HostError{s, "it ends in a number like an address but is not written as one"}
	}
	return Host{Name: name}, nil
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

// Resolve returns the addresses at which a host may be reached. The port is that
// of the connection that is meant; 0 where there is none.
func (g *Guard) Resolve(ctx context.Context, named string, port int) (Target, error) {
	h, err := ParseHost(named)
	if err != nil {
		return Target{}, err
	}
	if h.Addr.IsValid() {
		if why := g.Refuses(h.Addr, "", port); why != "" {
			return Target{}, g.refuse(h, port, "is "+why)
		}
		return Target{h, []netip.Addr{h.Addr}}, nil
	}
	if IsLocal(h.Name) && !g.opensName(h.Name, port) {
		return Target{}, g.refuse(h, port, "is this machine")
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	found, err := g.Lookup(ctx, h.Name)
	if err != nil {
		return Target{}, &LookupError{h.Name, err}
	}
	t := Target{Host: h, Addrs: make([]netip.Addr, 0, len(found))}
	for _, a := range found {
		a = a.Unmap() // some resolvers give IPv4 in this form
		if why := g.Refuses(a, h.Name, port); why != "" {
			// The address itself is not told: where a name leads inside is not for the outside.
			return Target{}, g.refuse(h, port, "leads to "+why)
		}
		t.Addrs = append(t.Addrs, a)
	}
	if len(t.Addrs) == 0 {
		return Target{}, &LookupError{h.Name, errNoAddress}
	}
	return t, nil
}

// IsLocal reports whether a name means this machine by definition (RFC 6761).
func IsLocal(name string) bool { return name == "localhost" || strings.HasSuffix(name, ".localhost") }

func (g *Guard) refuse(h Host, port int, why string) *Refusal {
	return &Refusal{host: h.Name, why: why, open: entry(h, port), server: g.server}
}

// entry returns the entry of allow that opens a host.
func entry(h Host, port int) string {
	if isMetadata(h.Addr) {
		return "" // not for a model to suggest
	}
	if port == 0 {
		return h.Name
	}
	return net.JoinHostPort(h.Name, strconv.Itoa(port))
}

// Refuses says what kind of address a is where it must not be reached, and
// returns "" where it may. The name is the one that led to it, if any.
func (g *Guard) Refuses(a netip.Addr, name string, port int) string {
	why := Special(a)
	if why == "" {
		why = g.near(a)
	}
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
		if what := g.Refuses(inner, name, port); what != "" {
			return what
		}
	}
	return ""
}

// near says whether a public address is one of this machine, whose services may hold
// others for near, or by IPv6 one of its own network: there every machine has a public
// address.
func (g *Guard) near(a netip.Addr) string {
	own := g.Own
	if own == nil {
		own = net.InterfaceAddrs
	}
	networks, err := own()
	if err != nil {
		return "an address that cannot be told from those of this machine"
	}
	for _, n := range networks {
		ip, ok := n.(*net.IPNet)
		if !ok {
			continue
		}
		addr, ok := netip.AddrFromSlice(ip.IP)
		if !ok {
			continue
		}
		addr = addr.Unmap()
		if addr == a {
			return "an address of this machine"
		}
		if bits, _ := ip.Mask.Size(); a.Is6() && addr.Is6() && bits >= 48 && netip.PrefixFrom(addr, bits).Masked().Contains(a) {
			return "an address of this machine's own network"
		}
	}
	return ""
}

func (g *Guard) opensName(name string, port int) bool {
	for _, o := range g.allow {
		if name != "" && o.opensName(name) && o.opensPort(port) {
			return true
		}
	}
	return false
}

func (g *Guard) opensAddress(a netip.Addr, port int) bool {
	for _, o := range g.allow {
		if o.prefix.IsValid() && o.prefix.Contains(a) && o.opensPort(port) {
			return true
		}
	}
	return false
}

// Names reports whether the operator named this host with this port: more than
// that it is public.
func (g *Guard) Names(h Host, port int) bool {
	if h.Addr.IsValid() {
		return g.opensAddress(h.Addr, port)
	}
	return g.opensName(h.Name, port)
}

// DialContext connects to host:port as a [net.Dialer] does, if the guard lets it.
// The host is resolved here, and only the addresses that were checked are tried,
// one after the other in the time that ctx leaves.
func (g *Guard) DialContext(ctx context.Context, network, hostport string) (net.Conn, error) {
	named, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, &HostError{hostport, "its port is missing or wrong"}
	}
	port, err := strconv.ParseUint(p, 10, 16)
	if err != nil || port == 0 {
		return nil, &HostError{hostport, "its port is not between 1 and 65535"}
	}
	t, err := g.Resolve(ctx, named, int(port))
	if err != nil {
		return nil, err
	}
	return g.Connect(ctx, network, t, uint16(port))
}

// Connect tries the addresses of t, each with its share of the time that is left.
func (g *Guard) Connect(ctx context.Context, network string, t Target, port uint16) (net.Conn, error) {
	const most = 6 // a name with more addresses than that answers at one of the first, or not at all
	addrs := t.Addrs[:min(most, len(t.Addrs))]
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

func (g *Guard) attempt(ctx context.Context, network string, at netip.AddrPort, share int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(share))
		defer cancel()
	}
	return g.Dial(ctx, network, at.String())
}

// lookupTime bounds the resolution of one name.
const lookupTime = 5 * time.Second

var errNoAddress = errors.New("it has no address")

// atFault is what to do about name servers that do not work.
const atFault = "The name servers are at fault or cannot be reached, not the name: try again later, or ask another name server"

// A LookupError is the error for a name that does not resolve.
type LookupError struct {
	name string
	err  error
}

// Error says what the name servers said.
func (e *LookupError) Error() string {
	name := strings.TrimRight(e.name, ".")
	if d, ok := errors.AsType[*net.DNSError](e.err); ok {
		switch {
		case d.IsNotFound && strings.HasSuffix(name, ".arpa"):
			return fmt.Sprintf("DNS: there is no name %s: the address has none", name)
		case d.IsNotFound:
			return fmt.Sprintf("DNS: there is no host %s. Check the spelling; where it is right, or was not given by you, the name servers of this machine do not know it: it may have no way to the internet", name)
		case d.IsTimeout:
			return fmt.Sprintf("DNS: no answer for %s in time. The name servers may be down, or this machine has no network", name)
		}
		return fmt.Sprintf("DNS: %s for %s. %s", show(d.Err), name, atFault)
	}
	if errors.Is(e.err, errNoAddress) {
		return fmt.Sprintf("DNS: %s: %s", name, show(e.err.Error()))
	}
	return fmt.Sprintf("DNS: %s: %s. %s", name, show(e.err.Error()), atFault)
}

// Unwrap returns the resolver's error.
func (e *LookupError) Unwrap() error { return e.err }

// NewLookupError returns the error for a name that does not resolve.
func NewLookupError(name string, err error) *LookupError { return &LookupError{name, err} }

// Of returns the refusal of an address as one of the name that led to it, which
// does not tell the address.
func (r *Refusal) Of(name string) *Refusal {
	return &Refusal{host: name, why: "leads to " + strings.TrimPrefix(r.why, "is "), open: name, server: r.server}
}
