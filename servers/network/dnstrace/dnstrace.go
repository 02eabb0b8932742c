// Package dnstrace goes the way of a name through the DNS by itself, from the servers of
// the root down, one delegation after the other:
//
//	t := dnstrace.Tracer{Ask: ask, Resolve: resolve}
//	way := t.Trace(ctx, "www.example.com.", dns.TypeA)
//	for _, s := range way.Steps {
//		fmt.Println(s.Zone, s.Server, s.Says)
//	}
//
// So it tells what a resolver with a cache hides: which delegation is broken, which server
// does not answer, and what a zone says now. It asks one server of a zone, and others only
// where that one is of no use. It neither follows a CNAME nor checks signatures.
package dnstrace

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// Bounds on one trace.
const (
	mostZones  = 12 // a name has no more delegations in earnest
	mostAsked  = 24 // questions in all
	mostOfZone = 3  // servers of a zone that are tried
)

// Root are name servers of the root, of five operators; no more are tried than of any zone.
var Root = []Server{
	{"a.root-servers.net.", "198.41.0.4"},
	{"f.root-servers.net.", "192.5.5.241"},
	{"k.root-servers.net.", "193.0.14.129"},
	{"l.root-servers.net.", "199.7.83.42"},
	{"m.root-servers.net.", "202.12.27.33"},
}

// A Server is a name server.
type Server struct{ Name, Address string }

// A Tracer traces names.
type Tracer struct {
	// Ask puts a question to the server at an address. That it refuses to is a step too.
	Ask func(ctx context.Context, q *dns.Msg, at netip.Addr) (*dns.Msg, error)
	// Resolve finds the addresses of a name server that a delegation names without them.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Why says in a few words why a question was not answered.
	Why func(error) string
}

// A Step is one question and what came of it.
type Step struct {
	Zone    string // whose server was asked
	Server  Server
	Says    string // in a few words
	Elapsed time.Duration
	Failed  bool // it was of no use, and another server was asked
}

// A Way is a trace.
type Way struct {
	Steps  []Step
	Answer *dns.Msg // of the last server, where it told something
	End    string   // what it comes to, a sentence
}

// Trace goes down to the servers that are responsible for a name, and asks them.
func (t *Tracer) Trace(ctx context.Context, name string, qtype uint16) Way {
	var w Way
	name = dns.CanonicalName(name)
	zone, servers := ".", Root
	for range mostZones {
		next, below, done := t.zone(ctx, &w, zone, servers, name, qtype)
		switch {
		case done:
			return w
		case next == "":
			w.End = stuck(ctx, zone, len(w.Steps))
			return w
		}
		zone, servers = next, below
	}
	w.End = fmt.Sprintf("Given up after %d delegations.", mostZones)
	return w
}

// stuck says why the trace does not get out of a zone.
func stuck(ctx context.Context, zone string, asked int) string {
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("Out of time in the %s.", called(zone))
	case asked >= mostAsked:
		return fmt.Sprintf("Given up in the %s after %d questions.", called(zone), asked)
	case zone == ".":
		return "No server of the root that was asked is of use: this machine has no way to the internet, or none for DNS (port 53). Leave trace out to ask its own name servers."
	}
	return fmt.Sprintf("No server of the %s that was asked is of use, so whoever asks gets stuck there.", called(zone))
}

// called returns the name of a zone for a sentence.
func called(zone string) string {
	if zone == "." {
		return "root zone"
	}
	return "zone " + strings.TrimSuffix(zone, ".")
}

// zone asks servers of a zone until one refers to the next, or answers.
func (t *Tracer) zone(ctx context.Context, w *Way, zone string, servers []Server, name string, qtype uint16) (next string, below []Server, done bool) {
	tried := 0
	for _, s := range servers {
		if tried++; tried > mostOfZone || len(w.Steps) >= mostAsked || ctx.Err() != nil {
			break
		}
		at, err := t.address(ctx, s)
		if err != nil {
			w.Steps = append(w.Steps, Step{Zone: zone, Server: s, Says: t.Why(err), Failed: true})
			continue
		}
		s.Address = at.String()
		start := time.Now()
		m, err := t.Ask(ctx, question(name, qtype), at)
		step := Step{Zone: zone, Server: s, Elapsed: time.Since(start)}
		if err != nil {
			step.Says, step.Failed = t.Why(err), true
			w.Steps = append(w.Steps, step)
			continue
		}
		next, below = referral(m, zone, name)
		step.Says, done = says(m, next, len(below))
		step.Failed = !done && next == ""
		w.Steps = append(w.Steps, step)
		if done {
			w.Answer, w.End = m, end(m, zone, qtype)
		}
		if !step.Failed {
			return next, below, done
		}
	}
	return "", nil, false
}

func (t *Tracer) address(ctx context.Context, s Server) (netip.Addr, error) {
	if s.Address != "" {
		return netip.ParseAddr(s.Address)
	}
	list, err := t.Resolve(ctx, s.Name)
	if err == nil && len(list) == 0 {
		err = errors.New("it has no address")
	}
	if err != nil {
		return netip.Addr{}, err
	}
	slices.SortFunc(list, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() }) // IPv4 is there more often
	return list[0], nil
}

func question(name string, qtype uint16) *dns.Msg {
	q := new(dns.Msg)
	q.SetQuestion(name, qtype)
	q.RecursionDesired = false
	q.SetEdns0(1232, false)
	return q
}

// referral returns the zone that an answer refers to and its servers, those with a known
// address first. A delegation leads down, and towards the name.
func referral(m *dns.Msg, zone, name string) (next string, servers []Server) {
	if m.Rcode != dns.RcodeSuccess || len(m.Answer) > 0 {
		return "", nil
	}
	for _, rr := range m.Ns {
		ns, ok := rr.(*dns.NS)
		if !ok {
			continue
		}
		below := dns.CanonicalName(ns.Hdr.Name)
		if next == "" && below != zone && dns.IsSubDomain(zone, below) && dns.IsSubDomain(below, name) {
			next = below
		}
		if below == next && next != "" && len(servers) < 32 {
			servers = append(servers, Server{Name: dns.CanonicalName(ns.Ns)})
		}
	}
	for i := range servers {
		for _, rr := range m.Extra {
			if !strings.EqualFold(rr.Header().Name, servers[i].Name) || !dns.IsSubDomain(zone, servers[i].Name) {
				continue // whom a zone has no say over it tells no address of
			}
			at, v4 := addressIn(rr)
			if at.IsValid() && (v4 || servers[i].Address == "") {
				servers[i].Address = at.String()
			}
		}
	}
	slices.SortStableFunc(servers, func(a, b Server) int { return rank(a) - rank(b) })
	return next, servers
}

// addressIn returns the address in a record, and whether it is of IPv4. A record may hold
// none.
func addressIn(rr dns.RR) (at netip.Addr, v4 bool) {
	switch rr := rr.(type) {
	case *dns.A:
		at, _ = netip.AddrFromSlice(rr.A)
		return at.Unmap(), true
	case *dns.AAAA:
		at, _ = netip.AddrFromSlice(rr.AAAA)
	}
	return at, false
}

// Code names the code of an answer; not all have a name.
func Code(rcode int) string {
	if name := dns.RcodeToString[rcode]; name != "" {
		return name
	}
	return fmt.Sprintf("code %d", rcode)
}

func rank(s Server) int {
	switch {
	case s.Address == "":
		return 2
	case strings.Contains(s.Address, ":"):
		return 1
	}
	return 0
}

// says returns what a server said, and whether that ends the trace.
func says(m *dns.Msg, next string, servers int) (string, bool) {
	authority := ""
	if !m.Authoritative {
		authority = ", not as one responsible for it"
	}
	switch {
	case m.Rcode == dns.RcodeNameError:
		return "no such name" + authority, true
	case m.Rcode != dns.RcodeSuccess:
		return "answers " + Code(m.Rcode), false
	case len(m.Answer) > 0:
		return fmt.Sprintf("answers with %d records%s", len(m.Answer), authority), true
	case next != "":
		return fmt.Sprintf("refers to %s (servers: %d)", next, servers), false
	case m.Authoritative || slices.ContainsFunc(m.Ns, func(rr dns.RR) bool { return rr.Header().Rrtype == dns.TypeSOA }):
		return "no record of this type" + authority, true
	}
	return "refers nowhere further: it does not serve the zone", false
}

func end(m *dns.Msg, zone string, qtype uint16) string {
	switch {
	case !m.Authoritative && zone == ".":
		return "This did not come from the root, whose servers know no names: something on the way answers all DNS in its place (a firewall, a captive portal, or the provider), so nothing can be traced from here."
	case !m.Authoritative:
		return fmt.Sprintf("The answer is not of a server that is responsible for the %s: the delegation leads to a resolver, or something on the way answers in its place.", called(zone))
	case m.Rcode == dns.RcodeNameError:
		return fmt.Sprintf("The name does not exist in the %s.", called(zone))
	case len(m.Answer) == 0:
		return fmt.Sprintf("The name is in the %s, but has no record of this type there.", called(zone))
	}
	last := m.Answer[len(m.Answer)-1]
	if c, ok := last.(*dns.CNAME); ok && qtype != dns.TypeCNAME {
		return fmt.Sprintf("It is another name for %s; trace that to go on.", strings.TrimSuffix(dns.CanonicalName(c.Target), "."))
	}
	return fmt.Sprintf("The servers of the %s answer.", called(zone))
}
