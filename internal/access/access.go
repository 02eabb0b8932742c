// Package access says who a caller is: by an API key, by a token of an identity
// provider, or by the approver's token.
//
// An Access is asked for each request, and gives the caller with what the
// credential allows it (a [tool.Grant]), or says why there is none:
//
//	who := access.New(access.Options{Keys: "keys.json"})
//	caller, err := who.Caller(r)
//	if refusal, ok := errors.AsType[*access.Refusal](err); ok {
//		refusal.Tell(w.Header())
//		w.WriteHeader(refusal.Status)
//		return
//	}
//
// Without a credential a caller is the local user, unless one is demanded. One
// that is sent and wrong is always refused: nobody becomes the local user by a
// mistake. A credential comes in the header Authorization and nowhere else, for
// what stands in a URL stands in logs.
//
// Keys live in a file that holds only their hashes ([Keys] writes it). It is read
// again when it changes, so a key that was revoked ends within a second. A key is
// 256 bits of chance: one round of SHA-256 is as good as a slow hash, and costs a
// request a quarter of a microsecond.
//
// Nothing here decides what a caller may do with a tool; that is the policy's.
package access

import (
	"crypto/sha256"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Options say which credentials count.
type Options struct {
	Keys     string      // path of the file of keys; empty is none. It need not exist
	Approver tool.Secret // the token of who decides approvals; empty is none
	// ApproverDir is the folder where that token is kept where Approver is none: it is
	// made when it is needed. Learn is told of each.
	ApproverDir string
	Learn       func(token tool.Secret)
	Required    bool     // local callers need a credential too
	OIDC        *OIDC    // nil trusts no identity provider
	Limits      []string // names that a credential may be held by; nil takes any, and holds nobody
	Logger      *slog.Logger
}

// ApproverName is the name of a caller with the approver's token. No key may have it.
const ApproverName = "approver"

// An Access tells callers apart. It is safe for concurrent use, and costs no
// goroutine. Close it where it trusts an identity provider.
type Access struct {
	log      *slog.Logger
	settings atomic.Pointer[settings]
	exposed  atomic.Bool
	failures throttle
}

// settings are Options, ready for use.
type settings struct {
	keys     *keyTable // nil is none
	approver *approver // nil is none
	required bool
	limits   []string  // nil is unchecked
	provider *provider // nil is none
}

// New returns an Access. A file of keys that cannot be read is told to the log:
// none of its keys counts then, until it can.
func New(o Options) *Access {
	a := &Access{log: o.Logger}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.Configure(o)
	return a
}

// Configure takes other options from the next request on, but for the logger and
// the approver's token.
func (a *Access) Configure(o Options) {
	s := &settings{required: o.Required, limits: o.Limits}
	if old := a.settings.Load(); old != nil {
		s.approver = old.approver
	}
	if o.Keys != "" {
		s.keys = openTable(o.Keys, a.log)
	}
	if s.approver == nil {
		s.approver = newApprover(&o, a.log)
	}
	if o.OIDC != nil {
		s.provider = newProvider(*o.OIDC, a.log)
	}
	if old := a.settings.Swap(s); old != nil && old.provider != nil {
		old.provider.close()
	}
}

// Close ends what is asked of an identity provider.
func (a *Access) Close() error {
	if p := a.settings.Load().provider; p != nil {
		p.close()
	}
	return nil
}

// Expose demands a credential of everybody from now on, whatever the options say:
// others than the local user can reach the listener.
func (a *Access) Expose() { a.exposed.Store(true) }

// Lax reports whether a caller may leave out the credential that it has, and be held by
// nothing that this says.
func (a *Access) Lax() bool { return !a.settings.Load().required && !a.exposed.Load() }

// Configured reports whether anybody could come with a credential to call tools: by
// a key that is valid now, or by an identity provider.
func (a *Access) Configured() bool {
	s := a.settings.Load()
	return s.provider != nil || s.keys != nil && s.keys.load().usable(time.Now())
}

// Caller returns who sends a request, without Via. Its error is a *Refusal.
func (a *Access) Caller(r *http.Request) (tool.Caller, error) {
	s := a.settings.Load()
	token, sent, wrong := bearer(r)
	switch {
	case wrong != "":
		return tool.Caller{}, a.refuse(r, s, &Refusal{Status: http.StatusUnauthorized, Code: "invalid_request", Text: wrong})
	case !sent && (s.required || a.exposed.Load()):
		return tool.Caller{}, (&Refusal{
			Status: http.StatusUnauthorized,
			Text:   "this gateway wants a credential: send the header Authorization: Bearer KEY (tenon keys create NAME makes a key)",
		}).challenge(r, s)
	case !sent:
		return tool.Caller{}, nil
	}
	caller, refusal := s.identify(r, token)
	if refusal == nil && caller.Grant.Limits != "" && s.limits != nil && !slices.Contains(s.limits, caller.Grant.Limits) {
		refusal = &Refusal{
			Status: http.StatusForbidden, Code: "insufficient_scope",
			Text: "the limits " + caller.Grant.Limits + " of this credential are not configured, so nothing would hold its bearer: name them in policy.limits",
		}
	}
	if refusal != nil {
		return tool.Caller{}, a.refuse(r, s, refusal)
	}
	return caller, nil
}

// NeedsApprover returns the refusal of a request that was sent without a credential,
// and asks for something that the local user may not have either.
func (a *Access) NeedsApprover(r *http.Request) *Refusal {
	s := a.settings.Load()
	s.approver.look() // so that there is one to send
	where := "The token is in $TENON_APPROVER_TOKEN or in the file approver-token of the state folder"
	if !s.approver.known() {
		where = "But this gateway has no token: it was started without $TENON_APPROVER_TOKEN, and there is no file approver-token that it can use; " +
			"its log says why. Start it again with $TENON_APPROVER_TOKEN, or send a key of tenon keys create NAME --approver"
	}
	return (&Refusal{
		Status: http.StatusUnauthorized,
		Text:   "deciding on calls needs an approver's credential, on this machine too: send it as Authorization: Bearer TOKEN. " + where,
	}).challenge(r, s)
}

// Forbidden returns the refusal of a caller whose credential does not allow what
// it asks for.
func (a *Access) Forbidden(r *http.Request, text string) *Refusal {
	return (&Refusal{Status: http.StatusForbidden, Code: "insufficient_scope", Text: text}).challenge(r, a.settings.Load())
}

// identify returns whose credential a token is.
func (s *settings) identify(r *http.Request, token string) (tool.Caller, *Refusal) {
	var room [128]byte // of the stack, where a key has room
	sum := sha256.Sum256(append(room[:0], token...))
	if id, ok := keyID(token); ok && s.keys != nil {
		if c, refusal := s.keys.load().caller(id, &sum, time.Now()); refusal != nil || c.Grant != nil {
			return c, refusal
		}
	}
	if s.approver.is(&sum, strings.HasPrefix(token, approverPrefix)) {
		return tool.Caller{Name: ApproverName, Grant: approverGrant}, nil
	}
	if s.provider != nil && strings.Count(token, ".") == 2 {
		return s.provider.caller(r, token, sum)
	}
	return tool.Caller{}, invalidToken("the credential is not known here")
}

// approverGrant is what the approver's token allows.
var approverGrant = &tool.Grant{Key: "approver-token", Approver: true}

func invalidToken(text string) *Refusal {
	return &Refusal{Status: http.StatusUnauthorized, Code: "invalid_token", Text: text}
}

// maxToken bounds a credential. Tokens of identity providers with many groups have
// some thousand bytes.
const maxToken = 16 << 10

// bearer returns the credential of a request. wrong says what is wrong with how it
// was sent.
func bearer(r *http.Request) (token string, sent bool, wrong string) {
	if q := r.URL.RawQuery; q != "" && r.URL.Query().Has("access_token") {
		return "", true, "a credential in the URL is not taken, for URLs are logged: send it in the header Authorization"
	}
	values, ok := r.Header["Authorization"]
	if !ok {
		return "", false, ""
	}
	if len(values) != 1 {
		return "", true, "the header Authorization was sent more than once"
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", true, "the header Authorization must be: Bearer, a space, and the key or token"
	}
	token = strings.Trim(token, " ")
	switch {
	case token == "" || strings.ContainsAny(token, " \t,"):
		return "", true, "the header Authorization holds no single key or token behind Bearer"
	case len(token) > maxToken:
		return "", true, "the credential is too long"
	}
	return token, true, ""
}

// refuse counts and logs the refusal of a credential. One who tries many is told
// to wait: that keeps the log readable; guessing 256 bits is hopeless anyway.
func (a *Access) refuse(r *http.Request, s *settings, refusal *Refusal) *Refusal {
	_ = refusal.challenge(r, s) // it is the same one
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	switch a.failures.count(host, time.Now()) {
	case tolerated:
		a.log.Warn("credential refused", "remote", host, "path", r.URL.Path, "reason", refusal.Text)
	case firstTooMany:
		a.log.Warn("too many credentials refused: further ones of this address are not logged", "remote", host)
		fallthrough
	case tooMany:
		if refusal.Status == http.StatusUnauthorized {
			return &Refusal{
				Status: http.StatusTooManyRequests, Text: "too many wrong credentials: wait, and send the right one", RetryAfter: retryAfter,
			}
		}
	}
	return refusal
}
