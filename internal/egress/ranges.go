package egress

import (
	"net/netip"
	"slices"
)

// A block is a range of addresses that no tool reaches unless the operator opens
// it, and why.
type block struct {
	prefix netip.Prefix
	what   string
}

// blocks are the ranges of the IANA registries of special-purpose addresses
// (iana-ipv4-special-registry, iana-ipv6-special-registry, RFC 6890) that are not
// reachable from everywhere, or that carry another address inside. For IPv6 it
// is enough to list those inside 2000::/3: everything else is refused as a whole.
var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "this machine"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a provider's shared network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "this machine (loopback)"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private network"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private network"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},

	{netip.MustParsePrefix("::/128"), "this machine"},
	{netip.MustParsePrefix("::1/128"), "this machine (loopback)"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "an IPv4 address written as IPv6"},
	{nat64, "an IPv4 address behind NAT64"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an IPv4 address behind a local NAT64"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo tunnel"},
	{netip.MustParsePrefix("2001:2::/48"), "an address for benchmarks"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{sixToFour, "a 6to4 tunnel"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
	{netip.MustParsePrefix("fc00::/7"), "a private network"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

var (
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour     = netip.MustParsePrefix("2002::/16")
	globalUnicast = netip.MustParsePrefix("2000::/3")
)

// metadata are the addresses at which clouds hand out credentials to whoever
// asks. Only an opening of exactly such an address opens it: neither a network
// that holds it, nor a name that leads to it.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // AWS, Azure, Google, DigitalOcean, OpenStack
	netip.MustParseAddr("169.254.170.2"),   // AWS containers
	netip.MustParseAddr("169.254.170.23"),  // AWS EKS pod identity
	netip.MustParseAddr("168.63.129.16"),   // Azure, a public address
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd00:ec2::23"),    // AWS EKS pod identity
	netip.MustParseAddr("fd20:ce::254"),    // Google
}

// Special says what kind of address a is where it is not one that is reachable
// from everywhere; else it returns "".
func Special(a netip.Addr) string {
	if isMetadata(a) {
		return "a cloud's metadata service"
	}
	if a.Zone() != "" {
		return "an address with a zone"
	}
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b.what
		}
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return "a reserved address"
	}
	if !a.IsValid() {
		return "no address"
	}
	return ""
}

func isMetadata(a netip.Addr) bool { return slices.Contains(metadata, a.WithZone("")) }

// embedded returns the IPv4 address that a carries to a gateway, if it does.
func embedded(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	switch {
	case a.Is4In6():
		return a.Unmap(), true
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}
