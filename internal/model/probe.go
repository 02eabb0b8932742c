package model

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks for the models of the endpoint. Where it has no list of them, that it answers
// is all that is seen.
func (c *Client) Probe() probe.Ask {
	return probe.Ask{Service: c.Provider(), Key: c.KeyName, Do: func(ctx context.Context) (string, error) {
		r, err := c.list()
		if err != nil {
			return "", &probe.FaultError{State: tool.ProbeFailing, Text: err.Error()}
		}
		none := &probe.FaultError{State: tool.ProbeUnknown, Text: "it answers, and has no list of models to try the key on: look at the base URL where its tools fail"}
		return probe.HTTP(c.HTTP, r, map[int]*probe.FaultError{
			http.StatusNotFound: none, http.StatusMethodNotAllowed: none, http.StatusNotImplemented: none,
		})(ctx)
	}}
}

// Reach probes the endpoint of a client, which is of no use after it.
func Reach(ctx context.Context, c *Client) []tool.Probe { return probe.All(ctx, c.Probe()) }

// list returns the request for the list of models, which costs nothing and wants the
// key. An endpoint of one's own may not have it.
func (c *Client) list() (egress.Request, error) {
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
