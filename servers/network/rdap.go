package network

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/network/rdap"
)

const rdapChars = 5000

// newRDAP returns the client for registries.
func newRDAP(g *egress.Guard, o Options) (*rdap.Client, error) {
	base := "https://data.iana.org/rdap"
	if o.RDAPServer != "" {
		base = o.RDAPServer
	}
	c, err := rdap.New(g, base, egress.Options{UserAgent: userAgent, Proxy: "none", CAFile: o.CAFile})
	if err != nil {
		return nil, fmt.Errorf("option rdap_server: %w", err)
	}
	return c, nil
}

func (s *server) addRDAP(srv *mcp.Server) {
	add(srv, spec{
		Name: "rdap_lookup", Title: "RDAP",
		Description: "Asks the registry about a domain, an IP address or an AS number by RDAP, the successor of whois, and returns fields: registrar, registered and expires, status, name servers, holder, contacts. Where a registry has no RDAP, use whois_lookup.",
	}, func(ctx context.Context, in whoisInput) (string, rdap.Answer, error) {
		asked, out, err := s.rdap.Lookup(ctx, in.Query)
		return rdapText(asked, out), out, unresolved("the registry", "rdap_server", err)
	})
}

func rdapText(query string, out rdap.Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## RDAP %s\n\n", query)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, value)
		}
	}
	line("kind", out.Kind)
	line("name", out.Name)
	line("range", out.Range)
	line("country", out.Country)
	line("registrar", out.Registrar)
	line("registered", out.Registered)
	line("expires", out.Expires+left(out.Expires))
	line("status", strings.Join(out.Status, ", "))
	line("name servers", strings.Join(out.NameServers, ", "))
	if out.Signed != nil {
		line("DNSSEC", map[bool]string{true: "signed", false: "not signed"}[*out.Signed])
	}
	for _, c := range out.Contacts {
		fmt.Fprintf(&b, "- %s\n", c)
	}
	host := out.Server
	if u, err := url.Parse(out.Server); err == nil {
		host = u.Host
	}
	fmt.Fprintf(&b, "\nAnswered by %s.\n", plain(host, 120))
	return cut(b.String(), rdapChars)
}

// left says how long it is until a date.
func left(date string) string {
	t, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return ""
	}
	return " (" + daysLeft(int(time.Until(t).Hours()/24)) + ")"
}
