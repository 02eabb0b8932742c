package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/miekg/dns"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
)

const lookupChars = 1500

type lookupInput struct {
	Domain     string `json:"domain" jsonschema:"name to look up, such as example.com; for record_type PTR an address"`
	RecordType string `json:"record_type,omitempty" jsonschema:"A, AAAA, MX, TXT, NS, CNAME, SOA, SRV, CAA or PTR"`
}

// recordTypes are the types of record that can be asked for.
var recordTypes = map[string]uint16{
	"A": dns.TypeA, "AAAA": dns.TypeAAAA, "MX": dns.TypeMX, "TXT": dns.TypeTXT, "NS": dns.TypeNS,
	"CNAME": dns.TypeCNAME, "SOA": dns.TypeSOA, "SRV": dns.TypeSRV, "CAA": dns.TypeCAA, "PTR": dns.TypePTR,
}

func (s *server) addLookup(srv *mcp.Server) {
	add(srv, spec{
		name: "dns_lookup", title: "DNS look-up",
		description: "Looks a name up in DNS and returns its records with the time that it took: IPv4 addresses by default, or another record type. PTR takes an address and returns its name. Names that lead to internal addresses are refused unless the operator opened them.",
		defaults:    map[string]any{"record_type": "A"},
	}, s.lookup)
}

func (s *server) lookup(ctx context.Context, in lookupInput) (string, error) {
	kind := strings.ToUpper(strings.TrimSpace(in.RecordType))
	qtype, ok := recordTypes[kind]
	if !ok {
		return "", fmt.Errorf("record_type %q is not offered. Use one of A, AAAA, MX, TXT, NS, CNAME, SOA, SRV, CAA, PTR", show(in.RecordType))
	}
	h, err := egress.ParseHost(in.Domain)
	if err != nil {
		return "", err
	}
	start := time.Now()
	if qtype == dns.TypeA || qtype == dns.TypeAAAA {
		return s.lookupAddresses(ctx, h, qtype, start)
	}
	name, err := s.question(ctx, h, qtype)
	if err != nil {
		return "", err
	}
	m, err := s.dns.ask(ctx, name, qtype)
	if err != nil {
		return "", egress.NewLookupError(name, err)
	}
	return records(h.Name, kind, recordLines(m, qtype), time.Since(start)), nil
}

func (s *server) lookupAddresses(ctx context.Context, h egress.Host, qtype uint16, start time.Time) (string, error) {
	if h.Addr.IsValid() {
		return "", fmt.Errorf("%s is an address already. For its name use record_type PTR", h.Name)
	}
	t, err := s.guard.Resolve(ctx, h.Name, 0)
	if err != nil {
		return "", err
	}
	elapsed := time.Since(start)
	var lines []string
	slices.SortFunc(t.Addrs, netip.Addr.Compare)
	for _, a := range slices.Compact(t.Addrs) {
		if a.Is4() == (qtype == dns.TypeA) {
			lines = append(lines, a.String())
		}
	}
	return records(h.Name, dns.TypeToString[qtype], lines, elapsed), nil
}

// question returns the name to ask for, if it may be asked for: the other records
// of an internal name tell about the inside too. A name without addresses leads
// nowhere and may.
func (s *server) question(ctx context.Context, h egress.Host, qtype uint16) (string, error) {
	if h.Addr.IsValid() {
		if qtype != dns.TypePTR {
			return "", fmt.Errorf("%s is an address and has PTR records only", h.Name)
		}
		if _, err := s.guard.Resolve(ctx, h.Name, 0); err != nil {
			return "", err
		}
		return dns.ReverseAddr(h.Name)
	}
	if a, ok := reversed(h.Name); ok {
		if _, err := s.guard.Resolve(ctx, a.String(), 0); err != nil {
			return "", err
		}
		return h.Name, nil
	}
	if _, err := s.guard.Resolve(ctx, h.Name, 0); err != nil {
		if r, ok := errors.AsType[*egress.Refusal](err); ok {
			return "", r
		}
	}
	return h.Name, nil
}

func recordLines(m *dns.Msg, qtype uint16) []string {
	var lines []string
	slices.SortStableFunc(m.Answer, func(a, b dns.RR) int {
		if x, ok := a.(*dns.MX); ok {
			if y, ok := b.(*dns.MX); ok {
				return cmp.Compare(x.Preference, y.Preference)
			}
		}
		return 0
	})
	for _, rr := range m.Answer {
		h := rr.Header()
		if h.Rrtype != qtype && h.Rrtype != dns.TypeCNAME { // a signature, or what was not asked for
			continue
		}
		value := strings.TrimPrefix(rr.String(), h.String())
		if h.Rrtype != qtype {
			value = "CNAME " + value
		}
		lines = append(lines, fmt.Sprintf("%s (TTL %d s)", plain(value, 600), h.Ttl))
	}
	return lines
}

// records prints an answer within the bound on it.
func records(name, kind string, lines []string, elapsed time.Duration) string {
	head := fmt.Sprintf("## %s %s\n\n", name, kind)
	tail := fmt.Sprintf("\nAnswered in %s.\n", ms(elapsed))
	if len(lines) == 0 {
		return head + "The name exists or leads on, but has no record of this type. Try another record_type.\n" + tail
	}
	var b strings.Builder
	b.WriteString(head)
	used := utf8.RuneCountInString(head + tail)
	for i, l := range lines {
		n := utf8.RuneCountInString(l) + len("- \n")
		if used+n > lookupChars-40 {
			fmt.Fprintf(&b, "- and %d more\n", len(lines)-i)
			break
		}
		used += n
		b.WriteString("- " + l + "\n")
	}
	return b.String() + tail
}
