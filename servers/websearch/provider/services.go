package provider

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
)

func (p *Provider) searxng(ctx context.Context, q Query) ([]Result, error) {
	v := url.Values{"q": {q.Text}, "format": {"json"}, "pageno": {"1"}}
	var answer struct {
		Results []struct {
			Title     string `json:"title"`
			URL       string `json:"url"`
			Content   string `json:"content"`
			Published string `json:"publishedDate"`
		} `json:"results"`
		Unresponsive [][]string `json:"unresponsive_engines"`
	}
	if err := p.ask(ctx, egress.Request{URL: p.o.Base + "/search?" + v.Encode()}, nil, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) == 0 && len(answer.Unresponsive) > 0 {
		var silent []string
		for _, e := range answer.Unresponsive[:min(len(answer.Unresponsive), 3)] {
			silent = append(silent, egress.Plain(strings.Join(e, " "), 60))
		}
		text := "its engines do not answer: " + strings.Join(silent, ", ")
		return nil, &Error{Provider: p.Name, Kind: Down, Text: text}
	}
	out := make([]Result, 0, len(answer.Results))
	for _, r := range answer.Results {
		out = append(out, Result{Title: r.Title, URL: r.URL, Snippet: r.Content, Date: day(r.Published)})
	}
	return out, nil
}

func (p *Provider) brave(ctx context.Context, q Query) ([]Result, error) {
	v := url.Values{"q": {first(q.Text, 50)}, "count": {strconv.Itoa(min(max(q.Limit, 1), 20))}, "text_decorations": {"false"}, "result_filter": {"web"}}
	var answer struct {
		Web struct {
			Results []struct {
				Title       string `json:"title"`
				URL         string `json:"url"`
				Description string `json:"description"`
				PageAge     string `json:"page_age"`
			} `json:"results"`
		} `json:"web"`
	}
	h := http.Header{"X-Subscription-Token": {p.o.Key}}
	if err := p.ask(ctx, egress.Request{URL: p.o.Base + "/res/v1/web/search?" + v.Encode(), Header: h}, nil, &answer); err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(answer.Web.Results))
	for _, r := range answer.Web.Results {
		out = append(out, Result{Title: stripped(r.Title), URL: r.URL, Snippet: stripped(r.Description), Date: day(r.PageAge)})
	}
	return out, nil
}

func (p *Provider) tavily(ctx context.Context, q Query) ([]Result, error) {
	var answer struct {
		Results []struct {
			Title     string `json:"title"`
			URL       string `json:"url"`
			Content   string `json:"content"`
			Published string `json:"published_date"`
		} `json:"results"`
	}
	body := map[string]any{"query": q.Text, "max_results": min(max(q.Limit, 1), 20), "search_depth": "basic", "topic": "general"}
	err := p.ask(ctx, egress.Request{URL: p.o.Base + "/search", Header: http.Header{"Authorization": {"Bearer " + p.o.Key}}}, body, &answer)
	if err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(answer.Results))
	for _, r := range answer.Results {
		out = append(out, Result{Title: r.Title, URL: r.URL, Snippet: r.Content, Date: r.Published})
	}
	return out, nil
}

func (p *Provider) serper(ctx context.Context, q Query) ([]Result, error) {
	var answer struct {
		Organic []struct {
			Title   string `json:"title"`
			Link    string `json:"link"`
			Snippet string `json:"snippet"`
			Date    string `json:"date"`
		} `json:"organic"`
	}
	body := map[string]any{"q": q.Text, "num": 10}
	if err := p.ask(ctx, egress.Request{URL: p.o.Base + "/search", Header: http.Header{"X-Api-Key": {p.o.Key}}}, body, &answer); err != nil {
		return nil, err
	}
	out := make([]Result, 0, len(answer.Organic))
	for _, r := range answer.Organic {
		out = append(out, Result{Title: r.Title, URL: r.Link, Snippet: r.Snippet, Date: r.Date})
	}
	return out, nil
}

func (p *Provider) open(ctx context.Context, q Query) ([]Result, error) {
	var answer struct {
		Status string `json:"status"`
		Data   struct {
			Results []struct {
				Title       string `json:"title"`
				URL         string `json:"url"`
				Description string `json:"description"`
				Published   string `json:"publishedAt"`
			} `json:"results"`
			Partial []struct {
				Engine  string `json:"engine"`
				Code    string `json:"code"`
				Message string `json:"message"`
			} `json:"partialFailures"`
		} `json:"data"`
	}
	body := map[string]any{"query": q.Text, "limit": min(max(q.Limit, 1), 50)}
	if engines := valid(p.o.Engines); len(engines) > 0 {
		body["engines"] = engines
	}
	if err := p.ask(ctx, egress.Request{URL: p.o.Base + "/search"}, body, &answer); err != nil {
		return nil, err
	}
	d := answer.Data
	if answer.Status != "ok" {
		return nil, &Error{Provider: p.Name, Kind: Down, Text: "its answer is not the JSON that was expected"}
	}
	if len(d.Results) == 0 && len(d.Partial) > 0 {
		f := d.Partial[0]
		return nil, &Error{Provider: p.Name, Kind: Down, Text: "its engine " + egress.Plain(f.Engine+" failed: "+f.Code+" "+f.Message, 200)}
	}
	out := make([]Result, 0, len(d.Results))
	for _, r := range d.Results {
		out = append(out, Result{Title: r.Title, URL: r.URL, Snippet: r.Description, Date: day(r.Published)})
	}
	return out, nil
}

// day returns the date of a time.
func day(s string) string {
	if len(s) > 10 && s[10] == 'T' {
		return s[:10]
	}
	return s
}
