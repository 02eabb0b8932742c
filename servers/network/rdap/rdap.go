// Package rdap asks the registries of domains, addresses and AS numbers by RDAP (RFC
// 9082 and 9083): the lists that IANA publishes say which registry knows.
//
//	c, err := rdap.New(guard, "https://data.iana.org/rdap", egress.Options{})
//	answer, err := c.Lookup(ctx, "example.com")
//	fmt.Println(answer.Registrar, answer.Expires)
package rdap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

const (
	patience = 20 * time.Second // all of one look-up
	kept     = 24 * time.Hour   // of the lists of who knows what
)

var asNumber = regexp.MustCompile(`^(?i:AS)\d{1,10}$`)

// An Answer is what a registry says.
type Answer struct {
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

// A Client asks registries. It is safe for concurrent use.
type Client struct {
	guard *egress.Guard
	base  string
	lists *egress.Client // of the operator's base
	asks  *egress.Client

	mu    sync.Mutex
	known map[string]bootstrap
}

// A bootstrap is one bootstrap file: groups of keys, each with the servers for them.
type bootstrap struct {
	Services [][][]string `json:"services"`
	read     time.Time
}

// New returns a client that reads the lists below base, and reaches registries
// through the guard.
func New(g *egress.Guard, base string, o egress.Options) (*Client, error) {
	o.Guard, o.MaxBody = g, 2<<20
	r := &Client{guard: g, base: strings.TrimSuffix(base, "/"), known: map[string]bootstrap{}}
	var err error
	if r.asks, err = egress.New(o); err != nil {
		return nil, err
	}
	r.lists, err = r.asks.Service(r.base)
	return r, err
}

// Lookup asks about a domain, an address or an AS number, and returns it in one
// spelling with what its registry says. The errors are sentences for a model.
func (r *Client) Lookup(ctx context.Context, question string) (asked string, out Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer r.asks.Close()
	defer r.lists.Close()
	list, path, fits, err := query(question)
	if err != nil {
		return "", Answer{}, err
	}
	if strings.HasPrefix(path, "ip/") { // no registry knows an internal one, and it is nobody's business
		if _, err := r.guard.Resolve(ctx, question, 0); err != nil {
			return "", Answer{}, err
		}
	}
	base, err := r.server(ctx, list, fits)
	if err != nil {
		return "", Answer{}, err
	}
	_, asked, _ = strings.Cut(path, "/")
	if base == "" {
		return "", Answer{}, fmt.Errorf("no registry offers RDAP for %s. Use whois_lookup", asked)
	}
	resp, err := r.asks.Do(ctx, egress.Request{
		URL: strings.TrimSuffix(base, "/") + "/" + path, Header: http.Header{"Accept": {"application/rdap+json, application/json;q=0.9"}},
		Retry: egress.Retry{Waits: egress.Seconds(1), Longest: 5 * time.Second},
	})
	switch {
	case err != nil:
		return "", Answer{}, err
	case resp.Status == http.StatusNotFound:
		return "", Answer{}, fmt.Errorf("the registry knows no %s: it is not registered, or at another registry", asked)
	case !resp.OK():
		return "", Answer{}, fmt.Errorf("the registry answered with the status %d %s. Try again later, or use whois_lookup", resp.Status, http.StatusText(resp.Status))
	}
	var o object
	if err := json.Unmarshal(resp.Body, &o); err != nil {
		return "", Answer{}, errors.New("the registry's answer is no RDAP. Use whois_lookup")
	}
	out = o.output()
	out.Server = egress.Plain(resp.URL, 300)
	return asked, out, nil
}

// query returns the list that knows the registry of a query, the path to ask
// there, and how well a key of the list fits (0: not at all).
func query(q string) (list, path string, fits func(key string) int, err error) {
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
func (r *Client) server(ctx context.Context, list string, fits func(string) int) (string, error) {
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

func (r *Client) list(ctx context.Context, name string) (bootstrap, error) {
	r.mu.Lock()
	l, ok := r.known[name]
	r.mu.Unlock()
	if ok && time.Since(l.read) < kept {
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
		if _, ok := errors.AsType[*egress.LookupError](err); ok {
			return l, err // who asks says what that means
		}
		return l, fmt.Errorf("the list of registries cannot be read: %s. Use whois_lookup", egress.Plain(err.Error(), 200))
	}
	l.read = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[name] = l
	return l, nil
}

// An object is what of an answer (RFC 9083) is read.
type object struct {
	Class        string      `json:"objectClassName"`
	LDHName      string      `json:"ldhName"`
	Name         string      `json:"name"`
	StartAddress string      `json:"startAddress"`
	EndAddress   string      `json:"endAddress"`
	StartAutnum  json.Number `json:"startAutnum"`
	EndAutnum    json.Number `json:"endAutnum"`
	Country      string      `json:"country"`
	Status       []string    `json:"status"`
	Events       []event     `json:"events"`
	NameServers  []named     `json:"nameservers"`
	SecureDNS    *secureDNS  `json:"secureDNS"`
	Entities     []entity    `json:"entities"`
}

type named struct {
	LDHName string `json:"ldhName"`
}

type secureDNS struct {
	Signed bool `json:"delegationSigned"`
}

type event struct {
	Action string `json:"eventAction"`
	Date   string `json:"eventDate"`
}

type entity struct {
	Roles    []string        `json:"roles" jsonschema:"such as abuse"`
	VCard    json.RawMessage `json:"vcardArray"`
	Entities []entity        `json:"entities"`
}

func (o object) output() Answer {
	out := Answer{Kind: egress.Plain(o.Class, 40), Name: egress.Plain(o.LDHName+o.Name, 200), Country: egress.Plain(o.Country, 40)}
	if o.StartAddress != "" {
		out.Range = egress.Plain(o.StartAddress+" - "+o.EndAddress, 120)
	} else if o.StartAutnum != "" {
		out.Range = egress.Plain(o.StartAutnum.String()+" - "+o.EndAutnum.String(), 40)
	}
	for _, s := range o.Status[:min(15, len(o.Status))] {
		out.Status = append(out.Status, egress.Plain(s, 60))
	}
	for _, n := range o.NameServers[:min(15, len(o.NameServers))] {
		out.NameServers = append(out.NameServers, strings.ToLower(egress.Plain(n.LDHName, 120)))
	}
	for _, e := range o.Events {
		switch e.Action {
		case "registration":
			out.Registered = egress.Plain(e.Date, 40)
		case "expiration":
			out.Expires = egress.Plain(e.Date, 40)
		}
	}
	if o.SecureDNS != nil {
		out.Signed = &o.SecureDNS.Signed
	}
	out.addContacts(o.Entities, 0)
	return out
}

func (out *Answer) addContacts(list []entity, depth int) {
	for _, e := range list {
		if len(out.Contacts) == 10 || depth > 3 {
			return
		}
		name, email := vcard(e.VCard)
		roles := egress.Plain(strings.Join(e.Roles[:min(6, len(e.Roles))], ", "), 120)
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
			name = egress.Plain(value, 120)
		case "email":
			email = egress.Plain(value, 120)
		}
	}
	return name, email
}
