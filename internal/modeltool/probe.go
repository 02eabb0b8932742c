package modeltool

import (
	"context"
	"net/http"

	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe asks for the models of an endpoint. Where the endpoint has no list of them, that
// it answers is all that is seen.
func Probe(c *model.Client) probe.Ask {
	return probe.Ask{Service: c.Provider(), Key: c.KeyName, Do: func(ctx context.Context) (string, error) {
		r, err := c.List()
		if err != nil {
			return "", &probe.Fault{State: tool.ProbeFailing, Text: err.Error()}
		}
		none := &probe.Fault{State: tool.ProbeUnknown, Text: "it answers, and has no list of models to try the key on: look at the base URL where its tools fail"}
		return probe.HTTP(c.HTTP, r, map[int]*probe.Fault{
			http.StatusNotFound: none, http.StatusMethodNotAllowed: none, http.StatusNotImplemented: none,
		})(ctx)
	}}
}

// Probes asks each endpoint once, whatever models it is asked for. Missing says what to
// set where there is none.
func Probes(ctx context.Context, missing string, clients ...*model.Client) []tool.Probe {
	var asks []probe.Ask
	seen := map[string]bool{}
	for _, c := range clients {
		if c != nil && !seen[c.BaseURL+"\n"+c.Key] {
			seen[c.BaseURL+"\n"+c.Key] = true
			asks = append(asks, Probe(c))
		}
	}
	if len(asks) == 0 {
		asks = []probe.Ask{{Service: "model", Missing: missing}}
	}
	return probe.All(ctx, asks...)
}
