package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// A resolver asks name servers: the one that the operator set, else the system's.
// It is for concurrent use.
type resolver struct {
	server string // host:port; empty: the system's
}

// queryTime bounds one question to one server.
const queryTime = 3 * time.Second

// addresses returns all addresses of a name. Without a server of its own it is
// the system that resolves, so that a name means here what it means to every
// program on this machine: its hosts file and its search domains included.
func (r *resolver) addresses(ctx context.Context, name string) ([]netip.Addr, error) {
	if r.server == "" {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	}
	var found [2][]netip.Addr
	var errs [2]error
	var both sync.WaitGroup
	for i, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		both.Go(func() {
			m, err := r.ask(ctx, name, qtype)
			if err != nil {
				errs[i] = err
				return
			}
			found[i] = addressesIn(m)
		})
	}
	both.Wait()
	all := slices.Concat(found[0], found[1])
	if len(all) == 0 {
		if err := errors.Join(errs[:]...); err != nil {
			return nil, errs[slices.IndexFunc(errs[:], func(e error) bool { return e != nil })]
		}
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return all, nil
}

func addressesIn(m *dns.Msg) []netip.Addr {
	var found []netip.Addr
	for _, rr := range m.Answer {
		var ip net.IP
		switch rr := rr.(type) {
		case *dns.A:
			ip = rr.A
		case *dns.AAAA:
			ip = rr.AAAA
		}
		if a, ok := netip.AddrFromSlice(ip); ok {
			found = append(found, a.Unmap())
		}
	}
	return found
}

// ask puts one question to the name servers, one after the other, and returns the
// first answer. A name that does not exist is an error, a name without records of
// the type is not.
func (r *resolver) ask(ctx context.Context, name string, qtype uint16) (*dns.Msg, error) {
	servers := []string{r.server}
	if r.server == "" {
		if servers = systemServers(ctx); len(servers) == 0 {
			return nil, errors.New("this machine has no name server set; an operator can set one with the option resolver")
		}
	}
	q := new(dns.Msg)
	q.SetQuestion(dns.Fqdn(name), qtype)
	q.SetEdns0(1232, false)
	var last error
	for _, s := range servers {
		m, err := exchange(ctx, q, s)
		if err == nil && (m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError) {
			if m.Rcode == dns.RcodeNameError {
				return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
			}
			return m, nil
		}
		if err == nil {
			err = fmt.Errorf("the name server answered %s", dns.RcodeToString[m.Rcode])
		}
		last = err
		if ctx.Err() != nil {
			break
		}
	}
	if isTimeout(last) {
		return nil, &net.DNSError{Err: "no answer", Name: name, IsTimeout: true}
	}
	return nil, last
}

// exchange asks over UDP, twice, and over TCP where the answer was cut.
func exchange(ctx context.Context, q *dns.Msg, server string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	udp := &dns.Client{Net: "udp", Timeout: queryTime / 2}
	m, _, err := udp.ExchangeContext(ctx, q, server)
	if err != nil && isTimeout(err) && ctx.Err() == nil { // a packet may get lost
		m, _, err = udp.ExchangeContext(ctx, q, server)
	}
	if err != nil {
		return nil, err
	}
	if !m.Truncated {
		return m, nil
	}
	m, _, err = (&dns.Client{Net: "tcp", Timeout: queryTime}).ExchangeContext(ctx, q, server)
	return m, err
}

// systemServers returns the name servers that the system uses. Where they are
// written differs from system to system; but Go's resolver reads it on all of
// them, and tells whom it would ask to the function that dials.
func systemServers(ctx context.Context) []string {
	var mu sync.Mutex
	var servers []string
	spy := &net.Resolver{PreferGo: true, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if !slices.Contains(servers, address) {
			servers = append(servers, address)
		}
		return nil, errors.New("only the address is wanted")
	}}
	_, err := spy.LookupNetIP(ctx, "ip4", "name-server.invalid.")
	if err == nil { // it cannot be: nothing was asked
		return nil
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(servers)
}

// reversed returns the address that a name of in-addr.arpa or ip6.arpa stands for.
func reversed(name string) (netip.Addr, bool) {
	if labels, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		parts := strings.Split(labels, ".")
		slices.Reverse(parts)
		a, err := netip.ParseAddr(strings.Join(parts, "."))
		return a, err == nil && a.Is4()
	}
	labels, ok := strings.CutSuffix(name, ".ip6.arpa")
	if !ok {
		return netip.Addr{}, false
	}
	parts := strings.Split(labels, ".")
	slices.Reverse(parts)
	var b strings.Builder
	for i, p := range parts {
		if i > 0 && i%4 == 0 {
			b.WriteByte(':')
		}
		b.WriteString(p)
	}
	a, err := netip.ParseAddr(b.String())
	return a, err == nil && len(parts) == 32
}
