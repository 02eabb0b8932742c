package tenon

import (
	"context"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/fetch"
	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/internal/mapping"
	"github.com/tenon-mcp/tenon/tool"
)

// enduring adds to the options of the pipeline what it needs to repeat calls and to
// let other tools stand in.
func (v view) enduring(o call.Options) call.Options {
	o.Retry = call.Retry(v.cfg.Gateway.Retry)
	o.Health = v.health
	o.Reader = func(t *tool.Tool) string { return v.catalog.Snapshot().Reader(t) }
	pages := fetch.New(fetch.Options{Allow: v.o.readable})
	o.Fetch = func(ctx context.Context, url string, refuse func(string) error) (string, error) {
		page, err := pages.Page(ctx, url, refuse)
		return page.Text, err
	}
	return o
}

// fallbacks returns those of the configuration as the pipeline has them.
func fallbacks(list []config.Fallback) ([]call.Fallback, error) {
	out := make([]call.Fallback, len(list))
	for i, f := range list {
		out[i].Group = f.Group
		if f.Group == "" {
			out[i].Match = func(id tool.ID) bool { return glob.MatchID(f.Pattern, id) }
		}
		for _, m := range f.Members {
			member := call.Member{Tool: m.Tool, On: m.On}
			if text := m.Arguments.Reveal(); text != "" {
				t, err := mapping.Parse([]byte(text))
				if err != nil {
					return nil, fmt.Errorf("fallbacks: arguments of %s: %w", m.Tool, err)
				}
				member.Arguments = t
			}
			out[i].Members = append(out[i].Members, member)
		}
	}
	return out, nil
}

// health returns what is known of a server without asking it.
func (v view) health(server string) call.Health {
	m := v.byName[server]
	if m == nil {
		return call.Health{}
	}
	st := m.status()
	h := call.Health{Reason: st.Reason}
	switch st.State {
	case tool.StateStopped:
		h.Down = true
	case tool.StateFailed:
		if st.NextTry == nil {
			h.Down = true // its entry is broken
			break
		}
		// From then on the next call starts it.
		h.NextTry = *st.NextTry
		h.Down = time.Now().Before(h.NextTry)
	case tool.StateReady, tool.StateStarting, tool.StateInstalling, tool.StateIdle:
	}
	return h
}
