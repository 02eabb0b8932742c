// Package login gets and keeps the credentials for tool servers that want OAuth: a
// person logs in once, and requests carry a token that is renewed before it ends.
//
//	all := login.New(login.Options{Dir: stateDir, Learn: redactor.Learn})
//	defer all.Close()
//	s := login.Server{Name: "docs", URL: "https://docs.example/mcp"}
//	_, err := all.Login(ctx, s, login.Request{Flow: login.Paste, Person: person}) // tenon login docs
//	client := http.Client{Transport: all.Transport(s, "", http.DefaultTransport)} // the gateway
//
// Where to log in is found out as MCP says: the server names its authorization
// server (RFC 9728), and that describes itself (RFC 8414, OpenID Connect). The
// client is the one of a metadata document, the one that the operator registered, or
// one that registers itself (RFC 7591), in this order. Codes are bound by PKCE and
// the state, answers to the issuer (RFC 9207), tokens to the server (RFC 8707).
//
// A Transport never sends on what a client of the gateway has sent: whatever
// Authorization a request has is replaced or removed. A request without a token goes
// out as it is; when the server then asks for a login, the error is a *tool.Error of
// kind unavailable, whose text says which command to run.
//
// Tokens are kept in the state folder, a file for each server and caller, encrypted
// with age for a key in the keyring of the user, or in a file of mode 0600 where
// there is none. A lock for each of these files lets one process renew a token:
// many issuers take it for a theft when a refresh token comes twice.
package login

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// A Flow is the way in which somebody logs in.
type Flow string

// The flows. The empty one is Browser.
const (
	Browser Flow = "browser"            // opens one, which comes back to a port here
	Device  Flow = "device"             // shows a code, to be entered on any device
	Paste   Flow = "paste"              // the person brings back the address that the browser ended at
	Machine Flow = "client_credentials" // no person: the operator's own client logs in
)

// Flows are all of them.
func Flows() []string {
	return []string{string(Browser), string(Device), string(Paste), string(Machine)}
}

// A Server is one tool server as the operator configured it.
type Server struct {
	Name, URL string
	Header    http.Header // goes along when the server is asked where to log in
	// ClientID is that of a client that the operator registered, or the address of a
	// metadata document, which is an ID as well. Empty registers a client.
	ClientID     string
	ClientSecret tool.Secret
	ClientKey    tool.Secret // its private key in PEM, in place of the secret (private_key_jwt)
	Scopes       []string    // empty are those that the server asks for
	RedirectPort int         // on loopback; 0 is any
	Flow         Flow
}

// Options configures Logins.
type Options struct {
	Dir string // for the files; empty keeps nothing, so that only machines can log in
	// Keyring keeps the key in the keyring of the user where that works.
	Keyring bool
	Learn   func(secrets []tool.Secret) // hears of each token, to hide it; nil does nothing
	Logger  *slog.Logger                // nil discards
	Now     func() time.Time            // nil is time.Now
}

// Logins are the logins at all servers. They are safe for concurrent use.
type Logins struct {
	o     Options
	files files
	ctx   context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu  sync.Mutex
	all map[place]*holder
}

// A place is what a login is for.
type place struct{ server, url, caller string }

// maxHolders bounds the tokens in memory. One that has gone is read again.
const maxHolders = 4096

// New returns the logins that are kept in a folder. Close them.
func New(o Options) *Logins {
	if o.Learn == nil {
		o.Learn = func([]tool.Secret) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Logins{o: o, files: files{dir: o.Dir, keyring: o.Keyring}, all: map[place]*holder{}}
	l.ctx, l.stop = context.WithCancel(context.Background()) //nolint:forbidigo // Close ends it
	return l
}

// Close ends what still runs, and waits for it.
func (l *Logins) Close() {
	l.mu.Lock()
	l.stop()
	l.mu.Unlock()
	l.tasks.Wait()
}

// holder returns what holds the token of a place in memory.
func (l *Logins) holder(s *Server, caller string) *holder {
	at := place{s.Name, s.URL, caller}
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.all[at]
	if h != nil && h.sameClient(s) {
		return h
	}
	if len(l.all) >= maxHolders {
		for one := range l.all {
			delete(l.all, one)
			break
		}
	}
	h = &holder{l: l, s: s, at: at}
	l.all[at] = h
	return h
}

// run runs f until it ends or the Logins are closed, and reports whether it began.
func (l *Logins) run(f func(context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	l.tasks.Go(func() { f(l.ctx) })
	return true
}

// learn tells of the secrets of a login.
func (l *Logins) learn(k *Kept) {
	var secrets []tool.Secret
	for _, s := range []tool.Secret{k.Access, k.Refresh, k.ClientSecret} {
		if s.Reveal() != "" {
			secrets = append(secrets, s)
		}
	}
	l.o.Learn(secrets)
}
