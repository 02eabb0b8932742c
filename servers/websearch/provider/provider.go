// Package provider asks search engines on the web, each in its own way, for results of
// one kind.
//
//	p, err := provider.New(provider.Options{Client: client, Name: "brave", Key: key})
//	if err != nil {
//		return err // says what is missing
//	}
//	results, err := p.Search(ctx, provider.Query{Text: "redis eviction", Limit: 5})
//
// [Names] lists them. An [Error] says why one gave nothing, and whether it is worth
// asking again. No text of this package holds a key.
//
// What comes back was written by strangers: titles and snippets are freed of markup
// and of characters that cannot be seen, and are bounded; a result without an address of
// the web is dropped.
package provider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// The names of the providers.
const (
	SearXNG       = "searxng"
	Brave         = "brave"
	Tavily        = "tavily"
	Serper        = "serper"
	OpenWebSearch = "open-websearch"
	DuckDuckGo    = "duckduckgo"
)

// Names returns all providers, in the order in which they are asked where nobody says
// another one.
func Names() []string {
	return []string{SearXNG, Brave, Tavily, Serper, OpenWebSearch, DuckDuckGo}
}

// Bounds on what is kept of a result, in characters.
const (
	maxTitle   = 200
	maxSnippet = 700
	maxURL     = 1000
)

// A Query is what is searched for.
type Query struct {
	Text  string
	Limit int
}

// A Result is one page that was found.
type Result struct {
	Title   string `json:"title" jsonschema:"title of the page"`
	URL     string `json:"url" jsonschema:"address of the page"`
	Snippet string `json:"snippet" jsonschema:"what the page says on it, in short"`
	Date    string `json:"date,omitempty" jsonschema:"date of the page, where the provider tells it"`
}

// A Kind is why a provider gave nothing.
type Kind string

// The kinds.
const (
	Login   Kind = "login"   // the key is missing or not taken
	Quota   Kind = "quota"   // the account is used up
	Busy    Kind = "busy"    // asked too often
	Refused Kind = "refused" // it does not take the query, or wants a person
	Down    Kind = "down"    // not reached, or broken
)

// An Error says why a provider gave nothing.
type Error struct {
	Provider string
	Kind     Kind
	Text     string
	After    time.Duration // when it may be asked again, where it said so
}

// Error names the provider and the reason.
func (e *Error) Error() string { return e.Provider + ": " + e.Text }

// Options configures a Provider.
type Options struct {
	Client *egress.Client // of which one for the base URL is made
	Name   string
	Base   string // default: that of the service
	Key    string

	Engines []string // of open-webSearch
	Region  string   // of DuckDuckGo, such as us-en; default: wt-wt, none
}

// A Provider is one search engine. It is safe for concurrent use.
type Provider struct {
	Name   string
	o      Options
	client *egress.Client
	lite   *egress.Client // of DuckDuckGo, which has two hosts
	search func(context.Context, Query) ([]Result, error)
}

// bases are where the services are; "" for those that everybody runs by himself.
var bases = map[string]string{
	SearXNG: "", Brave: "https://api.search.brave.com", Tavily: "https://api.tavily.com", Serper: "https://google.serper.dev",
	OpenWebSearch: "", DuckDuckGo: "https://html.duckduckgo.com",
}

// Needs says what a provider must have to be used: "a key", "a base URL" or "".
func Needs(name string) string {
	switch name {
	case DuckDuckGo:
		return ""
	case SearXNG, OpenWebSearch:
		return "a base URL"
	}
	return "a key"
}

// New returns a provider.
func New(o Options) (*Provider, error) {
	p := &Provider{Name: o.Name, o: o}
	base, known := bases[o.Name]
	switch needs := Needs(o.Name); {
	case !known:
		return nil, fmt.Errorf("there is no provider %q: %s", egress.Plain(o.Name, 40), strings.Join(Names(), ", "))
	case needs == "a key" && o.Key == "", needs == "a base URL" && o.Base == "":
		return nil, fmt.Errorf("%s wants %s", o.Name, needs)
	}
	p.o.Base = strings.TrimRight(cmp.Or(o.Base, base), "/")
	var err error
	if p.client, err = o.Client.Service(p.o.Base); err != nil {
		return nil, fmt.Errorf("base URL of %s: %w", o.Name, err)
	}
	switch o.Name {
	case SearXNG:
		p.search = p.searxng
	case Brave:
		p.search = p.brave
	case Tavily:
		p.search = p.tavily
	case Serper:
		p.search = p.serper
	case OpenWebSearch:
		p.search = p.open
	case DuckDuckGo:
		p.search, p.lite = p.duck, p.client
		if o.Base == "" {
			if p.lite, err = o.Client.Service(liteBase); err != nil {
				return nil, fmt.Errorf("base URL of %s: %w", o.Name, err)
			}
		}
	}
	return p, nil
}

// Search asks for results. There may be none, which is no error.
func (p *Provider) Search(ctx context.Context, q Query) ([]Result, error) {
	found, err := p.search(ctx, q)
	if err != nil {
		return nil, err
	}
	var out []Result
	seen := map[string]bool{}
	for _, r := range found {
		u, err := url.Parse(strings.TrimSpace(r.URL))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || len(r.URL) > maxURL {
			continue
		}
		r.URL = u.String()
		u.Fragment, u.RawFragment = "", ""
		key := strings.ToLower(u.Host) + strings.TrimSuffix(u.EscapedPath(), "/") + "?" + u.RawQuery
		if seen[key] || len(out) >= q.Limit {
			continue
		}
		seen[key] = true
		r.Title = cmp.Or(line(r.Title, maxTitle), u.Host)
		r.Snippet, r.Date = line(r.Snippet, maxSnippet), line(r.Date, 40)
		out = append(out, r)
	}
	return out, nil
}

// line returns foreign text on one line.
func line(s string, limit int) string {
	return egress.Plain(strings.Join(strings.Fields(s), " "), limit)
}

// stripped returns the text of a piece of HTML.
func stripped(s string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s[:min(len(s), 64<<10)]))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			b.WriteString(html.UnescapeString(string(z.Raw())))
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}

// ask makes a request and reads the JSON of its answer into v.
func (p *Provider) ask(ctx context.Context, r egress.Request, body, v any) error {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("the request cannot be written: %w", err)
		}
		r.Method, r.Body = http.MethodPost, b
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := p.do(ctx, p.client, r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(resp.Body, v); err != nil {
		return &Error{Provider: p.Name, Kind: Down, Text: "its answer is not the JSON that was expected"}
	}
	return nil
}

// do makes a request, once more where its failure may pass at once.
func (p *Provider) do(ctx context.Context, client *egress.Client, r egress.Request) (*egress.Response, error) {
	r.Retry = egress.Retry{Waits: egress.Seconds(0.5), Unsafe: true, Longest: time.Second} // a search changes nothing
	resp, err := client.Do(ctx, r)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, &Error{Provider: p.Name, Kind: Down, Text: err.Error()}
	}
	if !resp.OK() {
		return nil, p.status(resp)
	}
	return resp, nil
}

// status makes an error of an answer that tells of a failure.
func (p *Provider) status(resp *egress.Response) error {
	e := &Error{Provider: p.Name, Kind: Down}
	after := ""
	switch resp.Status {
	case http.StatusUnauthorized:
		e.Kind, e.Text = Login, "it does not take the key that was set"
	case http.StatusForbidden:
		e.Kind, e.Text = Login, "it does not allow the request"
		if p.Name == SearXNG {
			e.Text = "it does not answer in JSON: its operator must add json to search.formats in settings.yml"
		}
	case http.StatusPaymentRequired, 432, 433:
		e.Kind, e.Text = Quota, "the account of the key is used up"
	case http.StatusTooManyRequests:
		e.Kind, e.Text = Busy, "it was asked too often"
		if d, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s"); err == nil && d > 0 {
			e.After, after = min(d, time.Hour), fmt.Sprintf(", to be asked again in %s", min(d, time.Hour))
		}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		e.Kind, e.Text = Refused, "it does not take this query"
	default:
		e.Text = "it is out of order"
	}
	e.Text += fmt.Sprintf(" (status %d%s%s)", resp.Status, after, p.withoutKey(reason(resp.Body)))
	return e
}

// reason returns what an answer says of a failure, in whatever of the usual places.
func reason(body []byte) string {
	var e struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{e.Error, e.Detail} {
		var text string
		var inner struct {
			Message string `json:"message"`
			Detail  string `json:"detail"`
			Error   string `json:"error"`
		}
		if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &inner) == nil {
			text = cmp.Or(inner.Message, inner.Detail, inner.Error)
		}
		e.Message = cmp.Or(e.Message, text)
	}
	text := strings.TrimRight(line(e.Message, 200), " :;,")
	if text == "" {
		return ""
	}
	return ": " + text
}

// withoutKey frees a text of the key, should a service repeat it.
func (p *Provider) withoutKey(s string) string {
	if len(p.o.Key) < 6 {
		return s
	}
	return strings.ReplaceAll(s, p.o.Key, "…")
}

// first returns the first so many words of a query, for those who take no more.
func first(s string, words int) string {
	f := strings.Fields(s)
	return strings.Join(f[:min(len(f), words)], " ")
}

// valid returns those of a list that are names of engines.
func valid(engines []string) []string {
	return slices.DeleteFunc(slices.Clone(engines), func(e string) bool { return strings.TrimSpace(e) == "" })
}
