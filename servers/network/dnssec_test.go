package network_test

import (
	"crypto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/tenon-mcp/tenon/servers/network"
)

// A signer is a zone with a key.
type signer struct {
	name string
	key  *dns.DNSKEY
	priv crypto.Signer
}

func newSigner(t *testing.T, name string) *signer {
	t.Helper()
	k := &dns.DNSKEY{Hdr: dns.RR_Header{Name: name, Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 300}, Flags: 257, Protocol: 3, Algorithm: dns.ECDSAP256SHA256}
	priv, err := k.Generate(256)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{name, k, priv.(crypto.Signer)}
}

// sign returns records with their signature, valid until then.
func (s *signer) sign(t *testing.T, until time.Duration, records ...string) []dns.RR {
	t.Helper()
	var set []dns.RR
	for _, r := range records {
		rr, err := dns.NewRR(r)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, rr)
	}
	return append(set, s.signRR(t, until, set))
}

func (s *signer) signRR(t *testing.T, until time.Duration, set []dns.RR) *dns.RRSIG {
	t.Helper()
	sig := &dns.RRSIG{
		Algorithm: s.key.Algorithm, KeyTag: s.key.KeyTag(), SignerName: s.name, OrigTtl: 300,
		Inception: uint32(time.Now().Add(-48 * time.Hour).Unix()), Expiration: uint32(time.Now().Add(until).Unix()),
	}
	if err := sig.Sign(s.priv, set); err != nil {
		t.Fatal(err)
	}
	return sig
}

// world is a small signed DNS from the root down, with things that are wrong.
func world(t *testing.T) (map[string][]dns.RR, []*dns.DS) {
	t.Helper()
	root, tld, zone, wrong := newSigner(t, "."), newSigner(t, "test."), newSigner(t, "signed.test."), newSigner(t, "wrong.test.")
	long := 24 * time.Hour
	w := map[string][]dns.RR{}
	put := func(key string, records []dns.RR) { w[key] = records }
	for _, s := range []*signer{root, tld, zone, wrong} {
		put(s.name+" DNSKEY", []dns.RR{s.key, s.signRR(t, long, []dns.RR{s.key})})
	}
	delegate := func(up, down *signer) {
		ds := down.key.ToDS(dns.SHA256)
		put(down.name+" DS", []dns.RR{ds, up.signRR(t, long, []dns.RR{ds})})
	}
	delegate(root, tld)
	delegate(tld, zone)
	other := *wrong
	other.key = newSigner(t, "wrong.test.").key // not the one that the zone has
	delegate(tld, &other)
	put("a.signed.test. A", zone.sign(t, long, "a.signed.test. 300 IN A 93.184.215.14"))
	put("alias.signed.test. A", append(zone.sign(t, long, "alias.signed.test. 300 IN CNAME a.signed.test."), w["a.signed.test. A"]...))
	put("txt.signed.test. TXT", zone.sign(t, long, `txt.signed.test. 300 IN TXT "hello"`))
	put("expired.signed.test. A", zone.sign(t, -time.Hour, "expired.signed.test. 300 IN A 93.184.215.14"))
	forged := zone.sign(t, long, "forged.signed.test. 300 IN A 93.184.215.14")
	forged[0].(*dns.A).A[15] ^= 1
	put("forged.signed.test. A", forged)
	put("stripped.signed.test. A", zone.sign(t, long, "stripped.signed.test. 300 IN A 93.184.215.14")[:1])
	stranger := newSigner(t, "elsewhere.test.")
	put("stranger.signed.test. A", stranger.sign(t, long, "stranger.signed.test. 300 IN A 93.184.215.14"))
	put("a.wrong.test. A", wrong.sign(t, long, "a.wrong.test. 300 IN A 93.184.215.14"))
	put("unsigned.test. NS", newSigner(t, "unsigned.test.").sign(t, long, "unsigned.test. 300 IN NS ns.unsigned.test.")[:1])
	put("a.unsigned.test. A", zone.sign(t, long, "a.unsigned.test. 300 IN A 93.184.215.14")[:1])
	put("inside.signed.test. A", zone.sign(t, long, "inside.signed.test. 300 IN A 10.0.0.7"))
	return w, []*dns.DS{root.key.ToDS(dns.SHA256)}
}

// serveWorld runs a name server that knows a world, and says what it was asked.
func serveWorld(t *testing.T, w map[string][]dns.RR) (handler dns.Handler, asked func() []dns.Msg) {
	t.Helper()
	var mu sync.Mutex
	var all []dns.Msg
	return dns.HandlerFunc(func(rw dns.ResponseWriter, q *dns.Msg) {
			mu.Lock()
			all = append(all, *q)
			mu.Unlock()
			m := new(dns.Msg)
			m.SetReply(q)
			opt := q.IsEdns0()
			do := opt != nil && opt.Do()
			name := dns.CanonicalName(q.Question[0].Name)
			for _, rr := range w[name+" "+dns.TypeToString[q.Question[0].Qtype]] {
				if do || rr.Header().Rrtype != dns.TypeRRSIG {
					m.Answer = append(m.Answer, rr)
				}
			}
			m.AuthenticatedData = do && strings.HasPrefix(name, "a.signed") && !q.CheckingDisabled
			if strings.HasPrefix(name, "forged") && !q.CheckingDisabled { // as one that checks does
				m.Answer, m.Rcode = nil, dns.RcodeServerFailure
			}
			if rw.LocalAddr().Network() == "udp" {
				m.Truncate(1232)
			}
			rw.WriteMsg(m)
		}), func() []dns.Msg {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(all)
		}
}

func TestDNSSEC(t *testing.T) {
	w, anchors := world(t)
	handler, _ := serveWorld(t, w)
	resolver := serveDNS(t, handler)
	cs := client(t, network.Options{Resolver: resolver}, network.Hooks{Anchors: anchors})
	for _, tt := range []struct{ name, kind, status, why string }{
		{"a.signed.test", "A", "secure", "every signature is valid"},
		{"A.Signed.TEST", "A", "secure", ""},
		{"alias.signed.test", "A", "secure", ""},
		{"txt.signed.test", "TXT", "secure", ""},
		{"signed.test", "DNSKEY", "secure", ""},
		{"expired.signed.test", "A", "bogus", "is valid from"},
		{"forged.signed.test", "A", "bogus", "a signature is wrong"},
		{"stripped.signed.test", "A", "bogus", "not signed, though the zone signed.test. is"},
		{"stranger.signed.test", "A", "bogus", "has no say in it"},
		{"a.wrong.test", "A", "bogus", "none of its keys"},
		{"a.unsigned.test", "A", "unsigned", "not proven"},
		{"a.signed.test", "MX", "unknown", "no records"},
	} {
		text, isError, out := callFull(t, cs, "dns_lookup", args{"domain": tt.name, "record_type": tt.kind, "dnssec": true})
		if isError {
			t.Errorf("%v: %s", tt, text)
			continue
		}
		d := out["dnssec"].(map[string]any)
		if d["status"] != tt.status || !strings.Contains(d["why"].(string), tt.why) || !strings.Contains(text, "DNSSEC: "+tt.status) {
			t.Errorf("%v: %v\n%s", tt, d, text)
		}
		if want := tt.name == "a.signed.test" && tt.kind == "A" || strings.HasPrefix(tt.name, "A.") || tt.kind == "MX"; d["authenticated"] != want {
			t.Errorf("%v: AD is %v", tt, d["authenticated"])
		}
	}
	text, isError := call(t, cs, "dns_lookup", args{"domain": "inside.signed.test", "dnssec": true})
	if !isError || !strings.Contains(text, "refused: inside.signed.test leads to a private network") || strings.Contains(text, "10.0.0") {
		t.Error(text)
	}
	// Without the right key of the root, nothing holds.
	cs = client(t, network.Options{Resolver: resolver}, network.Hooks{})
	if text, _ := call(t, cs, "dns_lookup", args{"domain": "a.signed.test", "dnssec": true}); !strings.Contains(text, "DNSSEC: bogus: .: none of its keys") {
		t.Error(text)
	}
}

// TestDNSSECIsBounded meets a name server that names keys without end.
func TestDNSSECIsBounded(t *testing.T) {
	w, anchors := world(t)
	many := newSigner(t, "signed.test.")
	sig := many.signRR(t, time.Hour, w["a.signed.test. A"][:1])
	for range 200 {
		w["a.signed.test. A"] = append(w["a.signed.test. A"], sig)
	}
	w["a.signed.test. A"] = slices.Delete(w["a.signed.test. A"], 1, 2) // the good one
	for range 200 {
		w["signed.test. DNSKEY"] = append(w["signed.test. DNSKEY"], many.key)
	}
	handler, asked := serveWorld(t, w)
	cs := client(t, network.Options{Resolver: serveDNS(t, handler)}, network.Hooks{Anchors: anchors})
	start := time.Now()
	text, isError := call(t, cs, "dns_lookup", args{"domain": "a.signed.test", "dnssec": true})
	if isError || strings.Contains(text, "DNSSEC: secure") || time.Since(start) > 30*time.Second || len(asked()) > 60 {
		t.Errorf("%v, %d questions: %s", time.Since(start), len(asked()), text)
	}
}
