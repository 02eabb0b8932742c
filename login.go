package tenon

import (
	"context"
	"fmt"
	"net/http"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/login"
	"github.com/tenon-mcp/tenon/internal/secrets"
	"github.com/tenon-mcp/tenon/tool"
)

// A LoginRequest is one login of a person at a server.
type LoginRequest = login.Request

// A LoginPerson is how that person is spoken to.
type LoginPerson = login.Person

// A LoginPrompt is what they are told.
type LoginPrompt = login.Prompt

// A LoginFlow is the way in which they log in.
type LoginFlow = login.Flow

// The flows. The empty one is that of the server's entry.
const (
	LoginBrowser = login.Browser
	LoginDevice  = login.Device
	LoginPaste   = login.Paste
	LoginMachine = login.Machine
)

// LoginFlows returns the names of all of them.
func LoginFlows() []string { return login.Flows() }

// A Login is what is kept of one. It prints without its secrets.
type Login = login.Kept

// Logins are the logins at the servers of a configuration, for those who change them.
type Logins struct {
	cfg *config.Config
	all *login.Logins
}

// OpenLogins returns the logins of the user at the servers of a configuration. Close
// them.
func OpenLogins(o Options) (*Logins, error) {
	cfg, err := o.load()
	if err != nil {
		return nil, err
	}
	return &Logins{cfg, openLogins(o, nil)}, nil
}

// keyringVariable set to off leaves the keyring of the user alone.
const keyringVariable = "TENON_KEYRING"

func openLogins(o Options, learn func([]tool.Secret)) *login.Logins {
	return login.New(login.Options{
		Dir: o.StateDir, Learn: learn, Logger: o.Logger,
		Keyring: variable(o.Env, keyringVariable) != "off" && secrets.HasKeyring(variable(o.Env, "DBUS_SESSION_BUS_ADDRESS")),
	})
}

// Close ends what still runs.
func (l *Logins) Close() { l.all.Close() }

// Login has a person log in at a server of the configuration.
func (l *Logins) Login(ctx context.Context, server string, r LoginRequest) (*Login, error) {
	s, err := l.server(server)
	if err != nil {
		return nil, err
	}
	k, err := l.all.Login(ctx, loginAt(s), r)
	if err != nil && ctx.Err() == nil && tool.KindOf(err) == tool.Internal {
		err = &tool.Error{Kind: tool.Failed, Text: err.Error(), Err: err}
	}
	return k, err
}

// Logout forgets a login, and tells the issuer. It returns nil where there was none; an
// error beside a login is that the issuer may not know.
func (l *Logins) Logout(ctx context.Context, server, caller string) (*Login, error) {
	s, err := l.server(server)
	if err != nil {
		return nil, err
	}
	return l.all.Logout(ctx, loginAt(s), caller)
}

// List returns all logins of the user, also at servers of other configurations.
func (l *Logins) List() ([]*Login, error) { return l.all.List() }

// server returns the entry of a server that one can log in at.
func (l *Logins) server(name string) (*config.Server, error) {
	for i := range l.cfg.Servers {
		s := &l.cfg.Servers[i]
		switch {
		case s.Name != name:
			continue
		case s.Err != nil:
			return nil, s.Err
		case s.Kind() != "url":
			return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("server %s is a program here: it gets its credentials by env, and nobody logs in", name)}
		case hasToken(s):
			return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("server %s has a header Authorization in the configuration, which counts", name)}
		}
		return s, nil
	}
	return nil, &tool.Error{Kind: tool.NotFound, Text: fmt.Sprintf("there is no server %q in the configuration", name)}
}

// hasToken reports whether the operator wrote down what to send as Authorization.
func hasToken(s *config.Server) bool {
	for name := range s.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}

// loginAt returns how to log in at the server of an entry.
func loginAt(s *config.Server) login.Server {
	out := login.Server{Name: s.Name, URL: s.URL, Header: http.Header{}}
	for k, v := range s.Headers {
		out.Header.Set(k, v.Reveal())
	}
	a := s.Care.Login
	if a == nil {
		return out
	}
	out.ClientID, out.ClientSecret, out.ClientKey, out.Scopes, out.RedirectPort = a.ClientID, a.ClientSecret, a.ClientKey, a.Scopes, a.RedirectPort
	out.Flow = login.Flow(a.Flow)
	if out.Flow == "" {
		out.Flow = login.Browser // that there is an entry says that a login is wanted
	}
	return out
}

// keyOf says what is wrong with the private key of an entry, before anybody waits for a
// login with it.
func keyOf(s *config.Server) error {
	a := s.Care.Login
	if a == nil || a.ClientKey.Reveal() == "" {
		return nil
	}
	if err := login.CheckKey(a.ClientKey.Reveal()); err != nil {
		return fmt.Errorf("auth.client_key of server %s: %w", s.Name, err)
	}
	return nil
}

// loginOf returns what puts logins into the requests to a server, and what tells that
// one has changed; nil where the operator wrote down what to send.
func (g *Gateway) loginOf(s *config.Server) (put func(caller string, base http.RoundTripper) http.RoundTripper, changed func() bool) {
	if hasToken(s) {
		return nil, nil
	}
	at, each := loginAt(s), s.Care.Login != nil && s.Care.Login.PerCaller
	put = func(caller string, base http.RoundTripper) http.RoundTripper {
		if !each {
			caller = ""
		}
		return g.logins.Transport(at, caller, base)
	}
	return put, func() bool { return g.logins.Changed(at) }
}

// Flow returns the flow of a server's entry; empty where it says nothing, or where
// there is no such server.
func (l *Logins) Flow(server string) LoginFlow {
	if s, err := l.server(server); err == nil && s.Care.Login != nil {
		return LoginFlow(s.Care.Login.Flow)
	}
	return ""
}
