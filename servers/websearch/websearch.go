// Package websearch is the bundled server "websearch": a search of the web by whatever
// search engine is at hand, and the reading of what it found.
//
//	srv, err := websearch.New(websearch.Options{Engines: websearch.Engines{SearXNGURL: "http://127.0.0.1:8888"}})
//
// Six providers are known (package provider). Those that a key or a base URL is set for
// are asked one after the other until one has results; DuckDuckGo needs neither and
// comes last. The option providers says another order.
//
// What leaves is held to three rules (package limits): words that are not searched for,
// secrets and personal data in a query, and a number of searches in a time, which all
// processes of a machine share.
//
// Pages are read by internal/scrape. Titles, snippets and pages are what strangers
// wrote: they are bounded, freed of what cannot be seen, and marked as data.
package websearch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/scrape"
	"github.com/tenon-mcp/tenon/servers/websearch/limits"
	"github.com/tenon-mcp/tenon/servers/websearch/provider"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value takes them from the
// environment.
type Options struct {
	Engines
	Readers
	Rules
	Allow      []string `json:"allow,omitempty" jsonschema:"internal hosts that fetch_page may read besides public ones: networks, addresses or names, with or without a port, such as 10.20.0.0/16, db.internal:5432 or *.corp.example; no service is told of them"`
	Blocked    []string `json:"blocked,omitempty" jsonschema:"addresses that are neither read nor shown in results, each as HOST or HOST/FIRST-SEGMENT; default: data sets and spaces of Hugging Face, and unifuncs.com; a single - blocks nothing"`
	Proxy      string   `json:"proxy,omitempty" jsonschema:"proxy for all requests, such as http://proxy.example:3128; none is for none; default: that of the environment"`
	CAFile     string   `json:"ca_file,omitempty" path:"yes" jsonschema:"file of PEM certificates to trust besides the system's"`
	TimeoutSec float64  `json:"timeout_sec,omitempty" jsonschema:"seconds for one call of a tool with all that it tries, 5 to 600; default: 30 for a search, 90 for a page"`
}

// Engines are the settings of the search engines.
type Engines struct {
	Providers          []string `json:"providers,omitempty" jsonschema:"providers to ask, in this order: searxng, brave, tavily, serper, open-websearch, duckduckgo; default: those with a key or a base URL in this order, then duckduckgo"`
	NoFallback         bool     `json:"no_fallback,omitempty" jsonschema:"ask the first provider alone"`
	SearXNGURL         string   `json:"searxng_url,omitempty" jsonschema:"base URL of an instance of SearXNG that answers in JSON; default: $SEARXNG_URL"`
	BraveAPIKey        string   `json:"brave_api_key,omitempty" jsonschema:"key of Brave Search; better in the environment of the server as BRAVE_API_KEY"`
	BraveBaseURL       string   `json:"brave_base_url,omitempty" jsonschema:"base URL of Brave Search; default: $BRAVE_BASE_URL, else https://api.search.brave.com"`
	TavilyAPIKey       string   `json:"tavily_api_key,omitempty" jsonschema:"key of Tavily; better in the environment of the server as TAVILY_API_KEY"`
	TavilyBaseURL      string   `json:"tavily_base_url,omitempty" jsonschema:"base URL of Tavily; default: $TAVILY_BASE_URL, else https://api.tavily.com"`
	SerperAPIKey       string   `json:"serper_api_key,omitempty" jsonschema:"key of Serper, for searches and for reading pages; better in the environment of the server as SERPER_API_KEY"`
	SerperBaseURL      string   `json:"serper_base_url,omitempty" jsonschema:"base URL of Serper; default: $SERPER_BASE_URL, else https://google.serper.dev"`
	DuckDuckGoBaseURL  string   `json:"duckduckgo_base_url,omitempty" jsonschema:"base URL of both pages of DuckDuckGo; default: $DUCKDUCKGO_BASE_URL, else https://html.duckduckgo.com and https://lite.duckduckgo.com"`
	DuckDuckGoRegion   string   `json:"duckduckgo_region,omitempty" jsonschema:"region of DuckDuckGo, such as us-en or cn-zh; default: none"`
	OpenWebSearchURL   string   `json:"open_websearch_url,omitempty" jsonschema:"base URL of the daemon of open-webSearch, such as http://127.0.0.1:3210; default: $OPEN_WEBSEARCH_URL"`
	OpenWebSearchNames []string `json:"open_websearch_engines,omitempty" jsonschema:"engines that the daemon is to ask, such as bing or baidu; default: its own"`
}

// Readers are the settings of the services that read pages.
type Readers struct {
	JinaAPIKey       string `json:"jina_api_key,omitempty" jsonschema:"key of the Jina reader, which fetch_page asks first; better in the environment of the server as JINA_API_KEY"`
	JinaBaseURL      string `json:"jina_base_url,omitempty" jsonschema:"base URL of a Jina reader, which needs no key where it is your own; default: $JINA_BASE_URL, else https://r.jina.ai"`
	SerperScrapeURL  string `json:"serper_scrape_base_url,omitempty" jsonschema:"base URL of Serper's scraper, used with serper_api_key; default: $SERPER_SCRAPE_BASE_URL, else https://scrape.serper.dev"`
	FirecrawlAPIKey  string `json:"firecrawl_api_key,omitempty" jsonschema:"key of Firecrawl; better in the environment of the server as FIRECRAWL_API_KEY"`
	FirecrawlBaseURL string `json:"firecrawl_base_url,omitempty" jsonschema:"base URL of Firecrawl; default: $FIRECRAWL_BASE_URL, else https://api.firecrawl.dev"`
	Browser          string `json:"browser,omitempty" jsonschema:"path of a Chromium or Chrome, which reads pages that the other ways cannot; auto wants the one in PATH, - is none; default: the one in PATH, unless this runs as root or goes by a proxy"`
	BrowserNoSandbox bool   `json:"browser_no_sandbox,omitempty" jsonschema:"run the browser without its own sandbox, which does not work for root; a page that breaks out of it can then do what this server can"`
}

// Rules are the settings of what may leave.
type Rules struct {
	Keywords        []string `json:"keywords,omitempty" jsonschema:"words that are not searched for, in place of the built-in list; a single - is none"`
	KeywordsAction  string   `json:"keywords_action,omitempty" jsonschema:"what becomes of a query with such a word: refuse, redact (search without it) or off; default: refuse"`
	Sensitive       []string `json:"sensitive,omitempty" jsonschema:"regular expressions, in small letters, of what must not be told to a search engine, besides addresses of machines and of mail, keys, tokens, passwords, and numbers of telephones, persons, accounts and cards"`
	SensitiveAction string   `json:"sensitive_action,omitempty" jsonschema:"what becomes of a query with such a text: refuse, redact or off; default: refuse"`
	RateCalls       int      `json:"rate_calls,omitempty" jsonschema:"searches in rate_window_sec, 1 to 10000; -1 is no bound; default: 20"`
	RateWindowSec   float64  `json:"rate_window_sec,omitempty" jsonschema:"seconds in which rate_calls are counted, 1 to 86400; default: 60"`
	RateFile        string   `json:"rate_file,omitempty" path:"yes" jsonschema:"file in which all processes that name it count together; - counts each process alone; default: one in the user's cache folder"`
}

type server struct {
	search    *searcher
	chain     *scrape.Chain
	providers []slot
	timeout   time.Duration // of a search
}

// New returns the server. It fails where an option cannot be used, and names it.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New with the environment that the server is to have.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	s, err := build(o, getenv, nil)
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-websearch", Title: "Web search", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addSearch(srv)
	s.addFetch(srv)
	s.addProviders(srv)
	return srv
}

// build makes the server without its tools. A guard is given by tests alone.
func build(o Options, getenv func(string) string, guard *egress.Guard) (*server, error) {
	o.complete(getenv)
	s := &server{timeout: 30 * time.Second}
	pageTime := scrape.DefaultTimeout
	if o.TimeoutSec != 0 {
		if !(o.TimeoutSec >= 5 && o.TimeoutSec <= 600) {
			return nil, errors.New("option timeout_sec: must be 5 to 600 seconds")
		}
		s.timeout = time.Duration(o.TimeoutSec * float64(time.Second))
		pageTime = s.timeout
	}
	var err error
	if guard == nil {
		if guard, err = egress.NewGuard("websearch", o.Allow); err != nil {
			return nil, err
		}
	}
	pages, err := egress.New(egress.Options{
		Server: "websearch", Guard: guard, Proxy: o.Proxy, CAFile: o.CAFile, Times: egress.Times{Total: max(s.timeout, pageTime)},
	})
	if err != nil {
		return nil, err
	}
	if err := s.setPages(o, pages, guard, pageTime, getenv); err != nil {
		return nil, err
	}
	if err := s.setProviders(o, pages); err != nil {
		return nil, err
	}
	return s, s.setRules(o.Rules)
}

// complete takes what is not set from the environment.
func (o *Options) complete(getenv func(string) string) {
	for name, to := range map[string]*string{
		"SEARXNG_URL": &o.SearXNGURL, "BRAVE_API_KEY": &o.BraveAPIKey, "BRAVE_BASE_URL": &o.BraveBaseURL, "TAVILY_API_KEY": &o.TavilyAPIKey,
		"TAVILY_BASE_URL": &o.TavilyBaseURL, "SERPER_API_KEY": &o.SerperAPIKey, "SERPER_BASE_URL": &o.SerperBaseURL,
		"DUCKDUCKGO_BASE_URL": &o.DuckDuckGoBaseURL, "OPEN_WEBSEARCH_URL": &o.OpenWebSearchURL, "JINA_API_KEY": &o.JinaAPIKey, "JINA_BASE_URL": &o.JinaBaseURL,
		"SERPER_SCRAPE_BASE_URL": &o.SerperScrapeURL, "FIRECRAWL_API_KEY": &o.FirecrawlAPIKey, "FIRECRAWL_BASE_URL": &o.FirecrawlBaseURL,
	} {
		*to = strings.TrimSpace(cmp.Or(*to, getenv(name)))
	}
}

// setPages makes the chain that reads pages.
func (s *server) setPages(o Options, pages *egress.Client, guard *egress.Guard, limit time.Duration, getenv func(string) string) error {
	helpers, err := scrape.NewHelpers(getenv, scrape.HelperOptions{Browser: o.Browser, NoSandbox: o.BrowserNoSandbox, Proxy: o.Proxy})
	if err != nil {
		return err
	}
	ro := scrape.Options{
		Pages: pages, Guard: guard, Blocked: o.Blocked, Timeout: limit,
		Documents: helpers.Documents, Browser: helpers.Browser,
	}
	// A base URL alone is a service of the operator's own; that of Serper wants its key.
	ro.Jina = scrape.Service{Base: o.JinaBaseURL, Key: o.JinaAPIKey}
	ro.Firecrawl = scrape.Service{Base: o.FirecrawlBaseURL, Key: o.FirecrawlAPIKey}
	if o.SerperAPIKey != "" {
		ro.Serper = scrape.Service{Base: o.SerperScrapeURL, Key: o.SerperAPIKey}
	}
	s.chain, err = scrape.New(ro)
	return err
}

// setProviders makes the search engines, in their order.
func (s *server) setProviders(o Options, client *egress.Client) error {
	all := map[string]provider.Options{
		provider.SearXNG:       {Base: o.SearXNGURL},
		provider.Brave:         {Base: o.BraveBaseURL, Key: o.BraveAPIKey},
		provider.Tavily:        {Base: o.TavilyBaseURL, Key: o.TavilyAPIKey},
		provider.Serper:        {Base: o.SerperBaseURL, Key: o.SerperAPIKey},
		provider.OpenWebSearch: {Base: o.OpenWebSearchURL, Engines: o.OpenWebSearchNames},
		provider.DuckDuckGo:    {Base: o.DuckDuckGoBaseURL, Region: o.DuckDuckGoRegion},
	}
	named := make([]string, 0, len(o.Providers))
	for _, n := range o.Providers {
		n = strings.ToLower(strings.TrimSpace(n))
		n = cmp.Or(map[string]string{"ddgs": provider.DuckDuckGo, "open_websearch": provider.OpenWebSearch}[n], n)
		if _, ok := all[n]; !ok || slices.Contains(named, n) {
			return fmt.Errorf("option providers: %q is none of these, or stands there twice: %s", egress.Plain(n, 40), strings.Join(provider.Names(), ", "))
		}
		named = append(named, n)
	}
	order := named
	for _, n := range provider.Names() {
		if !slices.Contains(order, n) {
			order = append(slices.Clip(order), n)
		}
	}
	for _, n := range order {
		po := all[n]
		po.Client, po.Name = client, n
		one := slot{name: n, asked: len(named) == 0 || slices.Contains(named, n)}
		needs := provider.Needs(n)
		switch {
		case needs == "a key" && po.Key == "", needs == "a base URL" && po.Base == "":
			one.missing = settings[n]
			if slices.Contains(named, n) {
				return fmt.Errorf("option providers: %s is not set up: %s", n, one.missing)
			}
		default:
			p, err := provider.New(po)
			if err != nil {
				return fmt.Errorf("option %s: %w", baseOptions[n], err)
			}
			one.provider = p
		}
		s.providers = append(s.providers, one)
	}
	s.search = newSearcher(s.providers, o.NoFallback, s.timeout, s.chain.Policy())
	return nil
}

// settings say what sets a provider up.
var settings = map[string]string{
	provider.SearXNG:       "set option searxng_url or $SEARXNG_URL",
	provider.Brave:         "set option brave_api_key or $BRAVE_API_KEY",
	provider.Tavily:        "set option tavily_api_key or $TAVILY_API_KEY",
	provider.Serper:        "set option serper_api_key or $SERPER_API_KEY",
	provider.OpenWebSearch: "set option open_websearch_url or $OPEN_WEBSEARCH_URL",
}

var baseOptions = map[string]string{
	provider.SearXNG: "searxng_url", provider.Brave: "brave_base_url", provider.Tavily: "tavily_base_url", provider.Serper: "serper_base_url",
	provider.OpenWebSearch: "open_websearch_url", provider.DuckDuckGo: "duckduckgo_base_url",
}

// setRules makes what queries are held to.
func (s *server) setRules(o Rules) error {
	fo := limits.FilterOptions{Keywords: o.Keywords, Patterns: o.Sensitive}
	var err error
	if fo.KeywordsAction, err = limits.ParseAction(o.KeywordsAction); err != nil {
		return fmt.Errorf("option keywords_action: %w", err)
	}
	if fo.PatternsAction, err = limits.ParseAction(o.SensitiveAction); err != nil {
		return fmt.Errorf("option sensitive_action: %w", err)
	}
	if len(fo.Keywords) == 1 && fo.Keywords[0] == "-" {
		fo.Keywords = []string{}
	}
	if s.search.filter, err = limits.NewFilter(fo); err != nil {
		return fmt.Errorf("option keywords or sensitive: %w", err)
	}
	switch {
	case o.RateCalls < -1 || o.RateCalls > 10_000:
		return errors.New("option rate_calls: must be 1 to 10000, or -1 for no bound")
	case o.RateWindowSec != 0 && !(o.RateWindowSec >= 1 && o.RateWindowSec <= 86_400):
		return errors.New("option rate_window_sec: must be 1 to 86400 seconds")
	}
	s.search.window = &limits.Window{
		Calls: cmp.Or(o.RateCalls, 20), Every: time.Duration(cmp.Or(o.RateWindowSec, 60) * float64(time.Second)), File: o.RateFile,
	}
	switch o.RateFile {
	case "-":
		s.search.window.File = ""
	case "":
		if dir, err := os.UserCacheDir(); err == nil { // else each process counts alone
			s.search.window.File = filepath.Join(dir, "tenon", "websearch-rate.json")
		}
	}
	return nil
}

// Most characters of the answers.
const (
	searchChars    = 12_000
	fetchChars     = 24_000
	providersChars = 4000
)

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	m := func(alike bool, effect tool.SideEffect, risk tool.RiskLevel, chars int, hint string) tool.Meta {
		return tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: alike, Idempotent: true,
			SideEffect: effect, RiskLevel: risk, MaxResultChars: chars, SearchHint: hint,
			Labels: []tool.Label{tool.LabelEgress, tool.LabelUntrusted},
		}
	}
	return map[string]tool.Meta{
		"web_search":            m(false, tool.EffectNetwork, tool.RiskMedium, searchChars, "web search internet online look up engine results links 联网 搜索 网页 查询"),
		"fetch_page":            m(true, tool.EffectNetwork, tool.RiskMedium, fetchChars, "fetch read web page url content markdown pdf 读取 网页 抓取 内容"),
		"list_search_providers": m(true, tool.EffectNetwork, tool.RiskLow, providersChars, "list search providers engines status keys set failing 搜索引擎 状态 列表"),
	}
}
