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

	"github.com/tenon-mcp/tenon/servers/network/dnstrace"
)

// A resolver asks name servers: the one that the operator set, else the system's.
// It is for concurrent use.
type resolver struct {
	server *upstream // nil: the system's
}

// queryTime bounds one question to one server.
const queryTime = 3 * time.Second

// addresses returns all addresses of a name. Without a server of its own it is
// the system that resolves, so that a name means here what it means to every
// program on this machine: its hosts file and its search domains included.
func (r *resolver) addresses(ctx context.Context, name string) ([]netip.Addr, error) {
	if r.server == nil {
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
	servers, err := r.servers(ctx)
	if err != nil {
		return nil, err
	}
	m, _, err := askAny(ctx, servers, question(name, qtype))
	if err == nil && m.Rcode == dns.RcodeNameError {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return m, err
}

// servers returns whom to ask.
func (r *resolver) servers(ctx context.Context) ([]upstream, error) {
	if r.server != nil {
		return []upstream{*r.server}, nil
	}
	direct := upstreams{dial: new(net.Dialer).DialContext}
	var list []upstream
	for _, at := range systemServers(ctx) {
		list = append(list, upstream{at, func(ctx context.Context, q *dns.Msg) (*dns.Msg, error) { return direct.plain(ctx, q, at) }})
	}
	if len(list) == 0 {
		return nil, errors.New("this machine has no name server set; an operator can set one with the option resolver")
	}
	return list, nil
}

// question returns a message that asks for records of a name, and to be told
// whether they were found authentic.
func question(name string, qtype uint16) *dns.Msg {
	q := new(dns.Msg)
	q.SetQuestion(dns.Fqdn(name), qtype)
	q.SetEdns0(1232, false)
	q.AuthenticatedData = true
	return q
}

// askAny returns the first answer that tells something, and whose it is: records,
// none, or that there is no such name.
func askAny(ctx context.Context, servers []upstream, q *dns.Msg) (*dns.Msg, upstream, error) {
	var last error
	for _, s := range servers {
		m, err := s.ask(ctx, q)
		if err == nil && (m.Rcode == dns.RcodeSuccess || m.Rcode == dns.RcodeNameError) {
			return m, s, nil
		}
		if err == nil {
			err = fmt.Errorf("the name server answered %s", dnstrace.Code(m.Rcode))
		}
		last = err
		if ctx.Err() != nil {
			break
		}
	}
	if !said(last) && isTimeout(last) {
		return nil, upstream{}, &net.DNSError{Err: "no answer", Name: strings.TrimSuffix(q.Question[0].Name, "."), IsTimeout: true}
	}
	return nil, upstream{}, last
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
