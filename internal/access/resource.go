package access

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// MetadataPath is where clients of MCP look for the metadata of the resource; what
// follows it is the path of the resource.
const MetadataPath = "/.well-known/oauth-protected-resource"

// pool is the path of the endpoint that shows all servers.
const pool = "/mcp"

// An endpoint is one URL of MCP, and so one resource that tokens are made for: of all
// servers, of one, or of a skill.
type endpoint struct{ server, skill string }

// endpointOf returns which one a request to path is for. All else than MCP belongs to
// the one of all servers.
func endpointOf(path string) endpoint {
	at, _ := parseEndpoint(strings.TrimPrefix(path, pool))
	return at
}

// parseEndpoint returns the endpoint of a path below that of the pool.
func parseEndpoint(below string) (endpoint, bool) {
	name, server := strings.CutPrefix(below, "/s/")
	if !server {
		var skill bool
		if name, skill = strings.CutPrefix(below, "/k/"); !skill {
			return endpoint{}, below == "" || below == "/"
		}
	}
	switch {
	case name == "" || len(name) > maxSubject || strings.Contains(name, "/"):
		return endpoint{}, false
	case server:
		return endpoint{server: name}, true
	}
	return endpoint{skill: name}, true
}

// path is what stands behind the URL of the pool.
func (e endpoint) path() string {
	switch {
	case e.server != "":
		return "/s/" + url.PathEscape(e.server)
	case e.skill != "":
		return "/k/" + url.PathEscape(e.skill)
	}
	return ""
}

// Metadata returns what a client must know to get a token for the URL whose metadata it
// asks for, as RFC 9728 has it. It reports false where no identity provider is trusted,
// or where no such URL could be. Whether there is a server of that name it does not say:
// who asks has no credential.
func (a *Access) Metadata(r *http.Request) ([]byte, bool) {
	p := a.settings.Load().provider
	if p == nil {
		return nil, false
	}
	at, ok := p.described(r)
	if !ok {
		return nil, false
	}
	document := map[string]any{
		"resource":                 p.resource(r, at),
		"resource_name":            "Tenon",
		"authorization_servers":    []string{p.o.Issuer},
		"bearer_methods_supported": []string{"header"},
	}
	if scopes := p.scopes(at); len(scopes) > 0 {
		document["scopes_supported"] = scopes
	}
	b, err := json.Marshal(document)
	return b, err == nil
}

// described returns which endpoint a request for metadata is about: the path of the
// resource stands behind the well-known one, as clients know it or as it is here.
func (p *provider) described(r *http.Request) (endpoint, bool) {
	path, ok := strings.CutPrefix(r.URL.Path, MetadataPath)
	if !ok {
		return endpoint{}, false
	}
	if path == "" || path == "/" {
		return endpoint{}, true
	}
	bases := []string{pool}
	if u, err := url.Parse(p.o.Resource); p.o.Resource != "" && err == nil {
		bases = append(bases, strings.TrimSuffix(u.Path, "/"))
	}
	for _, base := range bases {
		if below, ok := strings.CutPrefix(path, base); ok {
			if at, ok := parseEndpoint(below); ok {
				return at, true
			}
		}
	}
	return endpoint{}, false
}

// resource returns the URL by which clients know an endpoint.
func (p *provider) resource(r *http.Request, at endpoint) string {
	if p.o.Resource != "" {
		if at == (endpoint{}) {
			return p.o.Resource // to the byte: clients compare
		}
		return strings.TrimSuffix(p.o.Resource, "/") + at.path()
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + pool + at.path()
}

// metadataURL returns where the metadata of an endpoint is.
func (p *provider) metadataURL(r *http.Request, at endpoint) string {
	u, err := url.Parse(p.resource(r, at))
	if err != nil {
		return ""
	}
	path := MetadataPath + strings.TrimSuffix(u.EscapedPath(), "/")
	u.Path, u.RawPath, u.RawQuery = "", "", ""
	return u.String() + path
}

// misdirected returns the refusal of a token that was made for something else than what
// it is sent to. The URL by itself counts only where the operator wrote it down: that of
// a request is what its sender says, and whoever was given a token for another service
// could say the name of that.
func (p *provider) misdirected(r *http.Request, audience []string) *Refusal {
	at := endpointOf(r.URL.Path)
	for _, a := range audience {
		if slices.Contains(p.o.Audience, a) || p.o.Resource != "" && (a == p.o.Resource || a == p.resource(r, at)) {
			return nil
		}
	}
	return invalidToken("the token was made for another audience")
}

// scopes returns the scopes of OAuth that let a token call what an endpoint shows: the
// values that grants want of the claim scope.
func (p *provider) scopes(at endpoint) []string {
	var all []string
	for _, g := range p.o.Grants {
		switch {
		case g.Claim != "scope" && g.Claim != "scp", !g.Caller:
			continue
		case at.skill != "" && len(g.Skills) > 0 && !slices.Contains(g.Skills, at.skill):
			continue
		}
		for _, v := range g.Values {
			for one := range strings.FieldsSeq(v) {
				if !slices.Contains(all, one) {
					all = append(all, one)
				}
			}
		}
	}
	return all
}
