package access

import (
	"encoding/json"
	"net/http"
	"net/url"
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
	if s.provider != nil {
		b.WriteString(`, resource_metadata="` + plain(s.provider.metadataURL(req)) + `"`)
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

// MetadataPath is where clients of MCP look for the metadata of the resource; what
// follows it is the path of the resource.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Metadata returns what a client must know to get a token for this gateway, as RFC
// 9728 has it. It reports false where no identity provider is trusted.
func (a *Access) Metadata(r *http.Request) ([]byte, bool) {
	p := a.settings.Load().provider
	if p == nil {
		return nil, false
	}
	b, err := json.Marshal(map[string]any{
		"resource":                 p.resource(r),
		"resource_name":            "Tenon",
		"authorization_servers":    []string{p.o.Issuer},
		"bearer_methods_supported": []string{"header"},
	})
	return b, err == nil
}

// resource returns the URL by which clients know the gateway's endpoint of MCP.
func (p *provider) resource(r *http.Request) string {
	if p.o.Resource != "" {
		return p.o.Resource
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + "/mcp"
}

// metadataURL returns where the metadata of that resource is.
func (p *provider) metadataURL(r *http.Request) string {
	u, err := url.Parse(p.resource(r))
	if err != nil {
		return ""
	}
	u.Path = MetadataPath + strings.TrimSuffix(u.Path, "/")
	return u.String()
}
