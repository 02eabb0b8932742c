package access

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/tenon-mcp/tenon/tool"
)

// OIDC says which identity provider is trusted, and what its tokens allow.
type OIDC struct {
	Issuer   string   // as the tokens name it, and where it is found
	Audience []string // a token made for one of them counts at every URL
	// Resource is the URL by which clients know the endpoint of MCP; empty is the one
	// that they asked at. Where it is set, a token that was made for it counts at every
	// URL too, and one that was made for a URL below it at that URL.
	Resource   string
	Algorithms []string      // of signatures; nil is Algorithms()
	ClockSkew  time.Duration // how far the clocks may be apart; 0 is 30 s, below 0 none
	Timeout    time.Duration // for one question to the provider; 0 is 5 s
	// Grants say what a token allows: the first one that fits it. Without any, every
	// valid token may call tools, and is held by the configuration alone.
	Grants []ClaimGrant
}

// A ClaimGrant is what tokens allow of which a claim has one of some values. A
// claim that is a list, or a text of words as scope is, has each of its members.
type ClaimGrant struct {
	Claim  string // its name, or a path such as realm_access.roles
	Values []string
	Scope
}

// Algorithms are the signatures that a token may have. Those with a shared secret
// are none of them: who can check such a token can make it.
func Algorithms() []string {
	return []string{
		oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
		oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
	}
}

const (
	trusted   = time.Minute // how long a token that was checked is not checked again
	maxTokens = 1024        // of those
)

// A provider checks the tokens of an identity provider.
type provider struct {
	o    OIDC
	log  *slog.Logger
	keys *keyStore

	mu     sync.RWMutex
	tokens map[[sha256.Size]byte]verified
}

// verified is a token that was checked, but for the URL that it is sent to.
type verified struct {
	caller   tool.Caller
	audience []string
	until    time.Time
	by       *keySnapshot // a token ends with the keys that it was checked by
}

func newProvider(o OIDC, log *slog.Logger) *provider {
	if len(o.Algorithms) == 0 {
		o.Algorithms = Algorithms()
	}
	if o.ClockSkew == 0 {
		o.ClockSkew = 30 * time.Second
	}
	o.ClockSkew = max(o.ClockSkew, 0)
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return &provider{o: o, log: log, keys: newKeyStore(o, log), tokens: map[[sha256.Size]byte]verified{}}
}

func (p *provider) close() { p.keys.close() }

// caller returns who a token says its bearer is.
func (p *provider) caller(r *http.Request, token string, sum [sha256.Size]byte) (tool.Caller, *Refusal) {
	ctx, now := r.Context(), time.Now()
	p.mu.RLock()
	known, ok := p.tokens[sum]
	p.mu.RUnlock()
	if ok && now.Before(known.until) && p.keys.holds(ctx, known.by, now) {
		return known.caller, p.misdirected(r, known.audience)
	}
	set := &keySet{store: p.keys, algorithms: p.o.Algorithms}
	verifier := oidc.NewVerifier(p.o.Issuer, set, &oidc.Config{
		SupportedSigningAlgs: p.o.Algorithms,
		// Below, with the audiences that are wanted and the clocks' difference.
		SkipClientIDCheck: true, SkipExpiryCheck: true,
	})
	t, err := verifier.Verify(ctx, token)
	if err != nil {
		return tool.Caller{}, set.refusal()
	}
	var c claims
	if err := errors.Join(t.Claims(&c.times), t.Claims(&c.all)); err != nil {
		return tool.Caller{}, invalidToken("the claims of the token cannot be read")
	}
	if why := p.wrong(t, c, now); why != "" {
		return tool.Caller{}, invalidToken(why)
	}
	if refusal := p.misdirected(r, t.Audience); refusal != nil {
		return tool.Caller{}, refusal
	}
	scope, ok := p.scope(c.all)
	if !ok {
		return tool.Caller{}, &Refusal{Status: http.StatusForbidden, Code: "insufficient_scope", Text: "the token is valid, and none of auth.oidc.grants fits it"}
	}
	name := "oidc:" + t.Subject
	grant := Key{ID: name, Scope: scope}.grant()
	caller := tool.Caller{Name: name, Grant: grant}
	p.remember(sum, verified{caller, t.Audience, earlier(now.Add(trusted), t.Expiry.Add(p.o.ClockSkew)), set.by}, now)
	return caller, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// remember keeps a token that was checked, in bounded space.
func (p *provider) remember(sum [sha256.Size]byte, v verified, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tokens) >= maxTokens {
		for sum, old := range p.tokens {
			if !now.Before(old.until) {
				delete(p.tokens, sum)
			}
		}
	}
	if len(p.tokens) >= maxTokens {
		clear(p.tokens) // they are checked anew: that costs time and nothing else
	}
	p.tokens[sum] = v
}

// claims are what a token says.
type claims struct {
	times struct {
		NotBefore float64         `json:"nbf"`
		Bound     json.RawMessage `json:"cnf"`
	}
	all map[string]any
}

// maxSubject bounds the name of a caller.
const maxSubject = 200

// wrong says what is wrong with a token whose signature and issuer are right.
func (p *provider) wrong(t *oidc.IDToken, c claims, now time.Time) string {
	skew := p.o.ClockSkew
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	switch {
	case t.Expiry.Unix() <= 0:
		return "the token never expires"
	case !now.Before(t.Expiry.Add(skew)):
		return "the token has expired"
	case now.Add(skew).Before(time.Unix(int64(c.times.NotBefore), 0)):
		return "the token is not valid yet"
	case now.Add(skew).Before(t.IssuedAt):
		return "the token was issued in the future: compare the clocks"
	case t.Subject == "" || len(t.Subject) > maxSubject || strings.ContainsFunc(t.Subject, control):
		return "the token names no subject that can be the name of a caller"
	case len(c.times.Bound) > 0 && string(c.times.Bound) != "null":
		return "the token is bound to a key of its client, and cannot be taken from its bearer alone"
	}
	return ""
}

// scope returns what a token with these claims allows.
func (p *provider) scope(all map[string]any) (Scope, bool) {
	if len(p.o.Grants) == 0 {
		return Scope{Caller: true}, true
	}
	for _, g := range p.o.Grants {
		for _, has := range members(claim(all, g.Claim)) {
			if slices.Contains(g.Values, has) {
				return g.Scope, true
			}
		}
	}
	return Scope{}, false
}

// claim returns the value of a claim. Names of claims may be URLs, so a path is
// tried only where there is no claim of the whole name.
func claim(all map[string]any, name string) any {
	if v, ok := all[name]; ok {
		return v
	}
	head, rest, ok := strings.Cut(name, ".")
	if !ok {
		return nil
	}
	if inner, ok := all[head].(map[string]any); ok {
		return claim(inner, rest)
	}
	return nil
}

// members are the values that a claim has.
func members(v any) []string {
	switch v := v.(type) {
	case string:
		if words := strings.Fields(v); len(words) > 1 {
			return append(words, v)
		}
		return []string{v}
	case bool:
		if v {
			return []string{"true"}
		}
	case []any:
		var out []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
