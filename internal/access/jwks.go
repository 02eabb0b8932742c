package access

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"
)

const (
	keysFresh   = 10 * time.Minute // until the keys are fetched anew
	keysTrusted = time.Hour        // until they count no more where that fails
	fetchEvery  = 10 * time.Second // at most, in the long run: tokens with made-up keys must not become a flood
	fetchBurst  = 3

	maxAnswer = 1 << 20 // bytes of what the provider answers
	maxKeys   = 100
	minRSA    = 2048 // bits
)

var (
	errUnknownKey = errors.New("no key of the identity provider signed the token")
	errProvider   = errors.New("the identity provider cannot be asked")
)

// A keyStore fetches the keys of an identity provider and keeps them. They are
// fetched when they are first wanted, when they are old, and when a token names one
// that is not there: that is how providers change their keys.
type keyStore struct {
	issuer  string
	timeout time.Duration
	log     *slog.Logger
	client  *http.Client
	allowed *rate.Limiter
	current atomic.Pointer[keySnapshot]

	tasks sync.WaitGroup

	mu     sync.Mutex
	closed bool
	flight *flight // nil where nothing is being fetched
}

// A keySnapshot is what the provider's keys were at one time.
type keySnapshot struct {
	keys    []jose.JSONWebKey
	fetched time.Time
}

// A flight is one fetch, which any number wait for.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

func newKeyStore(o OIDC, log *slog.Logger) *keyStore {
	return &keyStore{
		issuer: o.Issuer, timeout: o.Timeout, log: log,
		client: &http.Client{
			Transport: guarded{&http.Transport{
				Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: o.Timeout}).DialContext,
				TLSHandshakeTimeout: o.Timeout, ForceAttemptHTTP2: true, DisableKeepAlives: true,
			}},
			CheckRedirect: func(_ *http.Request, via []*http.Request) error {
				if len(via) > 3 {
					return errors.New("too many redirects")
				}
				return nil
			},
		},
		allowed: rate.NewLimiter(rate.Every(fetchEvery), fetchBurst),
	}
}

func (s *keyStore) close() {
	s.mu.Lock()
	s.closed = true
	if s.flight != nil {
		s.flight.cancel()
	}
	s.mu.Unlock()
	s.tasks.Wait()
}

// snapshot returns the keys, or nil where there are none that count. Old ones are
// fetched anew beside what is asked.
func (s *keyStore) snapshot(ctx context.Context, now time.Time) *keySnapshot {
	k := s.current.Load()
	if k == nil {
		return nil
	}
	age := now.Sub(k.fetched)
	if age > keysFresh {
		s.begin(ctx)
	}
	if age > keysTrusted {
		return nil
	}
	return k
}

// holds reports whether a snapshot is still the one that counts.
func (s *keyStore) holds(ctx context.Context, k *keySnapshot, now time.Time) bool {
	return k != nil && s.snapshot(ctx, now) == k
}

// begin returns the fetch that runs, or begins one. It returns nil where the last
// ones are too short ago. It does not end with whoever began it.
func (s *keyStore) begin(ctx context.Context) *flight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight != nil {
		return s.flight
	}
	if s.closed || !s.allowed.Allow() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
	f := &flight{cancel: cancel, done: make(chan struct{})}
	s.flight = f
	s.tasks.Go(func() {
		defer cancel()
		f.err = s.fetch(ctx)
		if f.err != nil {
			s.log.Error("keys of the identity provider cannot be fetched: its tokens are refused once the known keys are too old", "issuer", s.issuer, "error", f.err)
		}
		s.mu.Lock()
		s.flight = nil
		s.mu.Unlock()
		close(f.done)
	})
	return f
}

// renew fetches the keys, or waits for who does.
func (s *keyStore) renew(ctx context.Context) error {
	f := s.begin(ctx)
	if f == nil {
		return errUnknownKey
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.done:
		return f.err
	}
}

func (s *keyStore) fetch(ctx context.Context) error {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, s.client), s.issuer)
	if err != nil {
		return err
	}
	var found struct {
		Keys string `json:"jwks_uri"`
	}
	if err := p.Claims(&found); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, found.Keys, nil)
	if err != nil {
		return err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", found.Keys, res.Status)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	keys, err := parseKeys(text)
	if err != nil {
		return fmt.Errorf("%s: %w", found.Keys, err)
	}
	s.current.Store(&keySnapshot{keys, time.Now()})
	return nil
}

// parseKeys returns the keys of a set that can check a signature. Those that it
// does not know are left out, as RFC 7517 wants it.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys[:min(len(set.Keys), maxKeys)] {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) != nil || !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
			continue
		}
		if r, ok := k.Key.(*rsa.PublicKey); ok && r.N.BitLen() < minRSA {
			continue
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("no key in it can check a signature")
	}
	return keys, nil
}

// A keySet checks the signature of one token, and keeps what came of it.
type keySet struct {
	store      *keyStore
	algorithms []string

	by  *keySnapshot // that checked it
	err error
}

var _ oidc.KeySet = (*keySet)(nil)

// VerifySignature returns what the token says if a key of the provider signed it.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.verify(ctx, token)
	k.err = err
	return payload, err
}

func (k *keySet) verify(ctx context.Context, token string) ([]byte, error) {
	algorithms := make([]jose.SignatureAlgorithm, len(k.algorithms))
	for i, a := range k.algorithms {
		algorithms[i] = jose.SignatureAlgorithm(a)
	}
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	head := jws.Signatures[0].Header
	if typ, _ := head.ExtraHeaders[jose.HeaderType].(string); !bearerType(typ) {
		return nil, errors.New("the token is of another type")
	}
	snap := k.store.snapshot(ctx, time.Now())
	if snap != nil {
		if payload, known := snap.verify(jws, head); known {
			return k.checked(snap, payload)
		}
	}
	if err := k.store.renew(ctx); err != nil {
		if snap == nil || !errors.Is(err, errUnknownKey) {
			return nil, fmt.Errorf("%w: %w", errProvider, err)
		}
		return nil, err
	}
	if snap = k.store.snapshot(ctx, time.Now()); snap == nil {
		return nil, errProvider
	}
	payload, _ := snap.verify(jws, head)
	return k.checked(snap, payload)
}

func (k *keySet) checked(by *keySnapshot, payload []byte) ([]byte, error) {
	if payload == nil {
		return nil, errUnknownKey
	}
	k.by = by
	return payload, nil
}

// verify returns what a token says. A nil payload says that none of the keys
// signed it; known, that fetching them anew would change nothing.
func (s *keySnapshot) verify(jws *jose.JSONWebSignature, head jose.Header) (payload []byte, known bool) {
	for i := range s.keys {
		key := &s.keys[i]
		if head.KeyID != "" && key.KeyID != head.KeyID || key.Algorithm != "" && key.Algorithm != head.Algorithm {
			continue
		}
		known = known || head.KeyID != ""
		if payload, err := jws.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, known
}

// bearerType reports whether a token of that type is one to be taken from its
// bearer. Tokens of another purpose, such as a logout, say so here.
func bearerType(typ string) bool {
	typ = strings.TrimPrefix(strings.ToLower(typ), "application/")
	return typ == "" || typ == "jwt" || typ == "at+jwt"
}

// refusal says why a token was not verified.
func (k *keySet) refusal() *Refusal {
	switch {
	case errors.Is(k.err, errProvider):
		return &Refusal{Status: http.StatusServiceUnavailable, Text: "the identity provider cannot be asked for its keys now: try again later", RetryAfter: retryAfter}
	case k.err != nil:
		return invalidToken("the signature of the token is not one of the identity provider")
	}
	return invalidToken("the token is none of the identity provider that is trusted here, or is signed in a way that is not allowed")
}

// guarded is a transport that keeps to HTTPS, but for this machine, and to answers
// of a bounded size.
type guarded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !Secure(r.URL) {
		return nil, fmt.Errorf("%s is not asked: only https is, but for this machine", r.URL.Redacted())
	}
	res, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = http.MaxBytesReader(nil, res.Body, maxAnswer)
	return res, nil
}

// Secure reports whether nobody on the way can read or change what is sent to u: by
// HTTPS, or because it does not leave this machine.
func Secure(u *url.URL) bool {
	if u.Scheme == "https" {
		return u.Host != ""
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
