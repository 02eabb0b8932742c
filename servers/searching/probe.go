package searching

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/probe"
	"github.com/tenon-mcp/tenon/servers/searching/wsa"
	"github.com/tenon-mcp/tenon/tool"
)

// Probe makes one small search with each key, reads one small page with each reader, and
// asks for the models of the endpoint that takes facts out of pages.
func Probe(ctx context.Context, o Options, getenv func(string) string) []tool.Probe {
	s, err := build(o, getenv, usual())
	if err != nil {
		return nil // the server is not made either, and says why
	}
	o = s.o
	asks := []probe.Ask{{Service: "Serper", Missing: "set SERPER_API_KEY for google_search"}}
	if o.SerperAPIKey != "" {
		asks[0] = probe.Ask{Service: "Serper", Key: "SERPER_API_KEY", Do: probe.HTTP(s.serper, small(
			o.SerperBaseURL+"/search", http.Header{"X-Api-Key": {o.SerperAPIKey}}, `{"q":"wikipedia","num":1}`), nil)}
	}
	if o.TavilyAPIKey != "" {
		asks = append(asks, probe.Ask{Service: "Tavily", Key: "TAVILY_API_KEY", Do: probe.HTTP(s.tavily, small(
			o.TavilyBaseURL+"/search", http.Header{"Authorization": {"Bearer " + o.TavilyAPIKey}}, `{"query":"wikipedia","max_results":1}`), nil)})
	}
	if s.sogou != nil {
		asks = append(asks, probe.Ask{Service: "Tencent Cloud", Key: "TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY", Do: trySogou(s.sogou)})
	}
	asks = append(asks, s.chain.Probes()...)
	if s.extract != nil {
		client, err := s.serper.Service(o.SummaryBaseURL)
		if err == nil { // build has made one of it
			asks = append(asks, (&model.Client{
				Label: "model for extracts", HTTP: client, BaseURL: o.SummaryBaseURL, Name: o.SummaryModel, Key: o.SummaryKey, KeyName: "SUMMARY_LLM_API_KEY",
			}).Probe())
		}
	}
	return probe.All(ctx, asks...)
}

func small(url string, h http.Header, body string) egress.Request {
	h.Set("Content-Type", "application/json")
	return egress.Request{Method: http.MethodPost, URL: url, Header: h, Body: []byte(body)}
}

// trySogou returns what makes one search: Tencent Cloud refuses with the status 200.
func trySogou(c *wsa.Client) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		_, err := c.Search(ctx, wsa.Query{Query: "wikipedia", Cnt: 10})
		refused, ok := errors.AsType[*wsa.Error](err)
		switch {
		case !ok:
			return "", err
		case strings.HasPrefix(refused.Code, "AuthFailure"), refused.Code == "UnauthorizedOperation":
			return "", &probe.FaultError{State: tool.ProbeWrongKey, Text: "it does not take the key (" + refused.Code + ")"}
		}
		return "", &probe.FaultError{State: tool.ProbeFailing, Text: "it refuses to search (" + refused.Code + ")"}
	}
}
