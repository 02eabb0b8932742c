package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"syscall"
)

// ErrNotLoopback is in the chain of the error of an address beyond loopback.
var ErrNotLoopback = errors.New("not a loopback address")

// ErrBusy is in the chain of the error of an address that something else uses.
var ErrBusy = errors.New("address already in use")

// listen binds addr. Beyond loopback it does so only where every request must bring
// a credential.
func listen(ctx context.Context, addr string, authenticated bool) (net.Listener, error) {
	ips, portText, err := allowed(ctx, addr, authenticated)
	if err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(ips[0].Unmap().String(), portText))
	if busy(err) {
		return nil, fmt.Errorf("listen on %s: %w", addr, ErrBusy)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return ln, nil
}

// CheckAddress returns what Listen would refuse an address for before it tries to
// listen there.
func CheckAddress(ctx context.Context, addr string, authenticated bool) error {
	_, _, err := allowed(ctx, addr, authenticated)
	return err
}

// allowed returns what an address stands for, and its port.
func allowed(ctx context.Context, addr string, authenticated bool) ([]netip.Addr, string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", fmt.Errorf("listen on %q: want host:port, such as 127.0.0.1:8400: %w", addr, err)
	}
	ips, err := addresses(ctx, host)
	if err != nil {
		return nil, "", fmt.Errorf("listen on %s: %w", addr, err)
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() && !authenticated {
			return nil, "", fmt.Errorf("listen on %s: %w: whoever can reach it could call every tool, and nobody has a key that counts", addr, ErrNotLoopback)
		}
	}
	return ips, port, nil
}

// addresses returns what host stands for, never nothing. An empty host is all
// interfaces.
func addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if host == "" {
		return []netip.Addr{netip.IPv6Unspecified()}, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("host %s has no address", host)
	}
	// IPv4 first: it is what clients try when they read "localhost" in a URL.
	for i, ip := range ips {
		if ip.Unmap().Is4() {
			ips[0], ips[i] = ips[i], ips[0]
			break
		}
	}
	return ips, nil
}

// busy reports whether err says that the address is taken. Windows has a number
// of its own for it, which package syscall does not compare.
func busy(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	const wsaeaddrinuse = syscall.Errno(10048)
	return ok && (errno == syscall.EADDRINUSE || runtime.GOOS == "windows" && errno == wsaeaddrinuse)
}

// port returns the port of a bound TCP address.
func port(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok {
		return strconv.Itoa(t.Port)
	}
	return ""
}
