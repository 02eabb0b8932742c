package network_test

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/servers/network"
)

func testZone() zone {
	return zone{
		"www.test A":                {"CNAME web.test."},
		"web.test A":                {"93.184.215.14|1.1.1.1"},
		"web.test AAAA":             {"2606:4700:4700::1111"},
		"web.test MX":               {"20 b.test.|10 a.test."},
		"web.test TXT":              {`"v=spf1 -all"|"esc \027[31m"`},
		"web.test NS":               {"ns1.test."},
		"web.test SOA":              {"ns1.test. admin.test. 1 2 3 4 5"},
		"web.test CAA":              {`0 issue "ca.test"`},
		"_sip._tcp.web.test SRV":    {"1 2 5060 sip.test."},
		"8.8.8.8.in-addr.arpa PTR":  {"dns.test."},
		"inside.test A":             {"10.1.2.3"},
		"inside.test TXT":           {`"the password"`},
		"half.test A":               {"93.184.215.14"},
		"half.test AAAA":            {"fd00::5"},
		"big.test TXT":              {strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("x", 200)+`"|`, 40), "|")},
		"3.2.1.10.in-addr.arpa PTR": {"secret.internal."},
		"cname.test CNAME":          {"web.test."},
		"mapped.test AAAA":          {"::ffff:10.0.0.1"},
		"rebind.test A":             {"93.184.215.14", "127.0.0.1"},
		strings.Repeat("0.", 31) + "1.ip6.arpa PTR": {"secret.internal."},
	}
}

func TestDNSLookup(t *testing.T) {
	resolver, _ := nameServer(t, testZone())
	cs := client(t, network.Options{Resolver: resolver}, network.Hooks{})
	for _, tt := range []struct {
		domain, kind string
		want         []string
	}{
		{"web.test", "", []string{`^## web\.test A$`, `^- 1\.1\.1\.1\n- 93\.184\.215\.14\n`, `^Answered in \d+\.\d ms\.$`}},
		{"WEB.test.", "a", []string{`^- 1\.1\.1\.1$`}},
		{"web.test", "AAAA", []string{`^- 2606:4700:4700::1111$`}},
		{"web.test", "mx", []string{`^- 10 a\.test\. \(TTL 300 s\)\n- 20 b\.test\.`}},
		{"web.test", "TXT", []string{`^- "v=spf1 -all"`}},
		{"web.test", "NS", []string{`^- ns1\.test\.`}},
		{"web.test", "SOA", []string{`^- ns1\.test\. admin\.test\. 1 2 3 4 5`}},
		{"web.test", "CAA", []string{`^- 0 issue "ca\.test"`}},
		{"_sip._tcp.web.test", "SRV", []string{`^- 1 2 5060 sip\.test\.`}},
		{"cname.test", "CNAME", []string{`^- web\.test\.`}},
		{"8.8.8.8", "PTR", []string{`^- dns\.test\.`}},
		{"8.8.8.8.in-addr.arpa", "PTR", []string{`^- dns\.test\.`}},
		{"half.test", "SRV", nil},                                          // see below
		{"big.test", "TXT", []string{`^- "x+" \(TTL`, `^- and \d+ more$`}}, // over TCP: the answer is too long for a packet
		{"ns1.web.test", "MX", nil},
	} {
		arguments := args{"domain": tt.domain, "record_type": tt.kind}
		if tt.kind == "" {
			delete(arguments, "record_type")
		}
		text, isError := call(t, cs, "dns_lookup", arguments)
		if isError != (tt.want == nil) {
			t.Errorf("%s %s: %s", tt.domain, tt.kind, text)
		}
		mustMatch(t, text, tt.want...)
	}
	if text, isError := call(t, cs, "dns_lookup", args{"domain": "web.test", "record_type": "SRV"}); isError || !strings.Contains(text, "no record of this type") {
		t.Errorf("no records: %s", text)
	}
}

// TestDNSLookupLeaksNothingInside asks in every way for what an internal name
// is, or has.
func TestDNSLookupLeaksNothingInside(t *testing.T) {
	resolver, _ := nameServer(t, testZone())
	cs := client(t, network.Options{Resolver: resolver}, network.Hooks{})
	for _, q := range []struct{ domain, kind string }{
		{"inside.test", "A"},
		{"inside.test", "AAAA"},
		{"inside.test", "TXT"},
		{"inside.test", "MX"},
		{"half.test", "A"},
		{"half.test", "AAAA"},
		{"10.1.2.3", "PTR"},
		{"3.2.1.10.in-addr.arpa", "PTR"},
		{"3.2.1.10.IN-ADDR.arpa.", "ANY"},
		{"3.2.1.10.in-addr.arpa", "TXT"},
		{"::1", "PTR"},
		{strings.Repeat("0.", 31) + "1.ip6.arpa", "PTR"},
		{"1." + strings.Repeat("0.", 31) + "ip6.arpa", "PTR"},
		{"mapped.test", "AAAA"},
	} {
		text, isError := call(t, cs, "dns_lookup", args{"domain": q.domain, "record_type": q.kind})
		for _, secret := range []string{"leads to 10.", "- 10.", "fd00", "password", "secret.internal"} {
			if strings.Contains(text, secret) {
				t.Errorf("%v tells %s: %s", q, secret, text)
			}
		}
		if !isError {
			t.Errorf("%v was answered: %s", q, text)
		}
	}
	open := client(t, network.Options{Resolver: resolver, Allow: []string{"inside.test"}}, network.Hooks{})
	if text, isError := call(t, open, "dns_lookup", args{"domain": "inside.test"}); isError || !strings.Contains(text, "- 10.1.2.3") {
		t.Errorf("opened, but %s", text)
	}
}

func TestDNSLookupSaysWhatIsWrong(t *testing.T) {
	resolver, _ := nameServer(t, testZone())
	cs := client(t, network.Options{Resolver: resolver}, network.Hooks{})
	for _, tt := range []struct{ domain, kind, want string }{
		{"none.test", "A", "there is no host none.test"},
		{"none.test", "MX", "there is no host none.test"},
		{"web.test", "ANY", "Use one of A, AAAA"},
		{"8.8.8.8", "A", "use record_type PTR"},
		{"8.8.8.8", "MX", "has PTR records only"},
		{"https://web.test/", "A", "it is a URL"},
	} {
		if text, isError := call(t, cs, "dns_lookup", args{"domain": tt.domain, "record_type": tt.kind}); !isError || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s: got %q, want %q", tt.domain, tt.kind, text, tt.want)
		}
	}
	dead, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0") // answers nothing
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	cs = client(t, network.Options{Resolver: dead.LocalAddr().String()}, network.Hooks{})
	if text, isError := call(t, cs, "dns_lookup", args{"domain": "web.test"}); !isError || !strings.Contains(text, "no answer for web.test in time") {
		t.Errorf("a dead name server: %q", text)
	}
}

func TestReversed(t *testing.T) {
	v6 := netip.MustParseAddr("2001:db8::567:89ab")
	for name, want := range map[string]string{
		"4.3.2.1.in-addr.arpa": "1.2.3.4",
		"b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa": v6.String(),
		"3.2.1.in-addr.arpa": "", "example.com": "", "x.3.2.1.in-addr.arpa": "", "0.ip6.arpa": "",
	} {
		a, ok := network.Reversed(name)
		if ok != (want != "") || ok && a.String() != want {
			t.Errorf("%s: %v, %v", name, a, ok)
		}
	}
}

// TestSystemServers holds that the addresses come out without a question being sent.
func TestSystemServers(t *testing.T) {
	servers := network.SystemServers(t.Context())
	if b, err := os.ReadFile("/etc/resolv.conf"); err == nil {
		for l := range strings.Lines(string(b)) {
			if f := strings.Fields(l); len(f) > 1 && f[0] == "nameserver" && !slices.Contains(servers, net.JoinHostPort(f[1], "53")) {
				t.Errorf("%s is missing in %v", f[1], servers)
			}
		}
	}
	for _, s := range servers {
		if _, err := netip.ParseAddrPort(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// TestNamesThatCannotBeFound says whose fault it is: that of the name, of the name
// servers, or of what this server asks on its own.
func TestNamesThatCannotBeFound(t *testing.T) {
	resolver, _ := nameServer(t, map[string][]string{})
	cs := client(t, network.Options{Resolver: resolver}, network.Hooks{})
	text, isError := call(t, cs, "dns_lookup", args{"domain": "8.8.8.8", "record_type": "PTR"})
	if !isError || !strings.Contains(text, "8.8.8.8.in-addr.arpa") || strings.Contains(text, "..") || strings.Contains(text, "spelling") {
		t.Error(text)
	}
	for tool, option := range map[string]string{"whois_lookup": "whois_server", "rdap_lookup": "rdap_server"} {
		text, isError := call(t, cs, tool, args{"query": "example.com"})
		if !isError || !strings.Contains(text, "Nothing is wrong with the query") || !strings.Contains(text, "option "+option) {
			t.Errorf("%s: %s", tool, text)
		}
	}
	cs = client(t, network.Options{Resolver: "127.0.0.1:1"}, network.Hooks{})
	for _, kind := range []string{"A", "MX"} {
		if text, isError := call(t, cs, "dns_lookup", args{"domain": "web.test", "record_type": kind}); !isError || !strings.Contains(text, "name servers") {
			t.Errorf("%s: %s", kind, text)
		}
	}
}

// TestNumbersBeyond says which numbers were brought to their bounds.
func TestNumbersBeyond(t *testing.T) {
	cs := client(t, network.Options{Allow: []string{"127.0.0.1"}}, network.Hooks{})
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "ping_host", Arguments: args{"host": "127.0.0.1", "count": -3}})
	if err != nil {
		t.Fatal(err)
	}
	if res.IsError { // not every machine lets everybody ping
		t.Skip(res.Content[0].(*mcp.TextContent).Text)
	}
	if len(res.Content) != 2 || res.Content[1].(*mcp.TextContent).Text != "Note: count was brought from -3 to 1.\n" {
		t.Errorf("%+v", res.Content)
	}
}
