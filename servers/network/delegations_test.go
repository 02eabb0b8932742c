package network_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/tenon-mcp/tenon/servers/network"
)

// delegated is a DNS of one server for each address, with what is wrong in the world:
// what is said to a question, by the address, the name and the type.
var delegated = map[string]map[string]string{
	"198.41.0.4": { // the root
		"caught.test.": "cached 1.1.1.1",
		"":             "ref test. NS ns.test. ns.test. A 192.5.6.30",
	},
	"192.5.6.30": {
		"www.shop.test.": "ref shop.test. NS in.shop.test. NS bad.shop.test. NS ns.shop.test. in.shop.test. A 10.0.0.5 bad.shop.test. A 93.184.215.15 ns.shop.test. A 93.184.215.16",
		"gone.test.":     "nx",
		"empty.test.":    "none",
		"lame.test.":     "ref lame.test. NS bad.test. bad.test. A 93.184.215.15",
		"up.test.":       "ref up.test. NS ns.up.test. ns.up.test. A 93.184.215.16",
		"far.test.":      "ref far.test. NS ns.far.example. NS none.example. ns.far.example. A 10.9.9.9",
		"alias.test.":    "CNAME www.shop.test.",
		"inside.test.":   "A 10.1.2.3",
		"cached.test.":   "cached 1.1.1.1",
	},
	"93.184.215.15": {"": "refused"},
	"93.184.215.16": {
		"www.shop.test.": "A 1.1.1.1",
		"up.test.":       "ref . NS a.root-servers.net.",
		"far.test.":      "A 1.0.0.1",
	},
}

func delegations(t *testing.T) network.Hooks {
	t.Helper()
	at := map[string]string{}
	for address, said := range delegated {
		at[address+":53"] = serveDNS(t, dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			name := strings.ToLower(q.Question[0].Name)
			text, ok := said[name]
			if !ok {
				text = said[""]
			}
			if q.RecursionDesired {
				t.Errorf("%s is asked to resolve", address)
			}
			_ = w.WriteMsg(delegatedAnswer(t, q, text))
		}))
	}
	return network.Hooks{
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			if strings.TrimSuffix(name, ".") == "ns.far.example" {
				return []netip.Addr{netip.MustParseAddr("93.184.215.16")}, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		},
		Dial: func(ctx context.Context, proto, address string) (net.Conn, error) {
			double, ok := at[address]
			if !ok {
				return nil, fmt.Errorf("nothing is at %s", address)
			}
			return new(net.Dialer).DialContext(ctx, proto, double)
		},
	}
}

// delegatedAnswer makes an answer of words: a referral with its servers and their
// addresses, a record, or none.
func delegatedAnswer(t *testing.T, q *dns.Msg, text string) *dns.Msg {
	t.Helper()
	m := new(dns.Msg)
	m.SetReply(q)
	rr := func(name, kind, data string) dns.RR {
		r, err := dns.NewRR(name + " 300 IN " + kind + " " + data)
		if err != nil {
			t.Error(err)
		}
		return r
	}
	words := strings.Fields(text)
	switch words[0] {
	case "refused":
		m.Rcode = dns.RcodeRefused
	case "cached":
		m.RecursionAvailable = true
		m.Answer = append(m.Answer, rr(q.Question[0].Name, "A", words[1]))
	case "nx":
		m.Rcode, m.Authoritative = dns.RcodeNameError, true
	case "none":
		m.Authoritative = true
	case "ref":
		zone := words[1]
		for i := 2; i < len(words); {
			if words[i] == "NS" {
				m.Ns = append(m.Ns, rr(zone, "NS", words[i+1]))
				i += 2
				continue
			}
			m.Extra = append(m.Extra, rr(words[i], words[i+1], words[i+2]))
			i += 3
		}
	default:
		m.Authoritative = true
		m.Answer = append(m.Answer, rr(q.Question[0].Name, words[0], words[1]))
	}
	return m
}

// TestTraceFromTheRoot goes down to names, past servers that are of no use, and ends
// where a delegation does.
func TestTraceFromTheRoot(t *testing.T) {
	cs := client(t, network.Options{}, delegations(t))
	for name, want := range map[string][]string{
		"www.shop.test": {
			`^1\. \. at a\.root-servers\.net\. \(198\.41\.0\.4\): refers to test\. \(servers: 1\), \d`,
			`^2\. test\. at ns\.test\. \(192\.5\.6\.30\): refers to shop\.test\. \(servers: 3\), `,
			`^3\. shop\.test\. at in\.shop\.test\.: refused: its address is an internal one`,
			`^4\. shop\.test\. at bad\.shop\.test\. \(93\.184\.215\.15\): answers REFUSED, `,
			`^5\. shop\.test\. at ns\.shop\.test\. \(93\.184\.215\.16\): answers with 1 records, `,
			`^- 1\.1\.1\.1 \(TTL 300 s\)$`, `^The servers of the zone shop\.test answer\.$`, ` by 93\.184\.215\.16\.$`,
		},
		"gone.test":   {`no such name, `, `^The name does not exist in the zone test\.$`},
		"empty.test":  {`no record of this type, `, `^The name is in the zone test, but has no record of this type there\.$`},
		"lame.test":   {`answers REFUSED`, `^No server of the zone lame\.test that was asked is of use, `},
		"up.test":     {`refers nowhere further: it does not serve the zone`, `^No server of the zone up\.test that`},
		"far.test":    {`^3\. far\.test\. at ns\.far\.example\. \(93\.184\.215\.16\): answers with 1 records`, `^- 1\.0\.0\.1 `},
		"caught.test": {`answers with 1 records, not as one responsible for it, `, `^This did not come from the root`},
		"cached.test": {`^The answer is not of a server that is responsible for the zone test: `},
		"alias.test":  {`^- CNAME www\.shop\.test\.`, `^It is another name for www\.shop\.test; trace that to go on\.$`},
	} {
		text, isError := call(t, cs, "dns_lookup", args{"domain": name, "trace": true})
		if isError || strings.Contains(text, "10.") && strings.Contains(text, "10.0.0.5") {
			t.Errorf("%s: %s", name, text)
		}
		mustMatch(t, text, want...)
	}
	for name, more := range map[string]args{"inside.test": {}, "10.1.2.3": {"record_type": "PTR"}, "www.shop.test": {"dnssec": true}, "shop.test": {"server": "1.1.1.1"}} {
		more["domain"], more["trace"] = name, true
		if text, isError := call(t, cs, "dns_lookup", more); !isError || strings.Contains(text, "leads to 10.") || strings.Contains(text, "- 10.") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// TestTraceIsBounded has servers that always refer one label further down, and a root
// that cannot be reached.
func TestTraceIsBounded(t *testing.T) {
	deep := strings.TrimSuffix(strings.Repeat("a.", 60), ".")
	var asked atomic.Int64
	address := serveDNS(t, dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		n := int(asked.Add(1))
		labels := dns.SplitDomainName(q.Question[0].Name)
		zone := strings.Join(labels[max(0, len(labels)-n):], ".") + "."
		_ = w.WriteMsg(delegatedAnswer(t, q, "ref "+zone+" NS ns."+zone+" ns."+zone+" A 93.184.215.16"))
	}))
	h := network.Hooks{
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		},
		Dial: func(ctx context.Context, proto, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, proto, address)
		},
	}
	text, isError := call(t, client(t, network.Options{}, h), "dns_lookup", args{"domain": deep, "trace": true})
	if isError || !strings.Contains(text, "Given up after 12 delegations.") {
		t.Error(text)
	}
	h.Dial = func(context.Context, string, string) (net.Conn, error) {
		return nil, fmt.Errorf("the network is unreachable")
	}
	text, isError = call(t, client(t, network.Options{}, h), "dns_lookup", args{"domain": "a.test", "trace": true})
	if isError || !strings.Contains(text, "cannot be asked: ") || !strings.Contains(text, "No server of the root that was asked") {
		t.Error(text)
	}
}
