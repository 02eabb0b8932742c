package scrape

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/probe"
)

// probed is the page that services are asked for to try their keys: one that exists to
// be an example.
const probed = "https://example.com/"

// Probes are the probes of the services that are set up: each reads one small page.
func (c *Chain) Probes() []probe.Ask {
	json := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	with := func(name, value, key string) http.Header {
		h := json.Clone()
		if key != "" {
			h.Set(name, value+key)
		}
		return h
	}
	body := []byte(`{"url":"` + probed + `"}`)
	var asks []probe.Ask
	for _, s := range []struct {
		name, key string
		service   Service
		base      string
		request   egress.Request // without the base of its address
	}{
		{"Jina reader", "JINA_API_KEY", c.o.Jina, "https://r.jina.ai", egress.Request{URL: "/" + probed, Header: with("Authorization", "Bearer ", c.o.Jina.Key)}},
		{"Serper scraper", "SERPER_API_KEY", c.o.Serper, "https://scrape.serper.dev", egress.Request{Method: http.MethodPost, Header: with("X-Api-Key", "", c.o.Serper.Key), Body: body}},
		{"Firecrawl", "FIRECRAWL_API_KEY", c.o.Firecrawl, "https://api.firecrawl.dev", egress.Request{Method: http.MethodPost, URL: "/v2/scrape", Header: with("Authorization", "Bearer ", c.o.Firecrawl.Key), Body: body}},
	} {
		if !s.service.set() {
			continue
		}
		base := strings.TrimRight(cmp.Or(s.service.Base, s.base), "/")
		client, err := c.o.Pages.Service(base)
		if err != nil {
			continue // New has refused it
		}
		s.request.URL = base + s.request.URL
		// Who cannot read the page has taken the key.
		asks = append(asks, probe.Ask{Service: s.name, Key: s.key, Do: probe.HTTP(client, s.request, map[int]*probe.FaultError{http.StatusUnprocessableEntity: nil})})
	}
	return asks
}
