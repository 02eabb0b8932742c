package provider_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/websearch/provider"
)

func client(t testing.TB) *egress.Client {
	t.Helper()
	c, err := egress.New(egress.Options{Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestWhatAProviderNeeds(t *testing.T) {
	for name, want := range map[string]string{
		"searxng": "wants a base URL", "brave": "wants a key", "tavily": "wants a key", "serper": "wants a key", "open-websearch": "wants a base URL", "altavista": "there is no provider",
	} {
		if _, err := provider.New(provider.Options{Client: client(t), Name: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := provider.New(provider.Options{Client: client(t), Name: "duckduckgo"}); err != nil {
		t.Error(err)
	}
}

// TestNoTextHoldsAKey has services that repeat the key in their refusals.
func TestNoTextHoldsAKey(t *testing.T) {
	web := doubles.NewWeb()
	for name, d := range map[string]*doubles.Double{"brave": doubles.Brave(web), "tavily": doubles.Tavily(web), "serper": doubles.Serper(web)} {
		d.Fail(doubles.Fault{Status: 422, Code: "bad " + doubles.Key})
		p, err := provider.New(provider.Options{Client: client(t), Name: name, Base: doubles.Start(t, d), Key: doubles.Key})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Search(t.Context(), provider.Query{Text: "x", Limit: 3}); err == nil || strings.Contains(err.Error(), doubles.Key) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReasonsAreWhole has a service that breaks off before the reason.
func TestReasonsAreWhole(t *testing.T) {
	d := doubles.Brave(doubles.NewWeb())
	d.Fail(doubles.Fault{Status: 404})
	p, err := provider.New(provider.Options{Client: client(t), Name: "brave", Base: doubles.Start(t, d), Key: doubles.Key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Search(t.Context(), provider.Query{Text: "x", Limit: 3}); err == nil || !strings.HasSuffix(err.Error(), "(status 404: The request was refused)") {
		t.Error(err)
	}
}

// TestResultsAreAddressesOfTheWeb wants no result that leads elsewhere, and none twice.
func TestResultsAreAddressesOfTheWeb(t *testing.T) {
	web := doubles.NewWeb()
	for _, url := range []string{"javascript:alert(1)", "ftp://x.example/", "http://u:p@x.example/", "/relative", "http://x.example/" + strings.Repeat("a", 3000), "http://X.example/same", "http://x.example/same/", "http://x.example/same#part"} {
		web.Add(doubles.Page{URL: url, Title: "needle \x1b]0;x\a\u202e", Text: []string{"needle\nin\nlines"}})
	}
	p, err := provider.New(provider.Options{Client: client(t), Name: "searxng", Base: doubles.Start(t, doubles.SearXNG(web))})
	if err != nil {
		t.Fatal(err)
	}
	found, err := p.Search(t.Context(), provider.Query{Text: "needle", Limit: 20})
	if err != nil || len(found) != 1 || strings.ContainsAny(found[0].Title, "\x1b\u202e\n") || strings.Contains(found[0].Snippet, "\n") {
		t.Errorf("%+v %v", found, err)
	}
}

func FuzzDuckDuckGo(f *testing.F) {
	f.Add(`<div id="links"><div class="result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?x">ad</a></div><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.com">t</a><a class="result__snippet">s</a></div>`)
	f.Add(`<table><tr><td><a class='result-link' href="http://example.com/">t</a></td></tr><tr><td class='result-snippet'>s</td></tr></table>`)
	f.Add(`<form id="challenge-form">`)
	f.Fuzz(func(t *testing.T, page string) {
		found, err := provider.ReadDuckDuckGo(page)
		if err != nil {
			return
		}
		for _, r := range found {
			if r.URL == "" || strings.Contains(r.Title, "\n") || utf8.ValidString(page) && !utf8.ValidString(r.Title) {
				t.Errorf("%+v", r)
			}
		}
	})
}
