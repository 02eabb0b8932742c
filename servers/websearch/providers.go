package websearch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/typed"
	"github.com/tenon-mcp/tenon/servers/websearch/provider"
)

type providersInput struct {
	Check bool `json:"check,omitempty" jsonschema:"ask each search engine that is set up with one small search, which counts as one of the searches that are allowed; without it the last search of this process tells"`
}

type providersOutput struct {
	Providers []providerState `json:"providers" jsonschema:"search engines, in the order in which they are asked"`
	Readers   []string        `json:"readers" jsonschema:"ways by which fetch_page reads, in their order"`
	Limits    []string        `json:"limits" jsonschema:"what queries are held to"`
}

type providerState struct {
	Name  string `json:"name" jsonschema:"search engine"`
	State string `json:"state" jsonschema:"ok, failing, unknown (not asked yet), not set up, or not used"`
	Why   string `json:"why,omitempty" jsonschema:"what failed, or what would set it up"`
}

func (s *server) addProviders(srv *mcp.Server) {
	typed.Add(srv, typed.Spec{
		Name: "list_search_providers", Title: "Search engines",
		Description: "Lists the search engines that web_search knows: which are set up and in which order they are asked, which of them fail and why, and what queries are held to.",
		Defaults:    map[string]any{"check": false}, Annotations: readsWeb(), MaxArguments: maxArguments,
	}, func(ctx context.Context, in providersInput) (string, providersOutput, error) {
		out, err := s.states(ctx, in)
		return out.markdown(), out, err
	})
}

func (s *server) states(ctx context.Context, in providersInput) (providersOutput, error) {
	if in.Check {
		if err := s.checkAll(ctx); err != nil {
			return providersOutput{}, err
		}
	}
	out := providersOutput{Readers: s.chain.Ways()}
	used := map[string]bool{}
	for i, p := range s.search.providers {
		used[p.Name] = i == 0 || !s.search.noFallback
	}
	for _, one := range s.providers {
		st := providerState{Name: one.name, State: "unknown"}
		o := s.search.outcome(one.name)
		switch {
		case one.provider == nil:
			st.State, st.Why = "not set up", one.missing
		case !used[one.name]:
			st.State, st.Why = "not used", "the options providers and no_fallback leave it out"
		case o.at.IsZero():
		case o.err != "":
			st.State, st.Why = "failing", o.err+", "+ago(o.at)
		default:
			st.State, st.Why = "ok", "answered "+ago(o.at)
		}
		out.Providers = append(out.Providers, st)
	}
	w := s.search.window
	if w.Calls > 0 {
		where := "of this process"
		if w.File != "" {
			where = "of all processes that share the count"
			if err := w.Trouble(); err != nil {
				where = "of this process, as the shared count cannot be used: " + egress.Plain(err.Error(), 200)
			}
		}
		out.Limits = append(out.Limits, fmt.Sprintf("%d searches in %s, %s", w.Calls, w.Every, where))
	}
	out.Limits = append(out.Limits, s.search.filter.Describe()...)
	return out, nil
}

func ago(t time.Time) string {
	return fmt.Sprintf("%s ago", time.Since(t).Round(time.Second))
}

// checkAll asks each provider for one page.
func (s *server) checkAll(ctx context.Context) error {
	list := s.search.providers
	if len(list) == 0 {
		return nil
	}
	if err := s.search.window.Take(ctx, len(list)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range list {
		wg.Go(func() {
			_, err := p.Search(ctx, provider.Query{Text: "wikipedia", Limit: 1})
			s.search.note(p.Name, err)
		})
	}
	wg.Wait()
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

func (o providersOutput) markdown() string {
	var b strings.Builder
	b.WriteString("| search engine | state | |\n| --- | --- | --- |\n")
	for _, p := range o.Providers {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.Name, p.State, strings.ReplaceAll(egress.Plain(p.Why, 300), "|", `\|`))
	}
	fmt.Fprintf(&b, "\nPages are read by: %s\n\nLimits:\n", strings.Join(o.Readers, ", then "))
	for _, l := range o.Limits {
		b.WriteString("- " + l + "\n")
	}
	return b.String()
}
