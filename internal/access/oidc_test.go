package access_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenon-mcp/tenon/internal/access"
	"github.com/tenon-mcp/tenon/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A signer is a key of an identity provider.
type signer struct {
	kid string
	alg jose.SignatureAlgorithm
	key crypto.Signer
}

func newSigner(t *testing.T, kid string, alg jose.SignatureAlgorithm) signer {
	t.Helper()
	var key crypto.Signer
	var err error
	if alg == jose.ES256 {
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, alg, key}
}

func (s signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.key.Public(), KeyID: s.kid, Algorithm: string(s.alg), Use: "sig"}
}

// An idp is a small identity provider: discovery, and keys that can be changed.
type idp struct {
	*httptest.Server
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetches atomic.Int64
	answer  func(w http.ResponseWriter, r *http.Request) bool // in place of the usual, if it reports true
}

func newIDP(t *testing.T, signers ...signer) *idp {
	t.Helper()
	p := &idp{}
	p.rotate(signers...)
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *idp) rotate(signers ...signer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = nil
	for _, s := range signers {
		p.keys = append(p.keys, s.public())
	}
}

func (p *idp) answers(f func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = f
}

// ServeHTTP implements http.Handler.
func (p *idp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	keys, answer := p.keys, p.answer
	p.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token",
			"id_token_signing_alg_values_supported": []string{"RS256", "ES256"},
		})
	case "/keys":
		p.fetches.Add(1)
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: keys})
	default:
		http.NotFound(w, r)
	}
}

// claims returns claims that are right, but for changes; nil takes one out.
func (p *idp) claims(changes map[string]any) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": p.URL, "sub": "ada", "aud": "tenon", "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(),
	}
	for k, v := range changes {
		if v == nil {
			delete(c, k)
		} else {
			c[k] = v
		}
	}
	return c
}

// sign returns a token.
func sign(t *testing.T, key jose.SigningKey, header map[jose.HeaderKey]any, claims map[string]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("JWT")
	for k, v := range header {
		o = o.WithHeader(k, v)
	}
	s, err := jose.NewSigner(key, o)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := s.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (s signer) sign(t *testing.T, claims map[string]any) string {
	t.Helper()
	return sign(t, jose.SigningKey{Algorithm: s.alg, Key: s.key}, map[jose.HeaderKey]any{"kid": s.kid}, claims)
}

func trusting(t *testing.T, p *idp, change func(*access.OIDC)) *access.Access {
	t.Helper()
	o := &access.OIDC{Issuer: p.URL, Audience: []string{"tenon", "https://tools.example.com/mcp"}, Timeout: 2 * time.Second}
	if change != nil {
		change(o)
	}
	return open(t, access.Options{OIDC: o})
}

// TestProviderIsOne: the double of these tests is one to the library as well.
func TestProviderIsOne(t *testing.T) {
	for _, alg := range []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.PS384} {
		s := newSigner(t, "k", alg)
		p := newIDP(t, s)
		token := s.sign(t, p.claims(nil))
		tr := &http.Transport{}
		ctx := oidc.ClientContext(t.Context(), &http.Client{Transport: tr})
		provider, err := oidc.NewProvider(ctx, p.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.Verifier(&oidc.Config{ClientID: "tenon", SupportedSigningAlgs: []string{string(alg)}}).Verify(ctx, token); err != nil {
			t.Errorf("%s: the library refuses the token: %v", alg, err)
		}
		tr.CloseIdleConnections()
		got, err := trusting(t, p, nil).Caller(request("Bearer " + token))
		want := tool.Caller{Name: "oidc:ada", Grant: &tool.Grant{Key: "oidc:ada", Caller: true}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", alg, err, diff)
		}
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	right, other, stranger := newSigner(t, "right", jose.RS256), newSigner(t, "other", jose.RS256), newSigner(t, "right", jose.RS256)
	p := newIDP(t, right, other)
	a := trusting(t, p, nil)
	now := time.Now()
	claims := func(change map[string]any) string { return right.sign(t, p.claims(change)) }
	public, err := x509.MarshalPKIXPublicKey(right.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	pemKey := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	b64 := base64.RawURLEncoding.EncodeToString
	body, err := json.Marshal(p.claims(nil))
	if err != nil {
		t.Fatal(err)
	}
	good := claims(nil)
	parts := strings.Split(good, ".")
	embedded := stranger.public()
	for _, c := range []struct {
		name, token string
		want        int
	}{
		{"right", good, 200},
		{"another audience that counts", claims(map[string]any{"aud": []string{"x", "https://tools.example.com/mcp"}}), 200},
		{"within the skew", claims(map[string]any{"exp": now.Add(-10 * time.Second).Unix(), "nbf": now.Add(10 * time.Second).Unix()}), 200},
		{"an access token by its type", sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: right.key}, map[jose.HeaderKey]any{"kid": "right", "typ": "at+jwt"}, p.claims(nil)), 200},
		{"expired", claims(map[string]any{"exp": now.Add(-time.Minute).Unix()}), 401},
		{"no expiry", claims(map[string]any{"exp": nil}), 401},
		{"not yet", claims(map[string]any{"nbf": now.Add(time.Minute).Unix()}), 401},
		{"issued in the future", claims(map[string]any{"iat": now.Add(time.Minute).Unix()}), 401},
		{"wrong audience", claims(map[string]any{"aud": "other"}), 401},
		{"no audience", claims(map[string]any{"aud": nil}), 401},
		{"wrong issuer", claims(map[string]any{"iss": "https://evil.example.com"}), 401},
		{"issuer with a slash", claims(map[string]any{"iss": p.URL + "/"}), 401},
		{"no subject", claims(map[string]any{"sub": nil}), 401},
		{"a subject with a line", claims(map[string]any{"sub": "a\nb"}), 401},
		{"a long subject", claims(map[string]any{"sub": strings.Repeat("s", 300)}), 401},
		{"bound to a key", claims(map[string]any{"cnf": map[string]string{"jkt": "x"}}), 401},
		{"alg none", b64([]byte(`{"alg":"none"}`)) + "." + b64(body) + ".", 401},
		{"alg none with the old signature", b64([]byte(`{"alg":"none","kid":"right"}`)) + "." + parts[1] + "." + parts[2], 401},
		{"HS256 with the public key as PEM", sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: pemKey}, map[jose.HeaderKey]any{"kid": "right"}, p.claims(nil)), 401},
		{"HS256 with the public key as DER", sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: public}, map[jose.HeaderKey]any{"kid": "right"}, p.claims(nil)), 401},
		{"another key under the same name", stranger.sign(t, p.claims(nil)), 401},
		{"the name of another key", sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: right.key}, map[jose.HeaderKey]any{"kid": "other"}, p.claims(nil)), 401},
		{"a name of no key", sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: right.key}, map[jose.HeaderKey]any{"kid": "../right"}, p.claims(nil)), 401},
		{"its own key in the header", sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: stranger.key}, map[jose.HeaderKey]any{"kid": "right", "jwk": embedded}, p.claims(nil)), 401},
		{"a place for its key in the header", sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: stranger.key}, map[jose.HeaderKey]any{"kid": "right", "jku": p.URL + "/mine"}, p.claims(nil)), 401},
		{"another algorithm of the same key", sign(t, jose.SigningKey{Algorithm: jose.PS256, Key: right.key}, map[jose.HeaderKey]any{"kid": "right"}, p.claims(nil)), 401},
		{"another type", sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: right.key}, map[jose.HeaderKey]any{"kid": "right", "typ": "logout+jwt"}, p.claims(nil)), 401},
		{"another body", parts[0] + "." + b64([]byte(strings.Replace(string(body), "ada", "eve", 1))) + "." + parts[2], 401},
		{"no body", parts[0] + ".." + parts[2], 401},
		{"no JSON", "a.b.c", 401},
		{"parts of four", good + ".x", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Each from an address of its own, so that none is only told to wait.
			r := request("Bearer " + c.token)
			r.RemoteAddr = fmt.Sprintf("[2001:db8::%x]:1", len(c.name)*1000+len(c.token))
			_, err := a.Caller(r)
			if got := status(t, a, r); got != c.want {
				t.Errorf("status %d, want %d: %v", got, c.want, err)
			}
			if err != nil && strings.Contains(err.Error(), parts[2]) {
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
}

// TestAlgorithmsAreAsymmetric: who can check a token must not be able to make it.
func TestAlgorithmsAreAsymmetric(t *testing.T) {
	for _, a := range access.Algorithms() {
		if strings.HasPrefix(a, "HS") || strings.EqualFold(a, "none") {
			t.Errorf("%s is allowed", a)
		}
	}
}

// Only the algorithms that the operator names count, where it names some.
func TestAlgorithms(t *testing.T) {
	rs, es := newSigner(t, "rs", jose.RS256), newSigner(t, "es", jose.ES256)
	p := newIDP(t, rs, es)
	a := trusting(t, p, func(o *access.OIDC) { o.Algorithms = []string{"ES256"} })
	if got := status(t, a, request("Bearer "+es.sign(t, p.claims(nil)))); got != 200 {
		t.Errorf("ES256: %d", got)
	}
	if got := status(t, a, request("Bearer "+rs.sign(t, p.claims(nil)))); got != 401 {
		t.Errorf("RS256: %d", got)
	}
}

// New keys are found when a token names one; keys that were taken away end.
func TestRotation(t *testing.T) {
	first, second := newSigner(t, "first", jose.ES256), newSigner(t, "second", jose.ES256)
	p := newIDP(t, first)
	a := trusting(t, p, nil)
	old, fresh := first.sign(t, p.claims(nil)), second.sign(t, p.claims(nil))
	is := func(what, token string, want int) {
		t.Helper()
		if got := status(t, a, request("Bearer "+token)); got != want {
			t.Errorf("%s: status %d, want %d", what, got, want)
		}
	}
	is("first", old, 200)
	is("second, before it is known", fresh, 401)
	p.rotate(second)
	is("second", fresh, 200)
	is("first, after its end", old, 401)
	for range 50 {
		is("second, again", fresh, 200)
	}
	if n := p.fetches.Load(); n > 4 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// Tokens with keys that were made up do not become questions to the provider.
func TestMadeUpKeysAreNoFlood(t *testing.T) {
	s, evil := newSigner(t, "good", jose.ES256), newSigner(t, "evil", jose.ES256)
	p := newIDP(t, s)
	a := trusting(t, p, nil)
	good := s.sign(t, p.claims(nil))
	for i := range 300 {
		evil.kid = fmt.Sprint("evil", i)
		status(t, a, request("Bearer "+evil.sign(t, p.claims(map[string]any{"jti": i}))))
	}
	if got := status(t, a, request("Bearer "+good)); got != 200 {
		t.Errorf("the right one: status %d", got)
	}
	if n := p.fetches.Load(); n > 5 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// What a token allows comes from the first grant that fits its claims.
func TestGrants(t *testing.T) {
	s := newSigner(t, "k", jose.ES256)
	p := newIDP(t, s)
	a := trusting(t, p, func(o *access.OIDC) {
		o.Grants = []access.ClaimGrant{
			{Claim: "scope", Values: []string{"tenon:approve"}, Scope: access.Scope{Approver: true}},
			{Claim: "realm_access.roles", Values: []string{"sre", "oncall"}, Scope: access.Scope{Mode: tool.ModeNormal, Caller: true, Elicit: true}},
			{Claim: "https://example.com/team", Values: []string{"web"}, Scope: access.Scope{Mode: tool.ModeReadOnly, Skills: []string{"s"}, Limits: "l", Caller: true}},
			{Claim: "email_verified", Values: []string{"true"}, Scope: access.Scope{Mode: tool.ModeAskDestructive, Caller: true}},
		}
	})
	for _, c := range []struct {
		name   string
		claims map[string]any
		want   *tool.Grant // nil is 403
	}{
		{"a word of scope", map[string]any{"scope": "openid tenon:approve"}, &tool.Grant{Approver: true}},
		{"scope alone", map[string]any{"scope": "tenon:approve"}, &tool.Grant{Approver: true}},
		{"a part of a word", map[string]any{"scope": "tenon:approve2"}, nil},
		{"a member of a list on a path", map[string]any{"realm_access": map[string]any{"roles": []string{"x", "oncall"}}}, &tool.Grant{Mode: tool.ModeNormal, Caller: true, Elicit: true}},
		{"a name with dots", map[string]any{"https://example.com/team": "web"}, &tool.Grant{Mode: tool.ModeReadOnly, Skills: []string{"s"}, Limits: "l", Caller: true}},
		{"true", map[string]any{"email_verified": true}, &tool.Grant{Mode: tool.ModeAskDestructive, Caller: true}},
		{"false", map[string]any{"email_verified": false}, nil},
		{"the first of two", map[string]any{"scope": "tenon:approve", "email_verified": true}, &tool.Grant{Approver: true}},
		{"none", nil, nil},
		{"a path through a text", map[string]any{"realm_access": "roles"}, nil},
		{"of another type", map[string]any{"scope": 7}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := maps.Clone(c.claims)
			if all == nil {
				all = map[string]any{}
			}
			got, err := a.Caller(request("Bearer " + s.sign(t, p.claims(all))))
			if c.want == nil {
				if code := status(t, a, request("Bearer "+s.sign(t, p.claims(all)))); code != 403 {
					t.Errorf("status %d, want 403", code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c.want.Key = "oidc:ada"
			if diff := cmp.Diff(c.want, got.Grant); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A provider that fails, in whatever way, gives nobody access, soon, and is told to
// the operator.
func TestProviderFails(t *testing.T) {
	s := newSigner(t, "k", jose.ES256)
	release := make(chan struct{})
	defer close(release)
	for _, c := range []struct {
		name, says string
		answer     func(p *idp) func(w http.ResponseWriter, r *http.Request) bool
	}{
		{"hangs", "deadline", func(*idp) func(http.ResponseWriter, *http.Request) bool {
			return func(_ http.ResponseWriter, r *http.Request) bool {
				select {
				case <-release:
				case <-r.Context().Done():
				}
				return true
			}
		}},
		{"trickles", "deadline", func(*idp) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				for r.Context().Err() == nil {
					if _, err := w.Write([]byte(" ")); err != nil {
						break
					}
					_ = http.NewResponseController(w).Flush()
					select {
					case <-time.After(20 * time.Millisecond):
					case <-r.Context().Done():
					}
				}
				return true
			}
		}},
		{"is huge", "too large", func(*idp) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/keys" {
					return false
				}
				for range 64 {
					if _, err := w.Write(bytes.Repeat([]byte(" "), 64<<10)); err != nil {
						break
					}
				}
				return true
			}
		}},
		{"answers with an error", "502", func(*idp) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, _ *http.Request) bool {
				http.Error(w, "down", http.StatusBadGateway)
				return true
			}
		}},
		{"has no keys", "no key", func(p *idp) func(http.ResponseWriter, *http.Request) bool {
			p.rotate()
			return nil
		}},
		{"says it is another one", "issuer", func(*idp) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				_, _ = w.Write([]byte(`{"issuer":"https://evil.example.com","jwks_uri":"http://` + r.Host + `/keys"}`))
				return true
			}
		}},
		{"names keys that are not on https", "only https", func(p *idp) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, _ *http.Request) bool {
				_, _ = w.Write([]byte(`{"issuer":"` + p.URL + `","jwks_uri":"http://192.0.2.1/keys"}`))
				return true
			}
		}},
		{"sends elsewhere", "only https", func(*idp) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, r *http.Request) bool {
				http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
				return true
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newIDP(t, s)
			p.answers(c.answer(p))
			var log bytes.Buffer
			o := &access.OIDC{Issuer: p.URL, Audience: []string{"tenon"}, Timeout: time.Minute}
			if c.says == "deadline" {
				o.Timeout = 300 * time.Millisecond
			}
			a := access.New(access.Options{OIDC: o, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			token := s.sign(t, p.claims(nil))
			var took []time.Duration
			for range 20 {
				begun := time.Now()
				if got := status(t, a, request("Bearer "+token)); got != http.StatusServiceUnavailable {
					t.Errorf("status %d, want 503", got)
				}
				took = append(took, time.Since(begun))
			}
			if slices.Sort(took); took[10] >= o.Timeout { // a few may wait, and on a busy machine for longer
				t.Errorf("20 requests took %s", took)
			}
			_ = a.Close() // what fetches has logged then
			if !strings.Contains(log.String(), "identity provider") || !strings.Contains(log.String(), c.says) || strings.Contains(log.String(), token) {
				t.Errorf("log: %s", &log)
			}
		})
	}
}

// Who waits for a slow provider can give up, without ending what others wait for.
func TestWaitingForProvider(t *testing.T) {
	s := newSigner(t, "k", jose.ES256)
	p := newIDP(t, s)
	asked, release := make(chan struct{}, 10), make(chan struct{})
	p.answers(func(http.ResponseWriter, *http.Request) bool {
		asked <- struct{}{}
		<-release
		return false
	})
	a := trusting(t, p, func(o *access.OIDC) { o.Timeout = 20 * time.Second })
	token := s.sign(t, p.claims(nil))
	var wg, first sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	first.Go(func() {
		if got := status(t, a, request("Bearer "+token).WithContext(ctx)); got != http.StatusServiceUnavailable {
			t.Errorf("who gave up: status %d", got)
		}
	})
	<-asked
	for range 5 {
		wg.Go(func() {
			if got := status(t, a, request("Bearer "+token)); got != 200 {
				t.Errorf("who waited: status %d", got)
			}
		})
	}
	cancel()
	first.Wait()
	close(release)
	wg.Wait()
	if n := p.fetches.Load(); n > 2 {
		t.Errorf("fetched %d times", n)
	}
}

func TestMetadata(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8400/.well-known/oauth-protected-resource/mcp", nil)
	if _, ok := open(t, access.Options{}).Metadata(r); ok {
		t.Error("metadata without an identity provider")
	}
	for _, c := range []struct{ resource, want, at string }{
		{"", "http://127.0.0.1:8400/mcp", "http://127.0.0.1:8400/.well-known/oauth-protected-resource/mcp"},
		{"https://tools.example.com/mcp", "https://tools.example.com/mcp", "https://tools.example.com/.well-known/oauth-protected-resource/mcp"},
	} {
		o := access.OIDC{Issuer: "https://id.example.com", Audience: []string{"tenon"}, Resource: c.resource}
		a := open(t, access.Options{OIDC: &o, Required: true})
		body, ok := a.Metadata(r)
		var got struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		if err := json.Unmarshal(body, &got); err != nil || !ok {
			t.Fatal(err)
		}
		if got.Resource != c.want || len(got.Servers) != 1 || got.Servers[0] != "https://id.example.com" || got.Methods[0] != "header" {
			t.Errorf("got %s", body)
		}
		_, err := a.Caller(r)
		h := http.Header{}
		refusal, _ := errors.AsType[*access.Refusal](err)
		refusal.Tell(h)
		if challenge := h.Get("WWW-Authenticate"); !strings.Contains(challenge, `resource_metadata="`+c.at+`"`) {
			t.Errorf("challenge %s", challenge)
		}
	}
}

func BenchmarkToken(b *testing.B) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	s := signer{"k", jose.ES256, key}
	p := &idp{}
	p.rotate(s)
	p.Server = httptest.NewServer(p)
	defer p.Close()
	a := access.New(access.Options{OIDC: &access.OIDC{Issuer: p.URL, Audience: []string{"tenon"}}})
	defer a.Close()
	claims := p.claims(map[string]any{"exp": time.Now().Add(time.Hour).Unix(), "roles": strings.Repeat("x", 500)})
	o := (&jose.SignerOptions{}).WithHeader("kid", "k")
	js, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, o)
	if err != nil {
		b.Fatal(err)
	}
	body, _ := json.Marshal(claims)
	signed, err := js.Sign(body)
	if err != nil {
		b.Fatal(err)
	}
	token, _ := signed.CompactSerialize()
	r := request("Bearer " + token)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Caller(r); err != nil {
			b.Fatal(err)
		}
	}
}
