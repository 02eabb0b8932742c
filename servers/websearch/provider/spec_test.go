package provider_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/websearch/provider"
)

// TestServicesOwnWords asks each service whose interface is described by itself, and
// holds what is asked and what the double answers to that. What is described is read:
// a result has all that a provider tells.
func TestServicesOwnWords(t *testing.T) {
	web := doubles.NewWeb()
	for _, c := range []struct {
		double    *doubles.Double
		spec      string
		withDates bool
	}{
		{doubles.SearXNG(web), "searxng-search", true},
		{doubles.Brave(web), "brave-web-search", true},
		{doubles.Tavily(web), "tavily-search", false},
		{doubles.OpenWebSearch(web), "open-websearch", true},
	} {
		for _, engines := range [][]string{nil, {"bing", "nothing"}} {
			p, err := provider.New(provider.Options{Client: client(t), Name: c.double.Name, Base: doubles.Held(t, c.double, c.spec), Key: doubles.Key, Engines: engines})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"lighthouse", "nothing of the kind"} {
				found, err := p.Search(t.Context(), provider.Query{Text: text, Limit: 3})
				if text == "lighthouse" && (len(found) == 0 || found[0].Title == "" || found[0].Snippet == "") || err != nil && engines == nil {
					t.Fatalf("%s: %+v %v", c.spec, found, err)
				}
				for _, r := range found {
					if c.withDates && len(r.Date) != len("2024-05-02") {
						t.Errorf("%s: the date of %+v", c.spec, r)
					}
				}
			}
		}
	}
}
