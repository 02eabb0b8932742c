package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

const maxMetadata = 1 << 20

// A site is where one server wants its clients to log in.
type site struct {
	resource string // what tokens must be for
	scopes   []string
	issuer   string // as the server names it
	meta     *oauthex.AuthServerMeta
}

// probes are requests that servers with a login refuse, with a word where that is. Some
// refuse what comes after the handshake alone.
func probes() []struct{ version, method, text string } {
	const modern = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	return []struct{ version, method, text string }{
		{"", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tenon","version":"0"}}}`},
		{"2025-11-25", "", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`},
		{"2026-07-28", "tools/list", `{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":` + modern + `}}`},
	}
}

// challenges asks the server without credentials, and returns what it says to that.
func challenges(ctx context.Context, c *http.Client, s *Server) ([]oauthex.Challenge, error) {
	for _, p := range probes() {
		cs, err := challenge(ctx, c, s, p.version, p.method, p.text)
		if err != nil || len(cs) > 0 {
			return cs, err
		}
	}
	return nil, nil
}

func challenge(ctx context.Context, c *http.Client, s *Server, version, method, text string) ([]oauthex.Challenge, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(text))
	if err != nil {
		return nil, errors.New("the URL of the server cannot be read")
	}
	for name, value := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	maps.Copy(req.Header, s.Header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	// Not through the guard: the operator chose this address.
	way, ok := c.Transport.(secured)
	if !ok {
		return nil, errors.New("the client has no guard")
	}
	resp, err := way.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("the server cannot be reached: %w", bare(err))
	}
	_ = resp.Body.Close() // its head says it all
	return challengesOf(resp), nil
}

// challengesOf returns what an answer says of how to log in.
func challengesOf(resp *http.Response) []oauthex.Challenge {
	list, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("Www-Authenticate"))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(c oauthex.Challenge) bool { return c.Scheme != "bearer" && c.Scheme != "dpop" })
}

// param returns a parameter of the challenges.
func param(cs []oauthex.Challenge, name string) string {
	for _, c := range cs {
		if v := c.Params[name]; v != "" {
			return v
		}
	}
	return ""
}

// discover finds out where to log in. known is the issuer of the login before.
func discover(ctx context.Context, c *http.Client, server string, cs []oauthex.Challenge, known string) (*site, error) {
	prm, err := resource(ctx, c, server, param(cs, "resource_metadata"))
	if err != nil {
		return nil, err
	}
	at := &site{resource: prm.Resource, scopes: strings.Fields(param(cs, "scope"))}
	if len(at.scopes) == 0 {
		at.scopes = prm.ScopesSupported
	}
	at.issuer = prm.AuthorizationServers[0]
	for _, i := range prm.AuthorizationServers {
		if i == known {
			at.issuer = i
		}
	}
	at.meta, err = auth.GetAuthServerMetadata(ctx, at.issuer, c)
	switch {
	case err != nil:
		return nil, fmt.Errorf("authorization server %s: %w", at.issuer, bare(err))
	case at.meta == nil: // before the revision of 2025-06-18 nobody had to describe itself
		root := strings.TrimRight(at.issuer, "/")
		at.meta = &oauthex.AuthServerMeta{
			Issuer: at.issuer, AuthorizationEndpoint: root + "/authorize", TokenEndpoint: root + "/token", RegistrationEndpoint: root + "/register",
		}
	case len(at.meta.CodeChallengeMethodsSupported) > 0 && !slices.Contains(at.meta.CodeChallengeMethodsSupported, "S256"):
		return nil, fmt.Errorf("authorization server %s does not support PKCE with S256", at.issuer)
	}
	return at, nil
}

// resource returns what the server says of itself as a protected resource. A server
// that says nothing is its own issuer, as in the revision of 2025-03-26.
func resource(ctx context.Context, c *http.Client, server, named string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, errors.New("the URL of the server cannot be read")
	}
	origin := &url.URL{Scheme: u.Scheme, Host: u.Host}
	var places []string
	if named != "" {
		places = append(places, named)
	}
	if path := strings.TrimLeft(u.Path, "/"); path != "" {
		places = append(places, origin.String()+"/.well-known/oauth-protected-resource/"+path)
	}
	places = append(places, origin.String()+"/.well-known/oauth-protected-resource")
	for _, at := range places {
		prm := &oauthex.ProtectedResourceMetadata{}
		found, err := getJSON(ctx, c, at, prm)
		switch {
		case err != nil:
			return nil, fmt.Errorf("what the server says of its login (%s): %w", at, err)
		case !found:
			continue
		case !oauthex.MatchesResource([]string{prm.Resource}, server) && !oauthex.MatchesResource([]string{prm.Resource}, origin.String()):
			return nil, fmt.Errorf("the metadata of the server is about %q and not about %q: a token for it would be for somebody else", clip(prm.Resource), server)
		case len(prm.AuthorizationServers) == 0:
			return nil, errors.New("the server names no authorization server")
		}
		for _, i := range prm.AuthorizationServers {
			if iu, err := url.Parse(i); err != nil || !secureURL(iu, isLocal(u.Hostname())) {
				return nil, fmt.Errorf("the server names %q as its authorization server, which is neither https nor on this machine beside it", clip(i))
			}
		}
		return prm, nil
	}
	return &oauthex.ProtectedResourceMetadata{Resource: server, AuthorizationServers: []string{origin.String()}}, nil
}

// getJSON reads a document. It reports whether there is one.
func getJSON(ctx context.Context, c *http.Client, at string, into any) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return false, errors.New("the address cannot be read")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return false, bare(err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 500:
		return false, fmt.Errorf("answered %s", resp.Status)
	case resp.StatusCode != http.StatusOK:
		return false, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return false, bare(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, errors.New("it is no JSON of the right form")
	}
	return true, nil
}

// deviceEndpoint returns where the issuer begins the device flow, or "". The SDK's
// type has no field for it.
func deviceEndpoint(ctx context.Context, c *http.Client, issuer string) (string, error) {
	u, err := url.Parse(issuer)
	if err != nil {
		return "", errors.New("the issuer cannot be read")
	}
	path := strings.Trim(u.Path, "/")
	root := u.Scheme + "://" + u.Host
	for _, at := range []string{
		strings.TrimRight(root+"/.well-known/oauth-authorization-server/"+path, "/"),
		strings.TrimRight(root+"/.well-known/openid-configuration/"+path, "/"),
		strings.TrimRight(root+"/"+path, "/") + "/.well-known/openid-configuration",
	} {
		var meta struct {
			Issuer string `json:"issuer"`
			Device string `json:"device_authorization_endpoint"`
		}
		found, err := getJSON(ctx, c, at, &meta)
		if err != nil {
			return "", err
		}
		if found && strings.TrimRight(meta.Issuer, "/") == strings.TrimRight(issuer, "/") {
			return meta.Device, nil
		}
	}
	return "", nil
}

// bare returns an error of net/http without the URL, which may hold a key.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// clip bounds what others wrote within an error.
func clip(s string) string {
	const most = 200
	s = strings.ToValidUTF8(s, "�")
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
