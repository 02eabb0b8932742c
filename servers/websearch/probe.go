package websearch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/servers/websearch/provider"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe makes one small search with each search engine that is set up, as
// list_search_providers does, and reads one small page with each reader. DuckDuckGo,
// which is there without being set up, is asked where an option names it. The searches
// count as searches.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	o.complete(getenv)
	s, err := build(o, getenv, nil)
	if err != nil {
		return nil // the server is not made either, and says why
	}
	var asks []probe.Ask
	for _, p := range s.search.providers {
		if p.Name == provider.DuckDuckGo && len(o.Providers) == 0 && o.DuckDuckGoBaseURL == "" {
			continue
		}
		asks = append(asks, probe.Ask{Service: p.Name, Key: keys[p.Name], Do: func(ctx context.Context) (string, error) { return "", s.try(ctx, p) }})
	}
	return probe.All(ctx, slices.Concat(asks, s.chain.Probes())...)
}

var keys = map[string]string{provider.Brave: "BRAVE_API_KEY", provider.Tavily: "TAVILY_API_KEY", provider.Serper: "SERPER_API_KEY"}

// try makes one search.
func (s *server) try(ctx context.Context, p *provider.Provider) error {
	if err := s.search.window.Take(ctx, 1); err != nil {
		return &probe.FaultError{State: tool.ProbeUnknown, Text: egress.Plain(err.Error(), 200)}
	}
	_, err := p.Search(ctx, provider.Query{Text: "wikipedia", Limit: 1})
	e, ok := errors.AsType[*provider.Error](err)
	switch {
	case !ok:
		return err
	case e.Kind == provider.Login:
		return &probe.FaultError{State: tool.ProbeWrongKey, Text: e.Text}
	case e.Kind == provider.Down && !strings.Contains(e.Text, "(status "): // which an answer has
		return errors.New(e.Text)
	}
	return &probe.FaultError{State: tool.ProbeFailing, Text: e.Text}
}
