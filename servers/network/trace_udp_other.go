//go:build !linux

package network

import (
	"errors"
	"net/netip"
)

// newUDP fails: only Linux tells a socket what routers say of its packets.
func newUDP(netip.Addr) (prober, error) { return nil, errors.ErrUnsupported }
