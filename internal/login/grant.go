package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tenon-mcp/tenon/tool"
)

// A refusal is the answer of an issuer that will not give a token.
type refusal struct{ code, text string }

// Error returns the issuer's words, bounded.
func (r *refusal) Error() string {
	if r.text == "" {
		return "the authorization server refuses: " + r.code
	}
	return "the authorization server refuses: " + r.code + " (" + r.text + ")"
}

// plainly returns the error of a request for a token without the body of the
// answer, which the library shows and which may hold anything.
func plainly(err error) error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return bare(err)
	case e.ErrorCode != "":
		return &refusal{clip(e.ErrorCode), clip(e.ErrorDescription)}
	case e.Response != nil:
		return fmt.Errorf("the authorization server answered %s", e.Response.Status)
	}
	return errors.New("the answer of the authorization server cannot be read")
}

// with has the library use c.
func with(ctx context.Context, c *http.Client) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, c)
}

func resourceParam(r string) oauth2.AuthCodeOption { return oauth2.SetAuthURLParam("resource", r) }

// config returns how the client of k asks for tokens.
func config(k *Kept) *oauth2.Config {
	return &oauth2.Config{
		ClientID: k.Client.ID, ClientSecret: k.ClientSecret.Reveal(),
		Endpoint: oauth2.Endpoint{TokenURL: k.Endpoints.Token, AuthStyle: oauth2.AuthStyle(k.Client.Style)},
	}
}

// renew returns the login with a new token for its refresh token.
func renew(ctx context.Context, c *http.Client, k *Kept, now time.Time) (*Kept, error) {
	token, err := config(k).Exchange(with(ctx, c), "",
		oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", k.Refresh.Reveal()), resourceParam(k.Resource))
	if err != nil {
		return nil, plainly(err)
	}
	return took(k, token, now), nil
}

// machine returns a login of the operator's own client.
func machine(ctx context.Context, c *http.Client, s *Server, at *site, more []string, now time.Time) (*Kept, error) {
	if s.ClientID == "" || s.ClientSecret.Reveal() == "" && s.ClientKey.Reveal() == "" {
		return nil, errors.New("flow client_credentials wants auth.client_id, and auth.client_secret or auth.client_key")
	}
	scopes := s.Scopes
	if len(scopes) == 0 {
		scopes = at.scopes
	}
	scopes = union(scopes, more)
	if s.ClientKey.Reveal() != "" {
		token, err := proven(ctx, c, s, at, scopes, now)
		return of(s, at, scopes, token, err, now)
	}
	cfg := clientcredentials.Config{
		ClientID: s.ClientID, ClientSecret: s.ClientSecret.Reveal(), TokenURL: at.meta.TokenEndpoint, Scopes: scopes,
		AuthStyle: style(at.meta.TokenEndpointAuthMethodsSupported), EndpointParams: url.Values{"resource": {at.resource}},
	}
	token, err := cfg.Token(with(ctx, c))
	return of(s, at, scopes, token, err, now)
}

// of returns the login of a machine that a token is for.
func of(s *Server, at *site, scopes []string, token *oauth2.Token, err error, now time.Time) (*Kept, error) {
	if err != nil {
		return nil, plainly(err)
	}
	k := &Kept{Server: s.Name, URL: s.URL, Issuer: at.meta.Issuer, Resource: at.resource, Scopes: scopes}
	return took(k, token, now), nil
}

// took returns the login with a token in it.
func took(k *Kept, token *oauth2.Token, now time.Time) *Kept {
	out := *k
	out.Access = secret(token.AccessToken)
	if token.RefreshToken != "" {
		out.Refresh = secret(token.RefreshToken)
	}
	out.Expires = time.Time{}
	if !token.Expiry.IsZero() {
		out.Expires = now.Add(time.Until(token.Expiry))
	}
	if granted, ok := token.Extra("scope").(string); ok && strings.TrimSpace(granted) != "" {
		out.Scopes = strings.Fields(granted)
	}
	out.Since = now
	return &out
}

// style returns how a client shows its secret.
func style(supported []string) oauth2.AuthStyle {
	switch {
	case slices.Contains(supported, "client_secret_post"):
		return oauth2.AuthStyleInParams
	case len(supported) == 0, slices.Contains(supported, "client_secret_basic"):
		return oauth2.AuthStyleInHeader // the default of RFC 8414
	}
	return oauth2.AuthStyleInParams
}

// registered fills in who the client is, in the order of MCP: the client of a metadata
// document, the one that the operator registered, one that registers itself.
func registered(ctx context.Context, c *http.Client, s *Server, at *site, before *Kept, k *Kept, redirect string, grants []string) error {
	document := isDocument(s.ClientID)
	switch {
	case document && at.meta.ClientIDMetadataDocumentSupported:
		k.Client = Client{ID: s.ClientID, Style: int(oauth2.AuthStyleInParams)}
		return nil
	case s.ClientID != "" && !document:
		k.Client = Client{ID: s.ClientID, Style: int(oauth2.AuthStyleInParams)}
		if k.ClientSecret = s.ClientSecret; s.ClientSecret.Reveal() != "" {
			k.Client.Style = int(style(at.meta.TokenEndpointAuthMethodsSupported))
		}
		return nil
	case before != nil && before.Issuer == at.meta.Issuer && before.Client.Registered == redirect && before.Client.ID != "":
		k.Client, k.ClientSecret = before.Client, before.ClientSecret // an issuer's clients are for nobody else
		return nil
	case at.meta.RegistrationEndpoint == "":
		return fmt.Errorf("authorization server %s registers no clients: register one there, with the redirect address %s, and set auth.client_id", at.meta.Issuer, redirect)
	}
	got, err := oauthex.RegisterClient(ctx, at.meta.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{redirect}, ClientName: "Tenon", GrantTypes: grants, ResponseTypes: []string{"code"},
		TokenEndpointAuthMethod: method(at.meta.TokenEndpointAuthMethodsSupported), ApplicationType: "native",
	}, c)
	if refused, ok := errors.AsType[*oauthex.ClientRegistrationError](err); ok {
		return fmt.Errorf("authorization server %s registers no such client: %s (%s)", at.meta.Issuer, clip(refused.ErrorCode), clip(refused.ErrorDescription))
	}
	if err != nil {
		why := "its answer is not understood" // which may hold a secret
		if _, ok := errors.AsType[*url.Error](err); ok {
			why = bare(err).Error()
		}
		if status, _, ok := strings.Cut(err.Error(), ": "); ok && strings.HasPrefix(status, "registration failed with status") {
			why = status
		}
		return fmt.Errorf("registering at %s failed: %s", at.meta.Issuer, clip(why))
	}
	k.Client = Client{ID: got.ClientID, Registered: redirect, Style: int(oauth2.AuthStyleInParams)}
	if k.ClientSecret = secret(got.ClientSecret); got.ClientSecret != "" && got.TokenEndpointAuthMethod != "client_secret_post" {
		k.Client.Style = int(oauth2.AuthStyleInHeader)
	}
	return nil
}

// method returns how a client that registers itself will show who it is.
func method(supported []string) string {
	for _, m := range []string{"none", "client_secret_post", "client_secret_basic"} {
		if slices.Contains(supported, m) {
			return m
		}
	}
	return "client_secret_basic"
}

// isDocument reports whether an ID is the address of a client's metadata document.
func isDocument(id string) bool {
	u, err := url.Parse(id)
	return err == nil && u.Scheme == "https" && u.Host != "" && strings.Trim(u.Path, "/") != ""
}

// revoke tells the issuer that a login is over. Refresh tokens first: most issuers
// end what came of them too.
func revoke(ctx context.Context, c *http.Client, k *Kept) error {
	if k.Endpoints.Revoke == "" {
		return nil
	}
	var bad []error
	for _, t := range []struct{ hint, token string }{{"refresh_token", k.Refresh.Reveal()}, {"access_token", k.Access.Reveal()}} {
		if t.token == "" {
			continue
		}
		form := url.Values{"token": {t.token}, "token_type_hint": {t.hint}, "client_id": {k.Client.ID}}
		if k.ClientSecret.Reveal() != "" && k.Client.Style != int(oauth2.AuthStyleInHeader) {
			form.Set("client_secret", k.ClientSecret.Reveal())
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, k.Endpoints.Revoke, strings.NewReader(form.Encode()))
		if err != nil {
			return errors.New("its address cannot be read")
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if k.ClientSecret.Reveal() != "" && k.Client.Style == int(oauth2.AuthStyleInHeader) {
			req.SetBasicAuth(url.QueryEscape(k.Client.ID), url.QueryEscape(k.ClientSecret.Reveal()))
		}
		resp, err := c.Do(req)
		if err != nil {
			bad = append(bad, bare(err))
			continue
		}
		_ = resp.Body.Close() // its status says it all
		if resp.StatusCode != http.StatusOK {
			bad = append(bad, fmt.Errorf("it answered %s", resp.Status))
		}
	}
	return errors.Join(bad...)
}

func secret(text string) tool.Secret { return tool.NewSecret(text) }
