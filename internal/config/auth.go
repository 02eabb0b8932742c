package config

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// Auth is the section `auth:`, who may call.
type Auth struct {
	Required bool   // local callers need a credential too
	Keys     string // absolute path of the file of keys; empty is the one in the user's state folder
	OIDC     *OIDC  // nil trusts no identity provider
}

// OIDC is the identity provider whose tokens count. What is zero is left to those
// who check tokens.
type OIDC struct {
	Issuer     string
	Audience   []string
	Resource   string
	Algorithms []string
	ClockSkew  time.Duration // below 0 is none
	Timeout    time.Duration
	Grants     []ClaimGrant
}

// A ClaimGrant is what tokens allow of which a claim has one of some values.
type ClaimGrant struct {
	Claim    string
	Values   []string
	Mode     tool.Mode
	Skills   []string
	Limits   string
	Elicit   bool
	Approver bool
	Caller   bool
}

// auth reads the section of that name.
func (s guards) auth(o *object) {
	n := o.key("auth")
	if n == nil {
		return
	}
	a := &s.cfg.Auth
	in := newObject(n, o.ex, o.to)
	in.boolean("required", &a.Required)
	in.text("keys", &a.Keys)
	if at := in.seen["keys"]; at != nil && a.Keys == "" {
		in.fail(at, "keys wants the path of a file, and holds nothing", "leave it out for the one in the user's state folder")
	}
	if a.Keys != "" {
		a.Keys = under(s.doc.dir(), a.Keys)
	}
	if at := in.key("oidc"); at != nil {
		a.OIDC = s.oidc(newObject(at, in.ex, in.to))
	}
	in.refuse()
}

// asymmetric are the signatures that a token may have. Who can check one of the
// others can make it.
var asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// oidc reads the section of that name in `auth:`.
func (s guards) oidc(in *object) *OIDC {
	p := &OIDC{}
	secureURL(in, "issuer", &p.Issuer)
	someTexts(in, "audience", &p.Audience)
	secureURL(in, "resource", &p.Resource)
	for _, need := range []struct{ key, why string }{
		{"issuer", "the URL of the identity provider, as its tokens name it"},
		{"audience", "what the tokens are made for, or resource, where that is the URL: without it, one for any other program of the same provider would do"},
	} {
		if !in.has(need.key) && (need.key != "audience" || !in.has("resource")) {
			in.fail(in.n, "oidc wants "+need.key, need.why)
		}
	}
	for _, at := range in.list("algorithms") {
		word, ok := in.scalar(at)
		if ok && !slices.Contains(asymmetric, word) {
			in.fail(at, fmt.Sprintf("%s is no signature that a token may have", quoteOf(at, word)), "possible: "+strings.Join(asymmetric, ", "))
		}
		p.Algorithms = append(p.Algorithms, word)
	}
	in.duration("clock_skew", 0, 5*time.Minute, &p.ClockSkew)
	if in.has("clock_skew") && p.ClockSkew == 0 {
		p.ClockSkew = -1
	}
	in.duration("timeout", 100*time.Millisecond, time.Minute, &p.Timeout)
	for _, at := range in.list("grants") {
		one := newObject(at, in.ex, in.to)
		g := claimGrant(one)
		p.Grants = append(p.Grants, g)
		s.chosen = append(s.chosen, references(one, "skills", g.Skills)...)
		s.limitsNamed(one)
	}
	if at := in.seen["grants"]; at != nil && len(p.Grants) == 0 {
		in.fail(at, "grants is empty", "leave it out where every valid token may call tools")
	}
	in.refuse()
	return p
}

// claimGrant reads one entry of `grants:`.
func claimGrant(in *object) ClaimGrant {
	g := ClaimGrant{Caller: true}
	in.text("claim", &g.Claim)
	someTexts(in, "is", &g.Values)
	if !in.has("claim") || !in.has("is") {
		in.fail(in.n, "a grant wants claim and is", "such as {claim: roles, is: sre, mode: normal}")
	}
	modes := make([]string, 0, len(tool.Modes()))
	for _, m := range tool.Modes() {
		modes = append(modes, string(m))
	}
	var mode string
	in.enum("mode", words(modes...), modes, &mode)
	g.Mode = tool.Mode(mode)
	someTexts(in, "skills", &g.Skills)
	in.text("limits", &g.Limits)
	in.boolean("elicit", &g.Elicit)
	in.boolean("approver", &g.Approver)
	in.boolean("caller", &g.Caller)
	if !g.Caller && !g.Approver {
		in.fail(in.n, "a grant of neither caller nor approver allows nothing", "leave the entry out: a token that none fits is refused")
	}
	in.refuse()
	return g
}

// limitsNamed wants that there are limits of the name that a grant gives: with a
// misspelled one nothing would hold its bearer.
func (s guards) limitsNamed(in *object) {
	var name string
	in.text("limits", &name)
	for _, l := range s.cfg.Policy.Limits {
		if l.Name == name {
			return
		}
	}
	if name != "" {
		in.fail(in.seen["limits"], fmt.Sprintf("there are no limits %s", quoteOf(in.seen["limits"], name)), "name them in policy.limits: {name: …, per: caller, …}")
	}
}

// someTexts reads a text, or a list of texts, of which none may be empty.
func someTexts(o *object, name string, dst *[]string) {
	oneOrMore(o, name, dst)
	if slices.ContainsFunc(*dst, func(s string) bool { return strings.TrimSpace(s) == "" }) {
		o.fail(o.seen[name], name+" holds an empty text", "")
	}
}

// secureURL reads an address that nobody on the way can listen to: of HTTPS, or on
// this machine.
func secureURL(o *object, name string, dst *string) {
	o.text(name, dst)
	n := o.seen[name]
	if n == nil || *dst == "" {
		return
	}
	u, err := url.Parse(*dst)
	if err == nil && u.User != nil {
		n.Hide()
		o.fail(n, name+" holds a credential", "leave out what stands before the @")
		return
	}
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		o.fail(n, fmt.Sprintf("%s wants a URL such as https://id.example.com, and holds %s", name, quoteOf(n, *dst)), "")
		return
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())) {
		o.fail(n, name+" must be an address of https", "http would let whoever is on the way forge every token; it is for this machine alone")
	}
}

// TLS are the files of a certificate, as absolute paths. Empty is none.
type TLS struct{ Cert, Key string }

// tls reads the key of that name in `gateway:`.
func (s guards) tls(o *object) {
	n := o.key("tls")
	if n == nil {
		return
	}
	in := newObject(n, o.ex, o.to)
	s.cfg.Gateway.TLSAt = source.Problems([]source.Mistake{n.Mistake("", "")})[0]
	t := &s.cfg.Gateway.TLS
	for _, file := range []struct {
		key  string
		path *string
	}{{"cert", &t.Cert}, {"key", &t.Key}} {
		in.text(file.key, file.path)
		if *file.path == "" {
			in.fail(in.at(file.key), "tls wants "+file.key, "cert is the file of the certificate with its chain, key that of its private key, both as PEM")
			continue
		}
		*file.path = under(s.doc.dir(), *file.path)
	}
	in.refuse()
}
