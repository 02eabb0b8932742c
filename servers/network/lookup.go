package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/miekg/dns"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/network/dnssec"
	"github.com/tenon-mcp/tenon/servers/network/dnstrace"
)

const lookupChars = 1500

type lookupInput struct {
	Domain     string `json:"domain" jsonschema:"name to look up, such as example.com; for record_type PTR an address"`
	RecordType string `json:"record_type,omitempty" jsonschema:"any type by its name: A, AAAA, MX, TXT, NS, CNAME, SOA, SRV, CAA, PTR, HTTPS, DS, DNSKEY, TLSA, NAPTR, SSHFP, … or TYPE65"`
	Server     string `json:"server,omitempty" jsonschema:"public name server to ask in place of this machine's: 1.1.1.1, tls://dns.example (DNS over TLS) or https://dns.example/dns-query (DNS over HTTPS)"`
	Trace      bool   `json:"trace,omitempty" jsonschema:"go down from the servers of the root by itself and tell each delegation on the way; shows where a delegation is broken, and what a zone says now"`
	DNSSEC     bool   `json:"dnssec,omitempty" jsonschema:"also check the signatures of the answer, from the key of the root down"`
}

type lookupOutput struct {
	Name      string           `json:"name" jsonschema:"name that was looked up"`
	Type      string           `json:"type" jsonschema:"type of the records"`
	Records   []lookupRecord   `json:"records" jsonschema:"the records, the first 200; CNAMEs on the way too"`
	Server    string           `json:"server,omitempty" jsonschema:"name server that answered; empty where the system resolved"`
	ElapsedMS float64          `json:"elapsed_ms" jsonschema:"how long it took"`
	DNSSEC    *lookupDNSSEC    `json:"dnssec,omitempty" jsonschema:"what came of the check of signatures, where it was asked for"`
	Trace     *dnstrace.Report `json:"trace,omitempty" jsonschema:"the way down from the root, where it was asked for"`
}

type lookupRecord struct {
	Type  string `json:"type" jsonschema:"type of the record"`
	Value string `json:"value" jsonschema:"its data as zone files have it"`
	TTL   uint32 `json:"ttl,omitempty" jsonschema:"seconds; missing where the system resolved"`
}

type lookupDNSSEC struct {
	Status        string   `json:"status" jsonschema:"secure, bogus, unsigned or unknown, by a check of our own"`
	Why           string   `json:"why" jsonschema:"the reason, a sentence"`
	Chain         []string `json:"chain,omitempty" jsonschema:"zones from the root to the one that signed"`
	Authenticated bool     `json:"authenticated" jsonschema:"the flag AD: the name server says that it checked"`
}

// recordType returns the type that a name stands for. Those that are no records
// of a name but requests, such as ANY and AXFR, are not offered.
func recordType(s string) (name string, qtype uint16, err error) {
	name = strings.ToUpper(strings.TrimSpace(s))
	qtype, ok := dns.StringToType[name]
	if digits, generic := strings.CutPrefix(name, "TYPE"); !ok && generic {
		n, err := strconv.ParseUint(digits, 10, 16)
		qtype, ok = uint16(n), err == nil
	}
	if !ok || qtype == 0 || qtype == dns.TypeOPT || qtype >= 128 && qtype <= 255 || qtype == dns.TypeReserved {
		return "", 0, fmt.Errorf("record_type %q is not offered. Use one of A, AAAA, MX, TXT, NS, CNAME, SOA, SRV, CAA, PTR, HTTPS, SVCB, DS, DNSKEY, RRSIG, TLSA, SSHFP, NAPTR, LOC or another type of record", show(s))
	}
	return name, qtype, nil
}

func (s *server) addLookup(srv *mcp.Server) {
	add(srv, spec{
		Name: "dns_lookup", Title: "DNS look-up",
		Description: "Looks a name up in DNS and returns its records with the time that it took: IPv4 addresses by default, or any other record type. PTR takes an address and returns its name. server asks a public name server instead, over TLS or HTTPS too; dnssec checks the signatures; trace goes down from the root and tells each delegation. Names that lead to internal addresses are refused unless the operator opened them.",
		Defaults:    map[string]any{"record_type": "A", "dnssec": false, "trace": false},
	}, s.lookup)
}

func (s *server) lookup(ctx context.Context, in lookupInput) (string, lookupOutput, error) {
	kind, qtype, err := recordType(in.RecordType)
	if err != nil {
		return "", lookupOutput{}, err
	}
	h, err := egress.ParseHost(in.Domain)
	if err != nil {
		return "", lookupOutput{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	out := lookupOutput{Name: h.Name, Type: kind}
	start := time.Now()
	isAddress := qtype == dns.TypeA || qtype == dns.TypeAAAA
	switch {
	case isAddress && h.Addr.IsValid():
		return "", out, fmt.Errorf("%s is an address already. For its name use record_type PTR", h.Name)
	case in.Trace:
		err = s.trace(ctx, in, h, qtype, &out)
	case isAddress && in.Server == "" && !in.DNSSEC:
		err = s.lookupAddresses(ctx, h, qtype, &out)
	default:
		err = s.ask(ctx, in, h, qtype, &out)
	}
	if err != nil {
		return "", out, err
	}
	out.ElapsedMS = millis(time.Since(start))
	return records(out), out, nil
}

// lookupTime bounds one look-up, with the check of signatures.
const lookupTime = 15 * time.Second

func (s *server) lookupAddresses(ctx context.Context, h egress.Host, qtype uint16, out *lookupOutput) error {
	t, err := s.guard.Resolve(ctx, h.Name, 0)
	if err != nil {
		return err
	}
	slices.SortFunc(t.Addrs, netip.Addr.Compare)
	for _, a := range slices.Compact(t.Addrs) {
		if a.Is4() == (qtype == dns.TypeA) {
			out.Records = append(out.Records, lookupRecord{Type: out.Type, Value: a.String()})
		}
	}
	return nil
}

// ask puts the question to a name server.
func (s *server) ask(ctx context.Context, in lookupInput, h egress.Host, qtype uint16, out *lookupOutput) error {
	name, err := s.question(ctx, h, qtype, in.Server != "")
	if err != nil {
		return err
	}
	servers, err := s.dns.servers(ctx)
	if in.Server != "" {
		var named upstream
		named, err = s.named.newUpstream(in.Server)
		servers = []upstream{named}
	}
	if err != nil {
		return err
	}
	q := question(name, qtype)
	if in.DNSSEC {
		q.IsEdns0().SetDo()
	}
	m, by, err := askAny(ctx, servers, q)
	if err != nil && in.DNSSEC && ctx.Err() == nil { // who checks does not give what is wrong
		q.CheckingDisabled = true
		m, by, err = askAny(ctx, servers, q)
	}
	if err != nil {
		if said(err) {
			return err
		}
		return egress.NewLookupError(name, err)
	}
	if m.Rcode == dns.RcodeNameError {
		return egress.NewLookupError(name, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true})
	}
	if err := s.leads(ctx, m, h); err != nil {
		return err
	}
	out.Server, out.Records = by.shown, recordsIn(m, qtype)
	if in.DNSSEC {
		out.DNSSEC = s.judge(ctx, m, by)
	}
	return nil
}

// leads returns why an answer may not be told: it leads to an internal address.
func (s *server) leads(ctx context.Context, m *dns.Msg, h egress.Host) error {
	for _, a := range addressesIn(m) {
		if s.guard.Refuses(a, h.Name, 0) != "" {
			_, err := s.guard.Resolve(ctx, a.String(), 0) // the text for it, which must not tell the address
			if r, ok := errors.AsType[*egress.Refusal](err); ok {
				return r.Of(h.Name)
			}
			return err
		}
	}
	return nil
}

// judge checks the signatures of an answer with questions to the name server that
// gave it.
func (s *server) judge(ctx context.Context, m *dns.Msg, by upstream) *lookupDNSSEC {
	v := dnssec.Validator{Anchors: s.anchors, Ask: func(ctx context.Context, name string, qtype uint16) (*dns.Msg, error) {
		q := question(name, qtype)
		q.IsEdns0().SetDo()
		q.CheckingDisabled = true
		m, _, err := askAny(ctx, []upstream{by}, q)
		return m, err
	}}
	verdict := v.Judge(ctx, m)
	return &lookupDNSSEC{string(verdict.Status), plain(verdict.Why, 300), verdict.Chain, m.AuthenticatedData}
}

// question returns the name to ask for, if it may be asked for: the other records
// of an internal name tell about the inside too. A name without addresses leads
// nowhere and may.
func (s *server) question(ctx context.Context, h egress.Host, qtype uint16, elsewhere bool) (string, error) {
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
	if elsewhere && (qtype == dns.TypeA || qtype == dns.TypeAAAA) {
		return h.Name, nil // the answer is checked
	}
	if _, err := s.guard.Resolve(ctx, h.Name, 0); err != nil {
		if r, ok := errors.AsType[*egress.Refusal](err); ok {
			return "", r
		}
	}
	return h.Name, nil
}

func recordsIn(m *dns.Msg, qtype uint16) []lookupRecord {
	const most = 200
	var found []lookupRecord
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
		if found = append(found, lookupRecord{dns.Type(h.Rrtype).String(), plain(value, 600), h.Ttl}); len(found) == most {
			break
		}
	}
	return found
}

// line returns a record as a line of the answer.
func (r lookupRecord) line(kind string, system bool) string {
	value := r.Value
	if r.Type != kind && r.Type == "CNAME" {
		value = "CNAME " + value
	}
	if system {
		return value
	}
	return fmt.Sprintf("%s (TTL %d s)", value, r.TTL)
}

// records prints an answer within the bound on it.
func records(out lookupOutput) string {
	head := fmt.Sprintf("## %s %s\n\n", out.Name, out.Type)
	tail := fmt.Sprintf("\nAnswered in %.1f ms", out.ElapsedMS)
	if out.Server != "" {
		tail += " by " + plain(out.Server, 120)
	}
	tail += ".\n"
	if d := out.DNSSEC; d != nil {
		says := "does not say that it checked (AD is not set)"
		if d.Authenticated {
			says = "says that it checked (AD is set)"
		}
		tail += fmt.Sprintf("DNSSEC: %s: %s. The name server %s.\n", d.Status, d.Why, says)
		if len(d.Chain) > 0 {
			tail += "Chain: " + plain(strings.Join(d.Chain, " > "), 200) + "\n"
		}
	}
	if out.Trace != nil {
		tail = "\n" + out.Trace.End + tail
		head += out.Trace.Text(lookupChars - 300 - utf8.RuneCountInString(head+tail))
		if len(out.Records) == 0 {
			return head + tail
		}
		head += "\n"
	}
	if len(out.Records) == 0 {
		return head + "The name exists or leads on, but has no record of this type. Try another record_type.\n" + tail
	}
	var b strings.Builder
	b.WriteString(head)
	used := utf8.RuneCountInString(head + tail)
	for i, r := range out.Records {
		l := r.line(out.Type, out.Server == "")
		n := utf8.RuneCountInString(l) + len("- \n")
		if used+n > lookupChars-40 {
			fmt.Fprintf(&b, "- and %d more\n", len(out.Records)-i)
			break
		}
		used += n
		b.WriteString("- " + l + "\n")
	}
	return b.String() + tail
}
