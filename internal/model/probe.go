package model

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// List returns the request for the list of models, which costs nothing and wants the
// key. An endpoint of one's own may not have it.
func (c *Client) List() (egress.Request, error) {
	h := http.Header{"Accept": {"application/json"}}
	base, version := c.BaseURL, ""
	switch c.Kind {
	case OpenAI:
		for _, path := range []string{"/chat/completions", "/audio/transcriptions"} {
			base = without(base, path)
		}
		if c.Key != "" {
			h.Set("Authorization", "Bearer "+c.Key)
		}
	case Anthropic:
		version = "/v1"
		base = without(base, "/messages")
		h.Set("X-Api-Key", c.Key)
		h.Set("Anthropic-Version", "2023-06-01")
	case Gemini:
		version = "/v1beta"
		h.Set("X-Goog-Api-Key", c.Key)
	}
	to, err := address(base, version, "/models")
	return egress.Request{URL: to, Header: h}, err
}

// without returns a base URL without the path of an endpoint at its end.
func without(base, path string) string {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return base
	}
	u.Path, u.RawPath = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), path), ""
	return u.String()
}
