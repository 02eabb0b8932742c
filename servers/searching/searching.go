// Package searching is the bundled server "searching": looking things up on the web,
// in Wikipedia and in the archive of web pages, and reading what was found.
//
//	srv, err := searching.New(searching.Options{Search: searching.Search{SerperAPIKey: key}})
//
// Wikipedia, the archive and plain pages need no key. A search of Google goes by
// Serper and wants one; searches of Tavily and Sogou are listed only where theirs are
// set. Keys and base URLs come from the options, else from the environment.
//
// Each call has one deadline for all that it does, repeats included. What comes back
// was written by strangers: it is cut to a bound, freed of characters that cannot be
// seen, and never more than data.
package searching

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/scrape"
	"github.com/tenon-mcp/tenon/internal/scrape/extract"
	"github.com/tenon-mcp/tenon/servers/searching/wayback"
	"github.com/tenon-mcp/tenon/servers/searching/wiki"
	"github.com/tenon-mcp/tenon/servers/searching/wsa"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value takes them from the
// environment.
type Options struct {
	Allow   []string `json:"allow,omitempty" jsonschema:"internal hosts that scrape_website may read besides public ones: networks, addresses or names, with or without a port, such as 10.20.0.0/16, db.internal:5432 or *.corp.example"`
	Blocked []string `json:"blocked,omitempty" jsonschema:"addresses that are neither read nor shown in results, each as HOST or HOST/FIRST-SEGMENT; default: data sets and spaces of Hugging Face, and unifuncs.com; a single - blocks nothing"`
	Search
	Readers
	Sources
	Summary
	Proxy      string  `json:"proxy,omitempty" jsonschema:"proxy for all requests, such as http://proxy.example:3128; none is for none; default: that of the environment"`
	CAFile     string  `json:"ca_file,omitempty" jsonschema:"file of PEM certificates to trust besides the system's"`
	TimeoutSec float64 `json:"timeout_sec,omitempty" jsonschema:"seconds for one call of a tool with all its repeats, 5 to 600; default: 120"`
}

// Search are the settings of the searches.
type Search struct {
	SerperAPIKey         string `json:"serper_api_key,omitempty" jsonschema:"key of Serper, for google_search; better in the environment of the server as SERPER_API_KEY"`
	SerperBaseURL        string `json:"serper_base_url,omitempty" jsonschema:"base URL of Serper; default: $SERPER_BASE_URL, else https://google.serper.dev"`
	RemoveSnippets       bool   `json:"remove_snippets,omitempty" jsonschema:"leave snippets out of the results of google_search; also $REMOVE_SNIPPETS"`
	RemoveKnowledgeGraph bool   `json:"remove_knowledge_graph,omitempty" jsonschema:"leave the knowledge graph out; also $REMOVE_KNOWLEDGE_GRAPH"`
	RemoveAnswerBox      bool   `json:"remove_answer_box,omitempty" jsonschema:"leave the answer box out; also $REMOVE_ANSWER_BOX"`
	TavilyAPIKey         string `json:"tavily_api_key,omitempty" jsonschema:"key of Tavily, with which tavily_search is offered; better in the environment of the server as TAVILY_API_KEY"`
	TavilyBaseURL        string `json:"tavily_base_url,omitempty" jsonschema:"base URL of Tavily; default: $TAVILY_BASE_URL, else https://api.tavily.com"`
	TencentSecretID      string `json:"tencentcloud_secret_id,omitempty" jsonschema:"id of a key of Tencent Cloud, with which sogou_search is offered; default: $TENCENTCLOUD_SECRET_ID"`
	TencentSecretKey     string `json:"tencentcloud_secret_key,omitempty" jsonschema:"the key to that id; better in the environment of the server as TENCENTCLOUD_SECRET_KEY"`
	TencentBaseURL       string `json:"tencentcloud_base_url,omitempty" jsonschema:"base URL of Tencent's Web Search API; default: $TENCENTCLOUD_BASE_URL, else https://wsa.tencentcloudapi.com"`
}

// Readers are the settings of the services that read pages.
type Readers struct {
	JinaAPIKey       string `json:"jina_api_key,omitempty" jsonschema:"key of the Jina reader, which scrape_website asks first; better in the environment of the server as JINA_API_KEY"`
	JinaBaseURL      string `json:"jina_base_url,omitempty" jsonschema:"base URL of a Jina reader, which needs no key where it is your own; default: $JINA_BASE_URL, else https://r.jina.ai"`
	SerperScrapeURL  string `json:"serper_scrape_base_url,omitempty" jsonschema:"base URL of Serper's scraper, used with serper_api_key; default: $SERPER_SCRAPE_BASE_URL, else https://scrape.serper.dev"`
	FirecrawlAPIKey  string `json:"firecrawl_api_key,omitempty" jsonschema:"key of Firecrawl; better in the environment of the server as FIRECRAWL_API_KEY"`
	FirecrawlBaseURL string `json:"firecrawl_base_url,omitempty" jsonschema:"base URL of Firecrawl; default: $FIRECRAWL_BASE_URL, else https://api.firecrawl.dev"`
	Browser          string `json:"browser,omitempty" jsonschema:"path of a Chromium or Chrome, which reads pages that the other ways cannot; auto wants the one in PATH, - is none; default: the one in PATH, unless this runs as root or goes by a proxy"`
	BrowserNoSandbox bool   `json:"browser_no_sandbox,omitempty" jsonschema:"run the browser without its own sandbox, which does not work for root; a page that breaks out of it can then do what this server can"`
}

// Summary are the settings of the model that scrape_and_extract_info asks.
type Summary struct {
	SummaryBaseURL string `json:"summary_llm_base_url,omitempty" jsonschema:"base URL of an endpoint of models as OpenAI has it, with which scrape_and_extract_info is offered, such as http://127.0.0.1:8080/v1; default: $SUMMARY_LLM_BASE_URL"`
	SummaryModel   string `json:"summary_llm_model_name,omitempty" jsonschema:"model to ask there; default: $SUMMARY_LLM_MODEL_NAME"`
	SummaryKey     string `json:"summary_llm_api_key,omitempty" jsonschema:"key of the endpoint, where it wants one; better in the environment of the server as SUMMARY_LLM_API_KEY"`
	SummaryTokens  int    `json:"summary_llm_max_tokens,omitempty" jsonschema:"tokens that one call may cost, questions and answers together; default: 600000"`
}

// Sources are where Wikipedia and the archive are.
type Sources struct {
	WikipediaBaseURL string `json:"wikipedia_base_url,omitempty" jsonschema:"address of the API of Wikipedia, where {language} stands for the code of an edition; default: $WIKIPEDIA_BASE_URL, else https://{language}.wikipedia.org/w/api.php"`
	ArchiveBaseURL   string `json:"archive_base_url,omitempty" jsonschema:"base URL of the Internet Archive; default: $ARCHIVE_BASE_URL, else https://archive.org"`
	WaybackBaseURL   string `json:"wayback_base_url,omitempty" jsonschema:"base URL of the Wayback Machine with its index and its copies; default: $WAYBACK_BASE_URL, else https://web.archive.org"`
}

// defaultTimeout bounds one call.
const defaultTimeout = 120 * time.Second

// A pace is how long is waited before a request is made again, and what time it is.
type pace struct {
	search, archive, wiki, pages []time.Duration
	model                        []time.Duration // nil: that of the package model
	now                          func() time.Time
}

func usual() pace {
	return pace{egress.Seconds(2, 4, 8, 16), egress.Seconds(2, 4, 8, 16), egress.Seconds(1, 2), egress.Seconds(4, 16), nil, time.Now}
}

type server struct {
	o       Options // completed from the environment
	timeout time.Duration
	pace    pace
	sieve   *sieve
	chain   *scrape.Chain
	extract *extract.Extractor // nil: no model
	wiki    *wiki.Wiki
	archive *wayback.Machine
	serper  *egress.Client
	tavily  *egress.Client
	sogou   *wsa.Client // nil: no key
	getenv  func(string) string
}

// New returns the server. It fails where an option cannot be used, and names it.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New with the environment that the server is to have.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	s, err := build(o, getenv, usual())
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-searching", Title: "Searching", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	s.addGoogle(srv)
	s.addWikiPage(srv)
	s.addWikiRevisions(srv)
	s.addArchive(srv)
	s.addScrape(srv)
	if s.extract != nil {
		s.addExtract(srv)
	}
	if s.o.TavilyAPIKey != "" {
		s.addTavily(srv)
	}
	if s.sogou != nil {
		s.addSogou(srv)
	}
	return srv
}

// build makes the server without its tools.
func build(o Options, getenv func(string) string, p pace) (*server, error) {
	o.complete(getenv)
	s := &server{o: o, timeout: defaultTimeout, pace: p, getenv: getenv}
	if o.TimeoutSec != 0 {
		if !(o.TimeoutSec >= 5 && o.TimeoutSec <= 600) {
			return nil, errors.New("option timeout_sec: must be 5 to 600 seconds")
		}
		s.timeout = time.Duration(o.TimeoutSec * float64(time.Second))
	}
	if (o.TencentSecretID == "") != (o.TencentSecretKey == "") {
		return nil, errors.New("options tencentcloud_secret_id and tencentcloud_secret_key (TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY): one is set without the other")
	}
	guard, err := egress.NewGuard("searching", o.Allow)
	if err != nil {
		return nil, err
	}
	times := egress.Times{Header: s.timeout, Total: s.timeout} // readers take long to begin
	pages, err := egress.New(egress.Options{Server: "searching", Guard: guard, Proxy: o.Proxy, CAFile: o.CAFile, Times: times})
	if err != nil {
		return nil, err
	}
	m := maker{s, pages, guard}
	if err := m.reach(); err != nil {
		return nil, err
	}
	if err := m.read(); err != nil {
		return nil, err
	}
	return s, m.summarize()
}

// A maker makes the parts of a server.
type maker struct {
	*server
	pages *egress.Client // for the public web
	guard *egress.Guard
}

// reach makes the clients of the services.
func (s maker) reach() error {
	o := &s.o
	for _, base := range []struct {
		option string
		url    *string
		client **egress.Client
	}{
		{"serper_base_url", &o.SerperBaseURL, &s.serper},
		{"tavily_base_url", &o.TavilyBaseURL, &s.tavily},
	} {
		*base.url = strings.TrimRight(*base.url, "/")
		c, err := s.pages.Service(*base.url)
		if err != nil {
			return fmt.Errorf("option %s: %w", base.option, err)
		}
		*base.client = c
	}
	var err error
	if s.wiki, err = wiki.New(wiki.Options{Client: s.pages, Base: o.WikipediaBaseURL, Retry: egress.Retry{Waits: s.pace.wiki}}); err != nil {
		return fmt.Errorf("option wikipedia_base_url: %w", err)
	}
	s.archive, err = wayback.New(wayback.Options{Client: s.pages, Archive: o.ArchiveBaseURL, Wayback: o.WaybackBaseURL, Retry: egress.Retry{Waits: s.pace.archive}})
	if err != nil {
		return fmt.Errorf("option %w", err)
	}
	if o.TencentSecretKey == "" {
		return nil
	}
	s.sogou, err = wsa.New(wsa.Options{
		Client: s.pages, Base: o.TencentBaseURL, SecretID: o.TencentSecretID, SecretKey: o.TencentSecretKey, Retry: egress.Retry{Waits: s.pace.search[:2], Unsafe: true},
	})
	if err != nil {
		return fmt.Errorf("option tencentcloud_base_url: %w", err)
	}
	return nil
}

// complete takes from the environment what no option says.
func (o *Options) complete(getenv func(string) string) {
	for _, e := range []struct {
		value    *string
		variable string
		usual    string
	}{
		{&o.SerperAPIKey, "SERPER_API_KEY", ""},
		{&o.SerperBaseURL, "SERPER_BASE_URL", "https://google.serper.dev"},
		{&o.TavilyAPIKey, "TAVILY_API_KEY", ""},
		{&o.TavilyBaseURL, "TAVILY_BASE_URL", "https://api.tavily.com"},
		{&o.TencentSecretID, "TENCENTCLOUD_SECRET_ID", ""},
		{&o.TencentSecretKey, "TENCENTCLOUD_SECRET_KEY", ""},
		{&o.TencentBaseURL, "TENCENTCLOUD_BASE_URL", wsa.DefaultBase},
		{&o.JinaAPIKey, "JINA_API_KEY", ""},
		{&o.JinaBaseURL, "JINA_BASE_URL", ""},
		{&o.SerperScrapeURL, "SERPER_SCRAPE_BASE_URL", ""},
		{&o.FirecrawlAPIKey, "FIRECRAWL_API_KEY", ""},
		{&o.FirecrawlBaseURL, "FIRECRAWL_BASE_URL", ""},
		{&o.SummaryBaseURL, "SUMMARY_LLM_BASE_URL", ""},
		{&o.SummaryModel, "SUMMARY_LLM_MODEL_NAME", ""},
		{&o.SummaryKey, "SUMMARY_LLM_API_KEY", ""},
		{&o.WikipediaBaseURL, "WIKIPEDIA_BASE_URL", ""},
		{&o.ArchiveBaseURL, "ARCHIVE_BASE_URL", ""},
		{&o.WaybackBaseURL, "WAYBACK_BASE_URL", ""},
	} {
		*e.value = strings.TrimSpace(cmp.Or(*e.value, getenv(e.variable), e.usual))
	}
	for variable, value := range map[string]*bool{
		"REMOVE_SNIPPETS": &o.RemoveSnippets, "REMOVE_KNOWLEDGE_GRAPH": &o.RemoveKnowledgeGraph, "REMOVE_ANSWER_BOX": &o.RemoveAnswerBox,
	} {
		*value = *value || slices.Contains([]string{"true", "1", "yes"}, strings.ToLower(strings.TrimSpace(getenv(variable))))
	}
	if o.Blocked == nil {
		o.Blocked = append(scrape.DefaultBlocked(), "unifuncs.com")
	}
}

// secrets are what no answer holds.
func (o *Options) secrets() []string {
	return []string{o.SerperAPIKey, o.TavilyAPIKey, o.TencentSecretKey, o.JinaAPIKey, o.FirecrawlAPIKey, o.SummaryKey}
}

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	m := map[string]tool.Meta{}
	for _, e := range []struct {
		name     string
		risk     tool.RiskLevel
		maxChars int
		hint     string
	}{
		{"google_search", tool.RiskMedium, searchChars, "google web search internet results links serper news 谷歌 搜索 网页 联网"},
		{"tavily_search", tool.RiskMedium, searchChars, "tavily web search internet results news finance 网页 搜索"},
		{"sogou_search", tool.RiskMedium, searchChars, "sogou tencent chinese web search internet 搜狗 腾讯 中文 搜索"},
		{"wiki_get_page_content", tool.RiskLow, wikiChars, "wikipedia article encyclopedia summary page content sections 维基百科 百科 词条"},
		{"search_wiki_revision", tool.RiskLow, wikiChars, "wikipedia revision history old version month edit 维基百科 历史 版本 修订"},
		{"search_archived_webpage", tool.RiskLow, archiveChars, "wayback machine internet archive archived snapshot old web page 网页 存档 历史快照"},
		{"scrape_and_extract_info", tool.RiskMedium, scrapeChars, "extract information from a web page summarize with a model question url 网页 提取 信息 摘要"},
		{"scrape_website", tool.RiskMedium, scrapeChars, "scrape read fetch web page url content markdown pdf youtube 抓取 网页 内容 读取"},
	} {
		m[e.name] = tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNetwork, RiskLevel: e.risk, MaxResultChars: e.maxChars, SearchHint: e.hint,
			Labels: []tool.Label{tool.LabelEgress, tool.LabelUntrusted}, AsksModels: e.name == "scrape_and_extract_info",
		}
	}
	return m
}
