package modeltool

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/tool"
)

// Probes asks each endpoint once, whatever models it is asked for. Missing says what to
// set where there is none.
func Probes(ctx context.Context, missing string, clients ...*model.Client) []tool.Probe {
	var asks []probe.Ask
	seen := map[string]bool{}
	for _, c := range clients {
		if c != nil && !seen[c.BaseURL+"\n"+c.Key] {
			seen[c.BaseURL+"\n"+c.Key] = true
			asks = append(asks, c.Probe())
		}
	}
	if len(asks) == 0 {
		asks = []probe.Ask{{Service: "model", Missing: missing}}
	}
	return probe.All(ctx, asks...)
}
