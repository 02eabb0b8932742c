package provider

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/htmlsafe"
)

const liteBase = "https://lite.duckduckgo.com"

// duckAgent names Tenon, in the form without which the pages show nothing.
func duckAgent() string { return "Mozilla/5.0 (compatible; " + egress.UserAgent() + ")" }

// duck reads the page for browsers without scripts, and where that gives nothing the
// one for old phones.
func (p *Provider) duck(ctx context.Context, q Query) ([]Result, error) {
	found, err := p.duckPage(ctx, p.client, p.o.Base, "/html/", q)
	if err == nil && len(found) > 0 || errors.Is(err, context.Canceled) {
		return found, err
	}
	lite := liteBase
	if p.lite == p.client {
		lite = p.o.Base
	}
	more, liteErr := p.duckPage(ctx, p.lite, lite, "/lite/", q)
	if liteErr != nil {
		return found, cmp.Or(err, liteErr)
	}
	return more, nil
}

func (p *Provider) duckPage(ctx context.Context, client *egress.Client, base, path string, q Query) ([]Result, error) {
	form := url.Values{"q": {quoteBangs(q.Text)}, "b": {""}, "kl": {cmp.Or(p.o.Region, "wt-wt")}}
	resp, err := p.do(ctx, client, egress.Request{
		Method: http.MethodPost, URL: base + path, Body: []byte(form.Encode()),
		Header: http.Header{
			"Content-Type": {"application/x-www-form-urlencoded"}, "User-Agent": {duckAgent()}, "Accept": {"text/html"}, "Accept-Language": {"en-US,en;q=0.9"}, "Referer": {base + "/"},
		},
	})
	if err != nil {
		return nil, err
	}
	doc, err := htmlsafe.Parse(ctx, bytes.NewReader(resp.Body))
	if err != nil {
		return nil, &Error{Provider: p.Name, Kind: Down, Text: "its page cannot be read"}
	}
	page := duckResults(doc)
	if page.challenge || resp.Status == http.StatusAccepted {
		return nil, &Error{Provider: p.Name, Kind: Refused, Text: "it wants a person to pass a check first. Try again later, or set another provider"}
	}
	if !page.known {
		return nil, &Error{Provider: p.Name, Kind: Down, Text: "its page is not of the form that was expected"}
	}
	return page.results, nil
}

// quoteBangs quotes words that would lead to another search engine.
func quoteBangs(q string) string {
	words := strings.Fields(q)
	for i, w := range words {
		if strings.HasPrefix(w, "!") || strings.HasPrefix(w, `\`) {
			words[i] = `"` + strings.Trim(w, `"`) + `"`
		}
	}
	return strings.Join(words, " ")
}

// A duckPage is what a page of results holds.
type duckPage struct {
	results   []Result
	challenge bool
	known     bool // it is a page of results, also where there are none
}

// duckResults reads either of the two pages.
func duckResults(doc *html.Node) duckPage {
	var page duckPage
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		class := attribute(n, "class")
		switch {
		case attribute(n, "id") == "challenge-form" || hasWord(class, "anomaly-modal__title"):
			page.challenge = true
		case attribute(n, "name") == "q":
			page.known = true // the field for the next search
		case n.Data == "a" && (hasWord(class, "result__a") || hasWord(class, "result-link")):
			page.known = true
			if to := unwrapped(attribute(n, "href")); to != "" && !isAd(n) {
				page.results = append(page.results, Result{Title: textOf(n), URL: to})
			}
		case hasWord(class, "result__snippet") || hasWord(class, "result-snippet"):
			if i := len(page.results) - 1; i >= 0 && page.results[i].Snippet == "" && !isAd(n) {
				page.results[i].Snippet = textOf(n)
			}
		}
	}
	return page
}

// isAd reports whether an element stands in an advertisement.
func isAd(n *html.Node) bool {
	if strings.Contains(attribute(n, "href"), "duckduckgo.com/y.js") {
		return true
	}
	for p, depth := n.Parent, 0; p != nil && depth < 8; p, depth = p.Parent, depth+1 {
		if class := attribute(p, "class"); hasWord(class, "result--ad") || hasWord(class, "result-sponsored") {
			return true
		}
	}
	return false
}

// unwrapped returns the address that a link of a page leads to, or "".
func unwrapped(href string) string {
	if strings.HasPrefix(href, "//") {
		href = "https:" + href
	}
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if strings.HasSuffix(u.Hostname(), "duckduckgo.com") {
		return u.Query().Get("uddg")
	}
	return href
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasWord(list, word string) bool {
	for w := range strings.FieldsSeq(list) {
		if w == word {
			return true
		}
	}
	return false
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
