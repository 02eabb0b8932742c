package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/tenon-mcp/tenon/tool"
)

const (
	lookEvery  = time.Second      // how often a file is looked at for a change
	renewBound = 30 * time.Second // of one renewal
	early      = time.Minute      // before its end a token is renewed, or a tenth of its life
	last       = 5 * time.Second  // so long before its end it is not used any more
	failPause  = 5 * time.Second  // after a renewal that failed
	maxStepUps = 3                // of a machine, one after the other
	maxWanted  = 50
	maxLooks   = 64 // callers whose login is looked for when a server has failed
)

// Transport returns what puts the login of a caller into the requests to s.
func (l *Logins) Transport(s Server, caller string, base http.RoundTripper) http.RoundTripper {
	return &transport{l.holder(&s, caller), base}
}

// Changed reports whether a login at a server was made, renewed or removed by another
// process since its Transports have looked.
func (l *Logins) Changed(s Server) bool {
	var at []*holder
	l.mu.Lock()
	for _, h := range l.all {
		if h.at.server == s.Name && h.at.url == s.URL && len(at) < maxLooks {
			at = append(at, h)
		}
	}
	l.mu.Unlock()
	for _, h := range at {
		h.mu.Lock()
		seen := h.file
		h.mu.Unlock()
		if !h.l.files.changed(h.at).Equal(seen) {
			h.mu.Lock()
			h.looked = time.Time{} // it is read by the next request
			h.mu.Unlock()
			return true
		}
	}
	return false
}

type transport struct {
	h    *holder
	base http.RoundTripper
}

// maxRepeats is how often a refused request is sent again: with the token that another
// process has got, and with one of its own.
const maxRepeats = 2

// RoundTrip implements http.RoundTripper. A refused request is sent again where
// another token may help.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	bearer, err := t.h.token(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // nothing was read of it
		}
		return nil, err
	}
	for repeats := 0; ; repeats++ {
		resp, err := t.base.RoundTrip(authorized(req, bearer))
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		again, err := t.h.refused(req.Context(), resp, bearer)
		if err == nil && again == "" {
			return resp, nil
		}
		discard(resp)
		if err == nil && repeats == maxRepeats {
			err = t.h.needed("refuses its login")
		}
		if err == nil {
			bearer = again
			req, err = t.repeat(req)
		}
		if err != nil {
			return nil, err
		}
	}
}

// repeat returns req with its body to be sent again.
func (t *transport) repeat(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	if req.GetBody == nil {
		return nil, &tool.Error{Kind: tool.Unavailable, Text: "server " + t.h.s.Name + " refused the login, which is renewed now; the request was not carried out"}
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	next := *req
	next.Body = body
	return &next, nil
}

// authorized returns a copy of req with the token, and without any other credential.
func authorized(req *http.Request, bearer string) *http.Request {
	if bearer == "" && req.Header["Authorization"] == nil {
		return req
	}
	out := *req
	out.Header = make(http.Header, len(req.Header)+1)
	maps.Copy(out.Header, req.Header)
	delete(out.Header, "Authorization")
	if bearer != "" {
		out.Header["Authorization"] = []string{bearer}
	}
	return &out
}

func discard(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // it is closed in any case
	_ = resp.Body.Close()
}

// A NeededError says that a person must log in.
type NeededError struct{ Server, Caller string }

// Error says at which server.
func (e *NeededError) Error() string { return "login needed at " + e.Server }

// HTTPStatus is that of the answer: the same request is refused again.
func (e *NeededError) HTTPStatus() int { return http.StatusUnauthorized }

// RetryAfter is 0: no time helps.
func (e *NeededError) RetryAfter() time.Duration { return 0 }

// A holder has the login of one place in memory.
type holder struct {
	l  *Logins
	s  *Server
	at place

	mu       sync.Mutex
	kept     *Kept
	bearer   string
	looked   time.Time
	file     time.Time // when the one in kept was written
	renewing chan struct{}
	failed   error // of the last renewal, until paused
	paused   time.Time
	extra    []string            // scopes that a machine needs too
	said     []oauthex.Challenge // where a machine is to ask
	stepUps  int
}

func (h *holder) sameClient(s *Server) bool {
	return h.s.ClientID == s.ClientID && h.s.ClientSecret == s.ClientSecret && h.s.ClientKey == s.ClientKey && h.s.Flow == s.Flow && slices.Equal(h.s.Scopes, s.Scopes)
}

func (h *holder) needed(why string) error {
	command := "tenon login " + h.at.server
	proof := "auth.client_secret"
	if h.s.ClientKey.Reveal() != "" {
		proof = "auth.client_key"
	}
	switch {
	case h.s.Flow == Machine:
		return &tool.Error{
			Kind: tool.Unavailable, Err: &NeededError{h.at.server, h.at.caller},
			Text: fmt.Sprintf("server %s %s; the operator checks auth.client_id and %s with: %s", h.at.server, why, proof, command),
		}
	case h.at.caller != "":
		command += " --caller " + h.at.caller
	}
	return &tool.Error{
		Kind: tool.Unavailable, Err: &NeededError{h.at.server, h.at.caller},
		Text: fmt.Sprintf("server %s %s; the operator logs in with: %s", h.at.server, why, command),
	}
}

// take has h hold a login. The lock is held.
func (h *holder) take(k *Kept) {
	h.kept, h.bearer, h.failed = k, "", nil
	if k != nil && k.Access.Reveal() != "" {
		h.bearer = "Bearer " + k.Access.Reveal()
	}
}

// look reads the file where it was written since. The lock is held: a file of a few
// kilobytes, at most once a second.
func (h *holder) look(now time.Time) {
	if h.s.Flow == Machine || now.Sub(h.looked) < lookEvery && !h.looked.IsZero() {
		return
	}
	h.looked = now
	file := h.l.files.changed(h.at)
	if file.Equal(h.file) {
		return
	}
	k, err := h.l.files.read(h.at)
	if err != nil {
		h.l.o.Logger.Warn("a login cannot be read", "server", h.at.server, "error", err)
	}
	h.file = file
	if k != nil {
		h.l.learn(k)
	}
	h.take(k)
}

// token returns the header to send, or "" where there is no login. It waits for a
// renewal where the token is at its end.
func (h *holder) token(ctx context.Context) (string, error) {
	now := h.l.o.Now()
	h.mu.Lock()
	h.look(now)
	k, bearer := h.kept, h.bearer
	if k == nil || k.Expires.IsZero() || now.Before(k.Expires.Add(-min(early, k.Expires.Sub(k.Since)/10))) {
		h.mu.Unlock()
		return bearer, nil
	}
	good := now.Before(k.Expires.Add(-min(last, k.Expires.Sub(k.Since)/20)))
	var done chan struct{}
	if h.renewable(k) {
		done = h.renew(now, "")
	}
	failed := h.failed
	h.mu.Unlock()
	switch {
	case good:
		return bearer, nil
	case done == nil && failed != nil:
		return "", failed
	case done == nil:
		return "", nil // it is over, and the server will say what to do
	}
	return h.wait(ctx, done)
}

func (h *holder) renewable(k *Kept) bool {
	return h.s.Flow == Machine || k != nil && k.Refresh.Reveal() != ""
}

// wait waits for a renewal.
func (h *holder) wait(ctx context.Context, done <-chan struct{}) (string, error) {
	select {
	case <-done:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.bearer, h.failed
}

// renew begins a renewal unless one runs, and returns what is closed at its end; nil
// where one has just failed. bad is a header that was refused. The lock is held.
func (h *holder) renew(now time.Time, bad string) chan struct{} {
	switch {
	case h.renewing != nil:
		return h.renewing
	case now.Before(h.paused):
		return nil
	}
	done := make(chan struct{})
	began := h.l.run(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, renewBound)
		defer cancel()
		k, err := h.renewed(ctx, bad)
		h.mu.Lock()
		defer h.mu.Unlock()
		if err != nil {
			h.paused = h.l.o.Now().Add(failPause)
			h.l.o.Logger.Warn("a login could not be renewed", "server", h.at.server, "error", err)
		}
		if k != nil {
			h.take(k)
			h.file = h.l.files.changed(h.at)
		}
		h.failed, h.renewing = err, nil
		close(done)
	})
	if !began {
		return nil
	}
	h.renewing = done
	return done
}

// renewed gets a new token, as the only process that does. The login is nil where
// it stays as it is.
func (h *holder) renewed(ctx context.Context, bad string) (*Kept, error) {
	c := guarded(h.at.url)
	if h.s.Flow == Machine {
		return h.machine(ctx, c)
	}
	unlock, err := h.l.files.lock(ctx, h.at)
	if err != nil {
		return nil, h.unreached(err)
	}
	defer unlock()
	now := h.l.o.Now()
	k, err := h.l.files.read(h.at)
	switch {
	case err != nil:
		return nil, h.unreached(err)
	case k == nil:
		return nil, h.needed("wants a login")
	}
	if bearer := "Bearer " + k.Access.Reveal(); bearer != bad && (k.Expires.IsZero() || now.Before(k.Expires.Add(-early))) && bearer != "Bearer " {
		h.l.learn(k)
		return k, nil // another process was first
	}
	next, err := renew(ctx, c, k, now)
	if no, ok := errors.AsType[*refusal](err); ok && (no.code == "invalid_grant" || no.code == "invalid_client" || no.code == "unauthorized_client") {
		gone := *k // who the client is stays, for the next login
		gone.Access, gone.Refresh = tool.Secret{}, tool.Secret{}
		if no.code != "invalid_grant" {
			gone.Client, gone.ClientSecret = Client{}, tool.Secret{}
		}
		return &gone, errors.Join(h.needed("has ended its login ("+no.code+")"), h.l.files.write(h.at, &gone))
	}
	if err != nil {
		return nil, h.unreached(err)
	}
	h.l.learn(next)
	// What is not kept is used all the same: the token before it is worth nothing now.
	if err := h.l.files.write(h.at, next); err != nil {
		h.l.o.Logger.Error("a renewed login could not be kept", "server", h.at.server, "error", err)
	}
	return next, nil
}

func (h *holder) unreached(err error) error {
	return &tool.Error{Kind: tool.Unavailable, Text: fmt.Sprintf("the login at server %s could not be renewed: %v", h.at.server, err), Err: err}
}

// machine logs the operator's own client in.
func (h *holder) machine(ctx context.Context, c *http.Client) (*Kept, error) {
	h.mu.Lock()
	said, extra := h.said, h.extra
	h.mu.Unlock()
	at, err := discover(ctx, c, h.at.url, said, "")
	if err != nil {
		return nil, h.unreached(err)
	}
	k, err := machine(ctx, c, h.s, at, extra, h.l.o.Now())
	if no, ok := errors.AsType[*refusal](err); ok {
		return nil, h.needed("gives no token to its client (" + no.code + ")")
	}
	if err != nil {
		return nil, h.unreached(err)
	}
	h.l.learn(k)
	return k, nil
}

// refused is asked what an answer of 401 or 403 means: a header to try again with, ""
// where the answer is to be passed on, or an error.
func (h *holder) refused(ctx context.Context, resp *http.Response, bearer string) (string, error) {
	cs := challengesOf(resp)
	if resp.StatusCode == http.StatusForbidden {
		h.mu.Lock()
		return h.forbidden(ctx, cs, bearer)
	}
	reason := h.reasonOf(resp, described(cs), bearer)
	h.mu.Lock()
	if !h.renewable(h.kept) {
		h.looked = time.Time{} // somebody may have logged in just now
		h.look(h.l.o.Now())
	}
	k := h.kept
	asks := len(cs) > 0 || k != nil || h.s.Flow != "" || h.s.ClientID != ""
	switch {
	case !asks:
		h.mu.Unlock()
		return "", nil
	case h.bearer != bearer && h.bearer != "": // renewed meanwhile
		bearer = h.bearer
		h.mu.Unlock()
		return bearer, nil
	}
	h.said = cs
	var done chan struct{}
	if h.renewable(k) {
		done = h.renew(h.l.o.Now(), bearer)
	}
	failed := h.failed
	h.mu.Unlock()
	switch {
	case done == nil && failed != nil:
		return "", failed
	case done == nil && bearer == "":
		return "", h.needed("wants a login" + reason)
	case done == nil:
		return "", h.needed("refuses its login" + reason)
	}
	next, err := h.wait(ctx, done)
	if err == nil && (next == bearer || next == "") {
		err = h.needed("refuses its login" + reason)
	}
	return next, err
}

// described returns why a server wants a login, as it says itself.
func described(cs []oauthex.Challenge) string {
	if text := param(cs, "error_description"); text != "" {
		return " (" + clip(text) + ")"
	}
	return ""
}

// forbidden deals with a token that allows too little. The lock is held, and released.
func (h *holder) forbidden(ctx context.Context, cs []oauthex.Challenge, bearer string) (string, error) {
	scopes := strings.Fields(param(cs, "scope"))
	if param(cs, "error") != "insufficient_scope" {
		h.mu.Unlock()
		return "", nil
	}
	scopes = scopes[:min(len(scopes), maxWanted)]
	why := "wants a login that allows more"
	if len(scopes) > 0 {
		why += " (" + clip(strings.Join(scopes, " ")) + ")"
	}
	if h.s.Flow != Machine {
		h.mu.Unlock()
		h.want(ctx, scopes)
		return "", h.needed(why)
	}
	more := union(h.extra, scopes)
	if len(more) == len(h.extra) || h.stepUps >= maxStepUps {
		h.mu.Unlock()
		return "", h.needed(why + ", which it was asked for in vain")
	}
	h.extra, h.said = more[:min(len(more), maxWanted)], cs
	h.stepUps++
	done := h.renew(h.l.o.Now(), bearer)
	h.mu.Unlock()
	if done == nil {
		return "", h.needed(why)
	}
	return h.wait(ctx, done)
}

// want remembers for the next login what the server asks for.
func (h *holder) want(ctx context.Context, scopes []string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // it is a convenience
	defer cancel()
	unlock, err := h.l.files.lock(ctx, h.at)
	if err != nil {
		return
	}
	defer unlock()
	k, err := h.l.files.read(h.at)
	if err != nil || k == nil {
		return
	}
	wanted := union(k.Wanted, scopes)
	if len(wanted) == len(k.Wanted) {
		return
	}
	k.Wanted = wanted[:min(len(wanted), maxWanted)]
	if err := h.l.files.write(h.at, k); err != nil {
		h.l.o.Logger.Warn("the scopes that a server wants could not be kept", "server", h.at.server, "error", err)
	}
}
