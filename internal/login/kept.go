package login

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Kept is one login as it is kept. It prints without its secrets.
type Kept struct {
	Server, URL, Caller string
	Issuer              string
	Resource            string // what the tokens are for
	Endpoints           Endpoints
	Client              Client
	ClientSecret        tool.Secret
	Access, Refresh     tool.Secret
	Scopes              []string  // granted
	Wanted              []string  // what the server has asked for since
	Expires             time.Time // zero where that is unknown
	Since               time.Time
}

// Endpoints are where the issuer of a login is asked.
type Endpoints struct {
	Token  string `json:"token"`
	Revoke string `json:"revoke,omitempty"`
}

// A Client is who the issuer takes Tenon for.
type Client struct {
	ID         string `json:"id"`
	Style      int    `json:"style,omitempty"`      // how it shows its secret: a value of oauth2.AuthStyle
	Registered string `json:"registered,omitempty"` // the redirect address that it registered itself with
}

// Live reports whether the login is good for a request now, or can be renewed.
func (k *Kept) Live(now time.Time) bool {
	return k.Access.Reveal() != "" && (k.Expires.IsZero() || now.Before(k.Expires)) || k.Refresh.Reveal() != ""
}

// sealed is a login in its file, which is encrypted.
type sealed struct {
	Version      int       `json:"version"`
	Server       string    `json:"server"`
	URL          string    `json:"url"`
	Caller       string    `json:"caller,omitempty"`
	Issuer       string    `json:"issuer"`
	Resource     string    `json:"resource"`
	Endpoints    Endpoints `json:"endpoints"`
	Client       Client    `json:"client"`
	ClientSecret string    `json:"client_secret,omitempty"`
	Access       string    `json:"access,omitempty"`
	Refresh      string    `json:"refresh,omitempty"`
	Scopes       []string  `json:"scopes,omitempty"`
	Wanted       []string  `json:"wanted,omitempty"`
	Expires      time.Time `json:"expires,omitzero"`
	Since        time.Time `json:"since"`
}

func encode(k *Kept) ([]byte, error) {
	return json.Marshal(sealed{ //nolint:gosec // it is encrypted before it is written
		1, k.Server, k.URL, k.Caller, k.Issuer, k.Resource, k.Endpoints, k.Client, k.ClientSecret.Reveal(),
		k.Access.Reveal(), k.Refresh.Reveal(), k.Scopes, k.Wanted, k.Expires, k.Since,
	})
}

func decode(text []byte) (*Kept, error) {
	var s sealed
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return &Kept{
		s.Server, s.URL, s.Caller, s.Issuer, s.Resource, s.Endpoints, s.Client, tool.NewSecret(s.ClientSecret),
		tool.NewSecret(s.Access), tool.NewSecret(s.Refresh), s.Scopes, s.Wanted, s.Expires, s.Since,
	}, nil
}

// union returns a with what b has more.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
