// Package network is the bundled server "network": a look at other hosts from
// this machine, by ping, DNS, TCP, TLS, HTTP, traceroute, RDAP and whois.
//
//	srv, err := network.New(network.Options{Allow: []string{"10.20.0.0/16", "db.internal:5432"}})
//
// A model names the hosts, so every tool reaches them through one guard
// (internal/egress), which lets only public addresses through and what the operator
// opened with the option allow. No tool reads a proxy from the environment: a
// proxy would resolve the name again, where the guard cannot see.
//
// Answers of foreign hosts are foreign text: they are bounded, freed of control
// characters, and never followed further than a redirect or a referral that the
// guard has checked too.
package network

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/network/rdap"
	"github.com/tenon-mcp/tenon/tool"
)

// userAgent is what HTTP servers see.
const userAgent = "Tenon/1.0 (network check)"

// Options are the settings of the server. The zero value is useful.
type Options struct {
	Allow       []string `json:"allow,omitempty" jsonschema:"internal hosts that the tools may reach besides public ones: networks, addresses and names, each with or without a port, such as 10.20.0.0/16, 10.1.2.3:443, [fd00::1]:443, db.internal:5432 or *.corp.example"`
	Resolver    string   `json:"resolver,omitempty" jsonschema:"name server to ask in place of the system's: an address with or without a port, such as 1.1.1.1 or 10.0.0.53:5353, or tls://ADDRESS for DNS over TLS, or https://HOST/dns-query for DNS over HTTPS"`
	WhoisServer string   `json:"whois_server,omitempty" jsonschema:"whois server to ask first, with or without a port; default: whois.iana.org"`
	RDAPServer  string   `json:"rdap_server,omitempty" jsonschema:"URL below which the RDAP bootstrap files of IANA are found (dns.json, ipv4.json, ipv6.json, asn.json); default: https://data.iana.org/rdap"`
	CAFile      string   `json:"ca_file,omitempty" path:"yes" jsonschema:"file of PEM certificates to trust besides the system's, for the certificates of internal hosts"`
}

type server struct {
	guard *egress.Guard
	dns   *resolver
	named upstreams // the name servers that a model names, reached by the guard
	rdap  *rdap.Client

	traceByUDP bool // for tests of what those get who may not send ICMP

	anchors []*dns.DS      // keys of the root of DNS; nil: those of IANA
	roots   *x509.CertPool // nil: the system's
	whois   string         // host:port
}

// New returns the server. It fails where an option cannot be read; an error for
// Allow names the entry.
func New(o Options) (*mcp.Server, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

func newServer(o Options) (*server, error) {
	s := &server{dns: &resolver{}, whois: "whois.iana.org:43"}
	g, err := egress.NewGuard("network", o.Allow)
	if err != nil {
		return nil, err
	}
	g.Lookup = s.dns.addresses
	s.guard = g
	if s.roots, err = egress.ReadRoots(o.CAFile); err != nil {
		return nil, fmt.Errorf("option ca_file: %w", err)
	}
	if err := s.setNames(o); err != nil {
		return nil, err
	}
	if o.WhoisServer != "" {
		h, port, err := egress.SplitPort(o.WhoisServer)
		if err == nil {
			_, err = egress.ParseHost(h)
		}
		if err != nil {
			return nil, fmt.Errorf("option whois_server: %w", err)
		}
		s.whois = whoisAddress(h, port)
	}
	s.rdap, err = newRDAP(s.guard, o)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-network", Title: "Network", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addPing(srv)
	(&fetcher{s.guard, s.roots}).add(srv)
	s.addLookup(srv)
	s.addPort(srv)
	s.addTrace(srv)
	(&timer{s.guard, s.roots}).add(srv)
	(&inspector{s.guard, s.roots}).add(srv)
	(&whois{s.guard, s.whois}).add(srv)
	s.addRDAP(srv)
	return srv
}

// setNames prepares the ways to name servers: the operator's, and those that a
// model names.
func (s *server) setNames(o Options) error {
	doh := func(g *egress.Guard, service bool) func(string) (*egress.Client, error) {
		return func(base string) (*egress.Client, error) {
			c, err := egress.New(egress.Options{Guard: g, UserAgent: userAgent, Proxy: "none", CAFile: o.CAFile})
			if err != nil || !service {
				return c, err
			}
			return c.Service(base)
		}
	}
	s.named = upstreams{s.guard.DialContext, doh(s.guard, false), s.roots, s.guard}
	if o.Resolver == "" {
		return nil
	}
	system, err := egress.NewGuard("network", o.Allow) // with the system's names: it cannot resolve itself
	if err != nil {
		return err
	}
	own := upstreams{new(net.Dialer).DialContext, doh(system, true), s.roots, nil}
	if !strings.Contains(o.Resolver, "://") {
		if _, _, err := nameServer(o.Resolver); err != nil {
			return fmt.Errorf("option resolver: %w", err)
		}
	}
	up, err := own.newUpstream(o.Resolver)
	if err != nil {
		return fmt.Errorf("option resolver: %w", err)
	}
	s.dns.server = &up
	return nil
}

// nameServer reads the address of a name server.
func nameServer(s string) (netip.Addr, int, error) {
	h, port, err := serverAddress(s)
	if err != nil || !h.Addr.IsValid() {
		return netip.Addr{}, 0, fmt.Errorf("%q is no address such as 1.1.1.1 or 10.0.0.53:5353", s)
	}
	return h.Addr, port, nil
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	// A name to look up or an address to fetch carries out whatever is written into
	// it; what comes back of pages, records, certificates and registries was written
	// by strangers.
	sends := []tool.Label{tool.LabelEgress}
	both := []tool.Label{tool.LabelEgress, tool.LabelUntrusted}
	m := map[string]tool.Meta{}
	for _, e := range []struct {
		name     string
		maxChars int
		hint     string
		labels   []tool.Label
	}{
		{"ping_host", pingChars, "ping icmp reachable latency packet loss round trip 连通 延迟 丢包", sends},
		{"http_check", httpChars, "http check url status site up response time 网站 状态码 探测", both},
		{"http_headers", headersChars, "http headers redirect chain security headers curl head 响应头 重定向", both},
		{"dns_lookup", lookupChars, "dns lookup resolve record a aaaa mx txt ns cname dig nslookup 域名 解析", both},
		{"check_port", portChars, "port open closed tcp connect telnet nc 端口 连接", sends},
		{"http_timing", timingChars, "http timing waterfall slow latency ttfb dns connect tls first byte curl 耗时 慢 首字节", both},
		{"traceroute", traceChars, "traceroute path hops route tracert mtr 路由 跟踪", both},
		{"tls_check", tlsChars, "tls ssl certificate expiry chain cipher https 证书 到期", both},
		{"rdap_lookup", rdapChars, "rdap whois domain registration registrar expiry name servers ip network asn abuse contact 域名 注册 到期", both},
		{"whois_lookup", whoisChars, "whois domain registration owner registrar expiry ip asn 域名 注册", both},
	} {
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskLow,
			MaxResultChars: e.maxChars, SearchHint: e.hint, Labels: e.labels,
		}
	}
	return m
}

// spec is what is said of a tool.
type spec = typed.Spec

// add registers a tool that answers with a text for the model, and the same as data.
func add[In, Out any](srv *mcp.Server, sp spec, answer func(context.Context, In) (string, Out, error)) {
	yes := true
	sp.Annotations = typed.ReadsHere()
	sp.Annotations.OpenWorldHint = &yes
	typed.Add(srv, sp, answer)
}

// checkPortNumber is for input: a port that is no port is a mistake, not to be clamped.
func checkPortNumber(port int) error {
	if port < 1 || port > 65535 {
		return errors.New("port must be between 1 and 65535")
	}
	return nil
}
