package access_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/access"
)

const known = "https://tools.example.com/mcp"

// TestTokensCountWhereTheyWereMadeFor: a token of the pool counts at every URL, one of a
// server or a skill at that URL alone, however often it was seen elsewhere before.
func TestTokensCountWhereTheyWereMadeFor(t *testing.T) {
	s := newSigner(t, "k", jose.ES256)
	p := newIDP(t, s)
	a := trusting(t, p, func(o *access.OIDC) { o.Audience, o.Resource = []string{"tenon"}, known })
	paths := []string{"/mcp", "/mcp/s/files", "/mcp/s/mail", "/mcp/k/files", "/mcp/s/files/more", "/mcp/s/", "/api/v1/calls"}
	for _, c := range []struct {
		audience any
		at       string // where it counts; all is everywhere
	}{
		{"tenon", "all"},
		{known, "all"},
		{[]string{"other", known + "/s/mail"}, "/mcp/s/mail"},
		{known + "/s/files", "/mcp/s/files"},
		{known + "/k/files", "/mcp/k/files"},
		{known + "/", ""},
		{known + "/s", ""},
		{known + "/s/", ""},
		{known + "/s/files/", ""},
		{known + "/s/%66iles", ""},
		{"https://TOOLS.example.com/mcp", ""},
		{"https://tools.example.com", ""},
		{"http://127.0.0.1:8400/mcp", ""},
		{"http://127.0.0.1:8400/mcp/s/files", ""},
	} {
		token := s.sign(t, p.claims(map[string]any{"aud": c.audience}))
		for round := range 2 { // the second finds what the first has left
			for i, path := range paths {
				r := request("Bearer " + token)
				r.URL.Path, r.RemoteAddr = path, "[2001:db8::"+strings.Repeat("1", i+1)+"]:1"
				want := 401
				if c.at == "all" || c.at == path {
					want = 200
				}
				if got := status(t, a, r); got != want && (want == 200 || got != 429) {
					t.Errorf("round %d: audience %v at %s: %d, want %d", round, c.audience, path, got, want)
				}
			}
		}
	}
}

// TestTheHostOfARequestIsNoAudience: without resource, only the audiences of the operator
// count. Whoever sends a request names its host.
func TestTheHostOfARequestIsNoAudience(t *testing.T) {
	s := newSigner(t, "k", jose.ES256)
	p := newIDP(t, s)
	a := trusting(t, p, func(o *access.OIDC) { o.Audience = []string{"tenon"} })
	r := request("Bearer " + s.sign(t, p.claims(map[string]any{"aud": "http://elsewhere.example.com/mcp"})))
	r.Host, r.URL.Path = "elsewhere.example.com", "/mcp"
	if got := status(t, a, r); got != 401 {
		t.Errorf("status %d", got)
	}
}

// TestMetadataOfEachURL: each URL of MCP has a document of its own at the well-known URL
// with its path, with what is asked for there, and refusals lead to that one.
func TestMetadataOfEachURL(t *testing.T) {
	grants := []access.ClaimGrant{
		{Claim: "scope", Values: []string{"tenon:approve"}, Scope: access.Scope{Approver: true}},
		{Claim: "scope", Values: []string{"tenon:write"}, Scope: access.Scope{Mode: "normal", Caller: true}},
		{Claim: "scp", Values: []string{"tenon:disk", "tenon:write"}, Scope: access.Scope{Skills: []string{"disk"}, Caller: true}},
		{Claim: "groups", Values: []string{"ops"}, Scope: access.Scope{Caller: true}},
	}
	s := newSigner(t, "k", jose.ES256)
	p := newIDP(t, s)
	all := []string{"tenon:write", "tenon:disk"}
	for _, c := range []struct {
		resource, path string // path is that of the request
		want, document string // of the resource and of its metadata; empty is none
		scopes         []string
	}{
		{"", "/mcp", "http://127.0.0.1:8400/mcp", "/mcp", all},
		{"", "/mcp/s/files", "http://127.0.0.1:8400/mcp/s/files", "/mcp/s/files", all},
		{"", "/mcp/k/disk", "http://127.0.0.1:8400/mcp/k/disk", "/mcp/k/disk", all},
		{"", "/mcp/k/net", "http://127.0.0.1:8400/mcp/k/net", "/mcp/k/net", []string{"tenon:write"}},
		{"", "/mcp/k/a b", "http://127.0.0.1:8400/mcp/k/a%20b", "/mcp/k/a%20b", []string{"tenon:write"}},
		{known, "/mcp/s/files", known + "/s/files", "/mcp/s/files", all},
		{"https://x.example.com/a/tenon/", "/mcp/s/files", "https://x.example.com/a/tenon/s/files", "/a/tenon/s/files", all},
		{"https://x.example.com/a/tenon/", "/mcp", "https://x.example.com/a/tenon/", "/a/tenon", all},
		{"https://x.example.com", "/mcp/s/files", "https://x.example.com/s/files", "/s/files", all},
	} {
		a := open(t, access.Options{Required: true, OIDC: &access.OIDC{Issuer: p.URL, Audience: []string{"tenon"}, Resource: c.resource, Grants: grants}})
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8400/", nil)
		r.URL.Path = c.path
		host := "http://127.0.0.1:8400"
		if c.resource != "" {
			host, _, _ = strings.Cut(strings.TrimPrefix(c.resource, "https://"), "/")
			host = "https://" + host
		}
		document := host + access.MetadataPath + c.document
		if got := challenge(t, a, r); !strings.Contains(got, `resource_metadata="`+document+`"`) || strings.Contains(got, "scope=") {
			t.Errorf("%s of %q: challenge %s, want %s", c.path, c.resource, got, document)
		}
		body, ok := a.Metadata(httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8400"+access.MetadataPath+c.document, nil))
		var got struct {
			Resource string   `json:"resource"`
			Scopes   []string `json:"scopes_supported"`
		}
		if err := json.Unmarshal(body, &got); err != nil || !ok {
			t.Errorf("%s: %v %s", document, err, body)
			continue
		}
		if diff := cmp.Diff(c.scopes, got.Scopes); diff != "" || got.Resource != c.want {
			t.Errorf("%s: resource %s, want %s; scopes (-want +got):\n%s", document, got.Resource, c.want, diff)
		}
		// A token without any of these is told which there are.
		r.Header.Set("Authorization", "Bearer "+s.sign(t, p.claims(map[string]any{"scope": "openid"})))
		if got := challenge(t, a, r); !strings.Contains(got, `error="insufficient_scope"`) || !strings.Contains(got, `scope="`+strings.Join(c.scopes, " ")+`"`) {
			t.Errorf("%s: challenge %s", c.path, got)
		}
	}
}

// TestThereIsNoMetadataOfOtherURLs: what no client could have asked at has none.
func TestThereIsNoMetadataOfOtherURLs(t *testing.T) {
	a := open(t, access.Options{OIDC: &access.OIDC{Issuer: "https://id.example.com", Resource: "https://x.example.com/a/tenon"}})
	for path, want := range map[string]bool{
		"": true, "/": true, "/mcp": true, "/mcp/s/files": true, "/a/tenon": true, "/a/tenon/s/files": true,
		"/api/v1/calls": false, "/mcp/s/": false, "/mcp/s/a/b": false, "/mcp/x/a": false, "/mcpx": false, "/a": false, "-x/mcp": false,
		"/mcp/s/" + strings.Repeat("a", 300): false,
	} {
		if _, got := a.Metadata(httptest.NewRequest(http.MethodGet, access.MetadataPath+path, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// challenge returns the WWW-Authenticate of the refusal of r.
func challenge(t *testing.T, a *access.Access, r *http.Request) string {
	t.Helper()
	_, err := a.Caller(r)
	refusal, ok := errors.AsType[*access.Refusal](err)
	if !ok {
		t.Fatalf("the error is %T %v, want a Refusal", err, err)
	}
	h := http.Header{}
	refusal.Tell(h)
	return h.Get("WWW-Authenticate")
}
