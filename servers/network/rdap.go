package network

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
)

const (
	rdapChars = 5000
	rdapTime  = 20 * time.Second // all of one look-up
	rdapKept  = 24 * time.Hour   // of the lists of who knows what
)

type rdapOutput struct {
	Server      string   `json:"server" jsonschema:"URL that answered"`
	Kind        string   `json:"kind" jsonschema:"domain, ip network or autnum"`
	Name        string   `json:"name,omitempty" jsonschema:"name of the domain or network"`
	Range       string   `json:"range,omitempty" jsonschema:"first and last address or number"`
	Country     string   `json:"country,omitempty" jsonschema:"code of the country"`
	Registrar   string   `json:"registrar,omitempty" jsonschema:"through whom it was registered"`
	Registered  string   `json:"registered,omitempty" jsonschema:"when, ISO 8601"`
	Expires     string   `json:"expires,omitempty" jsonschema:"when, ISO 8601"`
	Status      []string `json:"status,omitempty" jsonschema:"such as active or client transfer prohibited"`
	NameServers []string `json:"name_servers,omitempty" jsonschema:"names of its name servers"`
	Signed      *bool    `json:"dnssec_signed,omitempty" jsonschema:"whether the parent zone holds a key of the domain"`
	Contacts    []string `json:"contacts,omitempty" jsonschema:"registrar, holder, abuse and others, ten at most"`
}

// An rdap client asks registries by RDAP: the lists of IANA say which one knows.
type rdap struct {
	guard *egress.Guard
	base  string
	lists *egress.Client // of the operator's base
	asks  *egress.Client

	mu   sync.Mutex
	kept map[string]rdapList
}

// An rdapList is one bootstrap file: groups of keys, each with the servers for them.
type rdapList struct {
	Services [][][]string `json:"services"`
	read     time.Time
}

func newRDAP(g *egress.Guard, o Options) (*rdap, error) {
	r := &rdap{guard: g, base: "https://data.iana.org/rdap", kept: map[string]rdapList{}}
	if o.RDAPServer != "" {
		r.base = strings.TrimSuffix(o.RDAPServer, "/")
	}
	client := egress.Options{Guard: g, UserAgent: userAgent, Proxy: "none", CAFile: o.CAFile, MaxBody: 2 << 20}
	var err error
	if r.asks, err = egress.New(client); err != nil {
		return nil, err
	}
	if r.lists, err = r.asks.Service(r.base); err != nil {
		return nil, fmt.Errorf("option rdap_server: %w", err)
	}
	return r, nil
}

func (r *rdap) add(srv *mcp.Server) {
	add(srv, spec{
		name: "rdap_lookup", title: "RDAP",
		description: "Asks the registry about a domain, an IP address or an AS number by RDAP, the successor of whois, and returns fields: registrar, registered and expires, status, name servers, holder, contacts. Where a registry has no RDAP, use whois_lookup.",
	}, r.lookup)
}

func (r *rdap) lookup(ctx context.Context, in whoisInput) (string, rdapOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, rdapTime)
	defer cancel()
	defer r.asks.Close()
	defer r.lists.Close()
	list, path, fits, err := rdapQuery(in.Query)
	if err != nil {
		return "", rdapOutput{}, err
	}
	if strings.HasPrefix(path, "ip/") { // no registry knows an internal one, and it is nobody's business
		if _, err := r.guard.Resolve(ctx, in.Query, 0); err != nil {
			return "", rdapOutput{}, err
		}
	}
	base, err := r.server(ctx, list, fits)
	if err != nil {
		return "", rdapOutput{}, err
	}
	_, query, _ := strings.Cut(path, "/")
	if base == "" {
		return "", rdapOutput{}, fmt.Errorf("no registry offers RDAP for %s. Use whois_lookup", query)
	}
	resp, err := r.asks.Do(ctx, egress.Request{
		URL: strings.TrimSuffix(base, "/") + "/" + path, Header: http.Header{"Accept": {"application/rdap+json, application/json;q=0.9"}},
		Retry: egress.Retry{Waits: egress.Seconds(1), Longest: 5 * time.Second},
	})
	switch {
	case err != nil:
		return "", rdapOutput{}, err
	case resp.Status == http.StatusNotFound:
		return "", rdapOutput{}, fmt.Errorf("the registry knows no %s: it is not registered, or at another registry", query)
	case !resp.OK():
		return "", rdapOutput{}, fmt.Errorf("the registry answered with the status %d %s. Try again later, or use whois_lookup", resp.Status, http.StatusText(resp.Status))
	}
	var o rdapObject
	if err := json.Unmarshal(resp.Body, &o); err != nil {
		return "", rdapOutput{}, fmt.Errorf("the registry's answer is no RDAP. Use whois_lookup")
	}
	out := o.output()
	out.Server = plain(resp.URL, 300)
	return rdapText(query, out), out, nil
}

// rdapQuery returns the list that knows the registry of a query, the path to ask
// there, and how well a key of the list fits (0: not at all).
func rdapQuery(q string) (list, path string, fits func(key string) int, err error) {
	q = strings.TrimSpace(q)
	if asNumber.MatchString(q) {
		n, err := strconv.ParseUint(q[2:], 10, 32)
		return "asn", "autnum/" + strconv.FormatUint(n, 10), func(key string) int {
			low, high, _ := strings.Cut(key, "-")
			a, err1 := strconv.ParseUint(low, 10, 32)
			if high == "" {
				high = low
			}
			b, err2 := strconv.ParseUint(high, 10, 32)
			if err1 == nil && err2 == nil && a <= n && n <= b {
				return 1
			}
			return 0
		}, err
	}
	h, err := egress.ParseHost(q)
	if err != nil {
		return "", "", nil, err
	}
	if h.Addr.IsValid() {
		list = "ipv6"
		if h.Addr.Is4() {
			list = "ipv4"
		}
		return list, "ip/" + h.Name, func(key string) int {
			if p, err := netip.ParsePrefix(key); err == nil && p.Contains(h.Addr) {
				return p.Bits() + 1
			}
			return 0
		}, nil
	}
	if egress.IsLocal(h.Name) || !strings.Contains(h.Name, ".") {
		return "", "", nil, fmt.Errorf("%s is no domain that a registry knows. Give one such as example.com", h.Name)
	}
	return "dns", "domain/" + h.Name, func(key string) int {
		if key = strings.ToLower(key); key != "" && strings.HasSuffix(h.Name, "."+key) {
			return len(key)
		}
		return 0
	}, nil
}

// server returns the URL of the registry that a list names for what fits best.
func (r *rdap) server(ctx context.Context, list string, fits func(string) int) (string, error) {
	l, err := r.list(ctx, list)
	if err != nil {
		return "", err
	}
	best, url := 0, ""
	for _, s := range l.Services {
		if len(s) < 2 {
			continue
		}
		for _, key := range s[0] {
			if n := fits(key); n > best {
				best, url = n, secure(s[1])
			}
		}
	}
	return url, nil
}

// secure returns the first https URL, else the first one.
func secure(urls []string) string {
	for _, u := range urls {
		if strings.HasPrefix(u, "https://") {
			return u
		}
	}
	if len(urls) == 0 {
		return ""
	}
	return urls[0]
}

func (r *rdap) list(ctx context.Context, name string) (rdapList, error) {
	r.mu.Lock()
	l, ok := r.kept[name]
	r.mu.Unlock()
	if ok && time.Since(l.read) < rdapKept {
		return l, nil
	}
	resp, err := r.lists.Do(ctx, egress.Request{URL: r.base + "/" + name + ".json", Retry: egress.Retry{Waits: egress.Seconds(1)}})
	if err == nil && !resp.OK() {
		err = fmt.Errorf("it answered with the status %d", resp.Status)
	}
	if err == nil {
		err = json.Unmarshal(resp.Body, &l)
	}
	if err != nil {
		return l, fmt.Errorf("the list of registries cannot be read: %s. Use whois_lookup", plain(err.Error(), 200))
	}
	l.read = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[name] = l
	return l, nil
}

// An rdapObject is what of an answer (RFC 9083) is read.
type rdapObject struct {
	Class        string         `json:"objectClassName"`
	LDHName      string         `json:"ldhName"`
	Name         string         `json:"name"`
	StartAddress string         `json:"startAddress"`
	EndAddress   string         `json:"endAddress"`
	StartAutnum  json.Number    `json:"startAutnum"`
	EndAutnum    json.Number    `json:"endAutnum"`
	Country      string         `json:"country"`
	Status       []string       `json:"status"`
	Events       []rdapEvent    `json:"events"`
	NameServers  []rdapNamed    `json:"nameservers"`
	SecureDNS    *rdapSecureDNS `json:"secureDNS"`
	Entities     []rdapEntity   `json:"entities"`
}

type rdapNamed struct {
	LDHName string `json:"ldhName"`
}

type rdapSecureDNS struct {
	Signed bool `json:"delegationSigned"`
}

type rdapEvent struct {
	Action string `json:"eventAction"`
	Date   string `json:"eventDate"`
}

type rdapEntity struct {
	Roles    []string        `json:"roles" jsonschema:"such as abuse"`
	VCard    json.RawMessage `json:"vcardArray"`
	Entities []rdapEntity    `json:"entities"`
}

func (o rdapObject) output() rdapOutput {
	out := rdapOutput{Kind: plain(o.Class, 40), Name: plain(o.LDHName+o.Name, 200), Country: plain(o.Country, 40)}
	if o.StartAddress != "" {
		out.Range = plain(o.StartAddress+" - "+o.EndAddress, 120)
	} else if o.StartAutnum != "" {
		out.Range = plain(o.StartAutnum.String()+" - "+o.EndAutnum.String(), 40)
	}
	for _, s := range o.Status[:min(15, len(o.Status))] {
		out.Status = append(out.Status, plain(s, 60))
	}
	for _, n := range o.NameServers[:min(15, len(o.NameServers))] {
		out.NameServers = append(out.NameServers, strings.ToLower(plain(n.LDHName, 120)))
	}
	for _, e := range o.Events {
		switch e.Action {
		case "registration":
			out.Registered = plain(e.Date, 40)
		case "expiration":
			out.Expires = plain(e.Date, 40)
		}
	}
	if o.SecureDNS != nil {
		out.Signed = &o.SecureDNS.Signed
	}
	out.addContacts(o.Entities, 0)
	return out
}

func (out *rdapOutput) addContacts(list []rdapEntity, depth int) {
	for _, e := range list {
		if len(out.Contacts) == 10 || depth > 3 {
			return
		}
		name, email := vcard(e.VCard)
		roles := plain(strings.Join(e.Roles[:min(6, len(e.Roles))], ", "), 120)
		if slices.Contains(e.Roles, "registrar") && out.Registrar == "" {
			out.Registrar = name
		}
		if name != "" || email != "" {
			out.Contacts = append(out.Contacts, strings.TrimSpace(roles+": "+name+" "+email))
		}
		out.addContacts(e.Entities, depth+1)
	}
}

// vcard returns the name and the mail address of a jCard: ["vcard", [[name,
// parameters, type, value…]…]].
func vcard(b json.RawMessage) (name, email string) {
	var card []json.RawMessage
	var properties [][]any
	if json.Unmarshal(b, &card) != nil || len(card) < 2 || json.Unmarshal(card[1], &properties) != nil {
		return "", ""
	}
	for _, p := range properties {
		if len(p) < 4 {
			continue
		}
		value, _ := p[3].(string)
		switch p[0] {
		case "fn":
			name = plain(value, 120)
		case "email":
			email = plain(value, 120)
		}
	}
	return name, email
}

func rdapText(query string, out rdapOutput) string {
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
