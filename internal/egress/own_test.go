package egress_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// TestOwnAddresses: a public address of this machine leads to its own services.
func TestOwnAddresses(t *testing.T) {
	g, err := egress.NewGuard("network", []string{"198.41.0.4:8443"})
	if err != nil {
		t.Fatal(err)
	}
	g.Own = func() ([]net.Addr, error) {
		var list []net.Addr
		for _, s := range []string{"93.184.216.34/24", "198.41.0.4/32", "2606:2800:220:1::5/64"} {
			ip, n, err := net.ParseCIDR(s)
			if err != nil {
				return nil, err
			}
			list = append(list, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		return list, nil
	}
	for address, refused := range map[string]bool{
		"93.184.216.34": true, "93.184.216.35": false, "2606:2800:220:1::5": true, "2606:2800:220:1::77": true, "2606:2800:220:2::77": false,
		"8.8.8.8": false, "127.0.0.1": true,
	} {
		if got := g.Refuses(netip.MustParseAddr(address), "", 443); (got != "") != refused {
			t.Errorf("%s: %q", address, got)
		}
	}
	own := netip.MustParseAddr("198.41.0.4")
	if got := g.Refuses(own, "", 8443); got != "" {
		t.Errorf("what is opened: %q", got)
	}
	if got := g.Refuses(own, "", 22); got == "" {
		t.Error("another port of it is reached")
	}
}
