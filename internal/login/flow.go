package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

const (
	// personBound is how long a person may take.
	personBound = 10 * time.Minute
	// pastePort is in the redirect address of the flow paste: nothing listens there.
	pastePort = 28733
	callback  = "/callback"
)

// A Request is one login.
type Request struct {
	Caller string   // whose it is; empty is that of the server
	Flow   Flow     // empty is that of the server
	Scopes []string // empty are those of the server
	Person Person
}

// A Person is how whoever logs in is spoken to. A function may be nil.
type Person struct {
	Show  func(Prompt)
	Open  func(address string) error // in a browser
	Paste func(context.Context) (string, error)
}

// A Prompt says where to log in.
type Prompt struct {
	Flow Flow
	URL  string
	Code string // to enter there, of the flow device
}

// Login has somebody log in at a server, and keeps the tokens.
func (l *Logins) Login(ctx context.Context, s Server, r Request) (*Kept, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, personBound, fmt.Errorf("nobody logged in within %s", personBound))
	defer cancel()
	k, err := l.login(ctx, &s, &r)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return k, err
}

func (l *Logins) login(ctx context.Context, s *Server, r *Request) (*Kept, error) {
	flow := r.Flow
	if flow == "" {
		flow = s.Flow
	}
	if flow != Machine && l.o.Dir == "" {
		return nil, errNoFolder
	}
	at := place{s.Name, s.URL, r.Caller}
	before, err := l.files.read(at)
	if err != nil {
		l.o.Logger.Warn("the login before cannot be read", "server", s.Name, "error", err)
	}
	known := ""
	if before != nil {
		known = before.Issuer
	}
	c := guarded(s.URL)
	cs, err := challenges(ctx, c, s)
	if err != nil {
		return nil, err
	}
	where, err := discover(ctx, c, s.URL, cs, known)
	if err != nil {
		return nil, err
	}
	if len(r.Scopes) > 0 {
		where.scopes = r.Scopes
	} else if len(s.Scopes) > 0 {
		where.scopes = s.Scopes
	}
	if flow == Machine {
		k, err := machine(ctx, c, s, where, r.Scopes, l.o.Now())
		if err == nil {
			l.learn(k)
		}
		return k, err
	}
	k := &Kept{
		Server: s.Name, URL: s.URL, Caller: r.Caller, Issuer: where.meta.Issuer, Resource: where.resource,
		Endpoints: Endpoints{Token: where.meta.TokenEndpoint, Revoke: where.meta.RevocationEndpoint},
		Scopes:    asked(where, before),
	}
	f := &flowing{l: l, c: c, s: s, r: r, at: where, before: before, k: k}
	run := f.browser
	switch flow {
	case Device:
		run = f.device
	case Paste:
		run = f.paste
	case Browser, Machine:
	}
	token, err := run(ctx)
	if err != nil {
		return nil, err
	}
	k = took(k, token, l.o.Now())
	l.learn(k)
	unlock, err := l.files.lock(ctx, at)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return k, l.files.write(at, k)
}

// asked returns the scopes to ask for. What was granted before, and what the server has
// asked for since, is asked for as well: a login never takes something away.
func asked(at *site, before *Kept) []string {
	scopes := slices.Clone(at.scopes)
	if before != nil && before.Issuer == at.meta.Issuer {
		scopes = union(union(scopes, before.Scopes), before.Wanted)
	}
	if slices.Contains(at.meta.ScopesSupported, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

// flowing is one login on its way.
type flowing struct {
	l      *Logins
	c      *http.Client
	s      *Server
	r      *Request
	at     *site
	before *Kept
	k      *Kept
}

func (f *flowing) show(p Prompt) {
	if f.r.Person.Show != nil {
		f.r.Person.Show(p)
	}
}

// codeGrants are what a client that registers itself will do.
var codeGrants = []string{"authorization_code", "refresh_token"}

// browser waits on a port of loopback for the browser to come back.
func (f *flowing) browser(ctx context.Context) (*oauth2.Token, error) {
	port := f.s.RedirectPort
	if port == 0 && f.before != nil { // the port that the client was registered with, where it is free
		if u, err := url.Parse(f.before.Client.Registered); err == nil && u.Port() != "" {
			port, _ = strconv.Atoi(u.Port())
		}
	}
	lc := net.ListenConfig{}
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil && f.s.RedirectPort == 0 {
		listener, err = lc.Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, fmt.Errorf("no port for the browser to come back to: %w", err)
	}
	redirect := "http://" + listener.Addr().String() + callback
	state := rand.Text()
	answers := make(chan url.Values, 1)
	server := &http.Server{Handler: returning(state, answers), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	ended := make(chan struct{})
	f.l.tasks.Go(func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends when it is closed
	})
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(bounded) != nil { // so that the browser gets its page
			_ = server.Close() // whoever is still there is not waited for
		}
		<-ended
	}()
	cfg, verifier, err := f.begin(ctx, redirect)
	if err != nil {
		return nil, err
	}
	address := f.address(cfg, verifier, state)
	f.show(Prompt{Flow: Browser, URL: address})
	if f.r.Person.Open != nil {
		if err := f.r.Person.Open(address); err != nil {
			f.l.o.Logger.Warn("no browser could be opened", "error", err)
		}
	}
	select {
	case answer := <-answers:
		return f.finish(ctx, cfg, verifier, answer)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// returning takes the browser that comes back. What has another state is not ours.
func returning(state string, answers chan<- url.Values) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callback, func(w http.ResponseWriter, req *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		q := req.URL.Query()
		if !sameState(q.Get("state"), state) {
			http.Error(w, "This is not the login that Tenon waits for.", http.StatusBadRequest)
			return
		}
		select {
		case answers <- q:
			fmt.Fprintln(w, "Back to Tenon: this window can be closed. The terminal says how the login ended.")
		default:
			http.Error(w, "This login has been used.", http.StatusConflict)
		}
	})
	return mux
}

func sameState(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// paste has a person bring the address that their browser ended at.
func (f *flowing) paste(ctx context.Context) (*oauth2.Token, error) {
	if f.r.Person.Paste == nil {
		return nil, errors.New("there is nobody to paste an address")
	}
	port := f.s.RedirectPort
	if port == 0 {
		port = pastePort
	}
	cfg, verifier, err := f.begin(ctx, "http://127.0.0.1:"+strconv.Itoa(port)+callback)
	if err != nil {
		return nil, err
	}
	state := rand.Text()
	f.show(Prompt{Flow: Paste, URL: f.address(cfg, verifier, state)})
	text, err := f.r.Person.Paste(ctx)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.RawQuery == "" {
		return nil, errors.New("that is not the address that the browser ended at: it begins with " + cfg.RedirectURL + "?")
	}
	answer := u.Query()
	if !sameState(answer.Get("state"), state) {
		return nil, errors.New("that is the address of another login: its state is not the one of this")
	}
	return f.finish(ctx, cfg, verifier, answer)
}

// begin settles who the client is, and what proves that it is the same later (PKCE).
func (f *flowing) begin(ctx context.Context, redirect string) (*oauth2.Config, string, error) {
	if err := registered(ctx, f.c, f.s, f.at, f.before, f.k, redirect, codeGrants); err != nil {
		return nil, "", err
	}
	cfg := config(f.k)
	cfg.RedirectURL, cfg.Endpoint.AuthURL, cfg.Scopes = redirect, f.at.meta.AuthorizationEndpoint, f.k.Scopes
	return cfg, oauth2.GenerateVerifier(), nil
}

func (f *flowing) address(cfg *oauth2.Config, verifier, state string) string {
	return cfg.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), resourceParam(f.at.resource))
}

// finish checks who answers, and takes the token for the code.
func (f *flowing) finish(ctx context.Context, cfg *oauth2.Config, verifier string, answer url.Values) (*oauth2.Token, error) {
	// First of all, so that nobody else's error is shown.
	if err := sameIssuer(answer, f.at.meta.Issuer, f.at.meta.AuthorizationResponseIssParameterSupported); err != nil {
		return nil, err
	}
	if code := answer.Get("error"); code != "" {
		return nil, &refusal{clip(code), clip(answer.Get("error_description"))}
	}
	if answer.Get("code") == "" {
		return nil, errors.New("the authorization server answered without a code")
	}
	token, err := cfg.Exchange(with(ctx, f.c), answer.Get("code"), oauth2.VerifierOption(verifier), resourceParam(f.at.resource))
	return token, plainly(err)
}

// sameIssuer checks that an answer comes from whom it was asked of (RFC 9207): with
// several issuers, one of them might send on a code of another.
func sameIssuer(answer url.Values, want string, promised bool) error {
	got := answer.Get("iss")
	switch {
	case got == "" && promised:
		return fmt.Errorf("the answer does not say that it is of %s, as that server promises", want)
	case got != "" && got != want:
		return fmt.Errorf("the answer is of %s, and not of %s", clip(got), want)
	case got != "" && !promised:
		return fmt.Errorf("the answer says that it is of %s, which that server does not promise to say", want)
	}
	return nil
}

// device shows a code, and waits until it was entered.
func (f *flowing) device(ctx context.Context) (*oauth2.Token, error) {
	endpoint, err := deviceEndpoint(ctx, f.c, f.at.issuer)
	if err != nil {
		return nil, err
	}
	if endpoint == "" {
		return nil, fmt.Errorf("authorization server %s offers no device flow; use browser or paste", f.at.meta.Issuer)
	}
	redirect := "http://127.0.0.1:" + strconv.Itoa(pastePort) + callback // some issuers register no client without one
	grants := []string{"urn:ietf:params:oauth:grant-type:device_code", "refresh_token"}
	if f.before != nil && f.before.Client.Registered != "" {
		f.before = nil // it was registered for other grants
	}
	if err := registered(ctx, f.c, f.s, f.at, f.before, f.k, redirect, grants); err != nil {
		return nil, err
	}
	f.k.Client.Registered = "" // the same reason, the next time
	cfg := config(f.k)
	cfg.Endpoint.DeviceAuthURL, cfg.Scopes = endpoint, f.k.Scopes
	asked, err := cfg.DeviceAuth(with(ctx, f.c), resourceParam(f.at.resource))
	if err != nil {
		return nil, plainly(err)
	}
	u, err := url.Parse(asked.VerificationURI)
	if err != nil || !secureURL(u, isLocal(u.Hostname())) {
		return nil, errors.New("the authorization server names no https address to enter the code at")
	}
	f.show(Prompt{Flow: Device, URL: u.String(), Code: clip(asked.UserCode)})
	token, err := cfg.DeviceAccessToken(with(ctx, f.c), asked, resourceParam(f.at.resource))
	return token, plainly(err)
}

// Logout forgets a login, and tells the issuer. It returns what was forgotten, nil where
// there was nothing; an error beside it is that the issuer may not know.
func (l *Logins) Logout(ctx context.Context, s Server, caller string) (*Kept, error) {
	at := place{s.Name, s.URL, caller}
	unlock, err := l.files.lock(ctx, at)
	if err != nil {
		return nil, err
	}
	defer unlock()
	k, err := l.files.read(at)
	if k == nil && err == nil {
		return nil, nil
	}
	if gone := l.files.remove(at); gone != nil {
		return nil, gone
	}
	if err != nil {
		return &Kept{Server: s.Name, URL: s.URL, Caller: caller}, fmt.Errorf("the login could not be read, and is not revoked: %w", err)
	}
	l.learn(k)
	if err := revoke(ctx, guarded(s.URL), k); err != nil {
		return k, fmt.Errorf("%s may not have revoked the tokens: %w", k.Issuer, err)
	}
	return k, nil
}

// List returns what is kept, also where the error says that some could not be read.
func (l *Logins) List() ([]*Kept, error) {
	list, err := l.files.list()
	slices.SortFunc(list, func(a, b *Kept) int {
		return strings.Compare(a.Server+"\x00"+a.URL+"\x00"+a.Caller, b.Server+"\x00"+b.URL+"\x00"+b.Caller)
	})
	return list, err
}
