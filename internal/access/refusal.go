package access

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// A Refusal says why a request has no caller, or why its caller may not have what
// it asks for.
type Refusal struct {
	Status     int    // of HTTP: 401, 403, 429 or 503
	Code       string // as RFC 6750 names the mistake; empty where no credential was sent
	Text       string // for whoever reads it; never holds the credential
	RetryAfter time.Duration

	bearer string // value of WWW-Authenticate, or empty
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// Unwrap gives the kind to tool.KindOf.
func (r *Refusal) Unwrap() error {
	kind := tool.Denied
	if r.Status == http.StatusServiceUnavailable {
		kind = tool.Unavailable
	}
	return &tool.Error{Kind: kind, Text: r.Text}
}

// Tell sets the headers that belong to the refusal.
func (r *Refusal) Tell(h http.Header) {
	if r.bearer != "" {
		h.Set("WWW-Authenticate", r.bearer)
	}
	if r.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(max(r.RetryAfter, time.Second)/time.Second)))
	}
	h.Set("Connection", "close") // else the server would read the whole body first
}

// challenge says in the refusal how a credential must be sent and, where there is
// an identity provider, where a client learns of it.
func (r *Refusal) challenge(req *http.Request, s *settings) *Refusal {
	if r.Status != http.StatusUnauthorized && r.Status != http.StatusForbidden {
		return r
	}
	b := strings.Builder{}
	b.WriteString(`Bearer realm="tenon"`)
	if r.Code != "" {
		b.WriteString(`, error="` + r.Code + `", error_description="` + plain(r.Text) + `"`)
	}
	if p := s.provider; p != nil {
		at := endpointOf(req.URL.Path)
		if scopes := p.scopes(at); r.Code == "insufficient_scope" && len(scopes) > 0 {
			b.WriteString(`, scope="` + plain(strings.Join(scopes, " ")) + `"`)
		}
		b.WriteString(`, resource_metadata="` + plain(p.metadataURL(req, at)) + `"`)
	}
	r.bearer = b.String()
	return r
}

// plain returns text without what would end a quoted string of a header.
func plain(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return -1
		}
		return c
	}, text)
}
