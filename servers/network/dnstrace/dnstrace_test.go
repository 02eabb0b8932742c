package dnstrace_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/tenon-mcp/tenon/servers/network/dnstrace"
)

// TestHostileAnswers: whatever a server answers is told, and breaks nothing.
func TestHostileAnswers(t *testing.T) {
	header := func(name string, kind uint16) dns.RR_Header {
		return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET}
	}
	cname := &dns.CNAME{Hdr: header("www.example.com.", dns.TypeCNAME), Target: "other.example.com."}
	ns := func(name string) dns.RR { return &dns.NS{Hdr: header("com.", dns.TypeNS), Ns: name} }
	for _, c := range []struct {
		name        string
		answer      dns.Msg
		says, ended string
	}{
		{"a name that is not there and an alias, to no question", dns.Msg{MsgHdr: dns.MsgHdr{Rcode: dns.RcodeNameError, Authoritative: true}, Answer: []dns.RR{cname}}, "no such name", "does not exist"},
		{"an alias, to no question", dns.Msg{MsgHdr: dns.MsgHdr{Authoritative: true}, Answer: []dns.RR{cname}}, "answers with 1 records", "another name for other.example.com;"},
		{"a code without a name", dns.Msg{MsgHdr: dns.MsgHdr{Rcode: 3841}}, "answers code 3841", "No server of the root"},
		{"servers with addresses that are none", dns.Msg{Ns: []dns.RR{ns("a.com."), ns("b.com."), ns("c.com.")}, Extra: []dns.RR{
			&dns.A{Hdr: header("a.com.", dns.TypeA)}, &dns.AAAA{Hdr: header("b.com.", dns.TypeAAAA), AAAA: net.IP{1, 2, 3}}, &dns.A{Hdr: header("c.com.", dns.TypeA), A: net.IPv4(192, 0, 2, 1)},
		}}, "refers to com. (servers: 3)", "zone com that was asked is of use"},
		{"nothing", dns.Msg{}, "refers nowhere", "No server of the root"},
		{"records that are none", dns.Msg{Ns: []dns.RR{&dns.NS{Hdr: header("com.", dns.TypeNS)}}, Extra: []dns.RR{&dns.A{}}}, "refers to com.", "zone com that was asked is of use"},
	} {
		tr := dnstrace.Tracer{
			Ask: func(_ context.Context, _ *dns.Msg, at netip.Addr) (*dns.Msg, error) {
				if !strings.HasSuffix(at.String(), ".4") && at != netip.MustParseAddr(dnstrace.Root[0].Address) {
					return nil, errors.New("refused")
				}
				return c.answer.Copy(), nil
			},
			Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
				return nil, errors.New("no address of " + name)
			},
			Why: func(err error) string { return err.Error() },
		}
		w := tr.Trace(t.Context(), "www.example.com.", dns.TypeA)
		if len(w.Steps) == 0 || !strings.Contains(w.Steps[0].Says, c.says) || !strings.Contains(w.End, c.ended) {
			t.Errorf("%s: %+v", c.name, w)
		}
		for _, s := range w.Steps {
			if strings.Contains(s.Server.Address, "nil") || strings.Contains(s.Server.Address, "?") {
				t.Errorf("%s: asked at %q", c.name, s.Server.Address)
			}
		}
	}
}
