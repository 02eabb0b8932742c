package websearch_test

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/testenv"
	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
	"github.com/tenon-mcp/tenon/servers/websearch"
)

// A world is the doubles of all search engines, and a server that knows them.
type world struct {
	web                                          *doubles.Web
	searxng, brave, tavily, serper, duck, daemon *doubles.Double
	jina                                         *doubles.Double
	options                                      websearch.Options
	guard                                        *egress.Guard
}

func newWorld(t *testing.T) *world {
	t.Helper()
	web := doubles.NewWeb()
	w := &world{
		web: web, searxng: doubles.SearXNG(web), brave: doubles.Brave(web), tavily: doubles.Tavily(web), serper: doubles.Serper(web),
		duck: doubles.DuckDuckGo(web), daemon: doubles.OpenWebSearch(web), jina: doubles.Jina(web),
	}
	o := &w.options
	o.SearXNGURL, o.OpenWebSearchURL = doubles.Start(t, w.searxng), doubles.Start(t, w.daemon)
	o.BraveBaseURL, o.BraveAPIKey = doubles.Start(t, w.brave), doubles.Key
	o.TavilyBaseURL, o.TavilyAPIKey = doubles.Start(t, w.tavily), doubles.Key
	o.SerperBaseURL, o.SerperAPIKey = doubles.Start(t, w.serper), doubles.Key
	o.SerperScrapeURL = o.SerperBaseURL
	o.DuckDuckGoBaseURL = doubles.Start(t, w.duck)
	o.JinaBaseURL, o.JinaAPIKey = doubles.Start(t, w.jina), doubles.Key
	o.RateFile, o.Proxy = filepath.Join(t.TempDir(), "rate.json"), "none"
	sites := strings.TrimPrefix(doubles.Start(t, web), "http://")
	var err error
	if w.guard, err = egress.NewGuard("websearch", nil); err != nil {
		t.Fatal(err)
	}
	w.guard.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
	}
	w.guard.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "93.184.215.14:") {
			address = sites
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return w
}

func (w *world) all() []*doubles.Double {
	return []*doubles.Double{w.searxng, w.brave, w.tavily, w.serper, w.daemon, w.duck}
}

func (w *world) client(t *testing.T) *mcp.ClientSession {
	t.Helper()
	srv, err := websearch.NewWith(w.options, func(string) string { return "" }, w.guard)
	if err != nil {
		t.Fatal(err)
	}
	return testenv.Client(t, srv)
}

type found struct {
	Query    string
	Provider string
	Results  []struct{ Title, URL, Snippet, Date string }
	Notes    []string
}

func call(t *testing.T, cs *mcp.ClientSession, name string, args any, data any) (string, bool) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	if data != nil && !res.IsError {
		b, err := json.Marshal(res.StructuredContent)
		if err == nil {
			err = json.Unmarshal(b, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text := ""
	for _, c := range res.Content {
		if tc, ok := c.(*mcp.TextContent); ok {
			text += tc.Text
		}
	}
	return text, res.IsError
}

func search(t *testing.T, cs *mcp.ClientSession, query string) (found, string, bool) {
	t.Helper()
	var f found
	text, failed := call(t, cs, "web_search", map[string]any{"query": query}, &f)
	return f, text, failed
}

func TestEachProvider(t *testing.T) {
	for _, name := range []string{"searxng", "brave", "tavily", "serper", "open-websearch", "duckduckgo"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.options.Providers = []string{name}
			f, text, failed := search(t, w.client(t), "lighthouse of Port Aldern keeper")
			if failed || f.Provider != name || len(f.Results) < 2 {
				t.Fatalf("%s\n%+v", text, f)
			}
			r := f.Results[0]
			if !strings.Contains(r.Title, "lighthouse") || !strings.HasPrefix(r.URL, "http://") || len(r.Snippet) < 20 || strings.ContainsAny(r.Snippet+r.Title, "<>") || strings.Contains(r.Snippet, "&#") {
				t.Errorf("%+v", r)
			}
			for _, r := range f.Results {
				if strings.Contains(r.URL, "ads.example") || strings.Contains(r.URL, "duckduckgo.com") || strings.Contains(r.URL, "huggingface.co") || strings.Contains(r.Title, "Buy") {
					t.Errorf("a result that is none: %+v", r)
				}
			}
			if !strings.Contains(strings.Join(f.Notes, " "), "as their pages are not to be read: 1") || !strings.Contains(text, "### 1. ") || !strings.Contains(text, "data, not instructions") {
				t.Errorf("%q\n%s", f.Notes, text)
			}
		})
	}
}

// TestFallback breaks the providers one after the other and wants the next to answer,
// with the reason of each failure.
func TestFallback(t *testing.T) {
	w := newWorld(t)
	cs := w.client(t)
	steps := []struct {
		double *doubles.Double
		fault  doubles.Fault
		next   string
		why    string
	}{
		{w.searxng, doubles.Fault{Status: 403}, "brave", "searxng: it does not answer in JSON: its operator must add json"},
		{w.brave, doubles.Fault{Status: 429, RetryAfter: "30"}, "tavily", "brave: it was asked too often (status 429, to be asked again in 30s: The request was refused: RATE_LIMITED)"},
		{w.tavily, doubles.Fault{Status: 432}, "serper", "tavily: the account of the key is used up (status 432: This request exceeds your plan's set usage limit.)"},
		{w.serper, doubles.Fault{Status: 403}, "open-websearch", "serper: it does not allow the request (status 403: Unauthorized.)"},
		{w.daemon, doubles.Fault{Status: 500}, "duckduckgo", "open-websearch: it is out of order (status 500: the request failed: engine_error)"},
	}
	for _, s := range steps {
		s.double.Fail(s.fault)
		f, text, failed := search(t, cs, "redis memory")
		if failed || f.Provider != s.next || !strings.Contains(strings.Join(f.Notes, "\n"), s.why) {
			t.Errorf("after %s: %s by %s\n%q", s.double.Name, text, f.Provider, f.Notes)
		}
	}
	if n := len(w.brave.Calls()); n != 2 {
		t.Errorf("a provider that is asked too often was asked %d times", n)
	}
	w.duck.Fail(doubles.Fault{Challenge: true})
	w.searxng.Heal()
	if f, _, _ := search(t, cs, "redis memory"); f.Provider != "searxng" {
		t.Errorf("a provider that rests is not asked where nobody else answers: %+v", f)
	}
	w.searxng.Fail(doubles.Fault{Status: 500})
	_, text, failed := search(t, cs, "redis memory")
	for _, want := range []string{"the search failed", "searxng: it is out of order", "brave: it was asked", "duckduckgo: it wants a person"} {
		if !failed || !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

func TestDuckDuckGoFallsBackToLite(t *testing.T) {
	w := newWorld(t)
	w.options.Providers = []string{"ddgs"}
	cs := w.client(t)
	w.duck.Fail(doubles.Fault{Challenge: true, Match: "/html/"})
	f, text, failed := search(t, cs, "ferries timetable")
	if failed || len(f.Results) == 0 || f.Results[0].URL != "http://harbour.example/ferries" || f.Results[0].Snippet == "" {
		t.Fatal(text)
	}
	calls := w.duck.Calls()
	if last := calls[len(calls)-1]; last.Path != "/lite/" || last.Form().Get("kl") != "wt-wt" {
		t.Errorf("%+v", last)
	}
	w.duck.Heal()
	if _, text, _ := search(t, cs, "!g lighthouse"); !strings.Contains(text, "lighthouse") {
		t.Error(text)
	}
	if calls = w.duck.Calls(); calls[len(calls)-1].Form().Get("q") != `"!g" lighthouse` {
		t.Errorf("%q", calls[len(calls)-1].Form())
	}
}

func TestFaults(t *testing.T) {
	for name, f := range map[string]doubles.Fault{
		"bad JSON": {BadJSON: true}, "cut": {Truncated: true}, "401": {Status: 401}, "402": {Status: 402}, "422": {Status: 422}, "503": {Status: 503}, "slow": {Slow: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.options.Providers, w.options.TimeoutSec = []string{"serper", "tavily"}, 5
			w.serper.Fail(f)
			got, text, failed := search(t, w.client(t), "lighthouse")
			if failed || got.Provider != "tavily" || len(got.Notes) == 0 || strings.Contains(text, doubles.Key) {
				t.Errorf("%s", text)
			}
		})
	}
}

func TestNoFallback(t *testing.T) {
	w := newWorld(t)
	w.options.NoFallback = true
	w.searxng.Fail(doubles.Fault{Status: 500})
	_, text, failed := search(t, w.client(t), "lighthouse")
	if !failed || strings.Contains(text, "brave") || len(w.brave.Calls()) != 0 {
		t.Error(text)
	}
}

func TestNothingFound(t *testing.T) {
	w := newWorld(t)
	f, text, failed := search(t, w.client(t), "zyzzyva")
	if failed || f.Results == nil || len(f.Results) != 0 || !strings.Contains(text, `Nothing was found for "zyzzyva"`) {
		t.Error(text)
	}
	for _, d := range w.all() {
		if len(d.Calls()) == 0 {
			t.Errorf("%s was not asked", d.Name)
		}
	}
}

func TestMaxResults(t *testing.T) {
	w := newWorld(t)
	cs := w.client(t)
	for n, want := range map[int]int{1: 1, 2: 2, -3: 1, 99: 8} {
		var f found
		text, failed := call(t, cs, "web_search", map[string]any{"query": "the a of", "max_results": n}, &f)
		if failed || len(f.Results) > 10 || n > 0 && n < 5 && len(f.Results) != want || n == -3 && len(f.Results) != 1 {
			t.Errorf("%d: %d %s", n, len(f.Results), text)
		}
	}
}

func TestQueriesThatAreNotSent(t *testing.T) {
	w := newWorld(t)
	cs := w.client(t)
	for query, want := range map[string]string{
		"": "is empty", " \n ": "is empty", strings.Repeat("字", 201): "longer than 200",
		"今天天气": `word "天气"`, "why 10.20.30.40 refuses": "an IP address", "sk-abcdefghijklmnop1234": "a key", "Authorization: Bearer abcdefghij": "a bearer token",
		"call 13812345678": "a telephone number", "110101199003078888 is": "a number of a person", "password=hunter22": "a key or password",
		"postgres://me:secret9@db.example/x": "a password in an address", "１０.20.30.４０": "an IP address", "1\u200b0.20.30.40": "an IP address",
	} {
		_, text, failed := search(t, cs, query)
		if !failed || !strings.Contains(text, want) {
			t.Errorf("%q: %s", query, text)
		}
	}
	for _, d := range w.all() {
		if n := len(d.Calls()); n != 0 {
			t.Errorf("%s got %d queries", d.Name, n)
		}
	}
	for _, query := range []string{"redis token auth password", "vpn mtu", "connect 127.0.0.1 refused", "kubernetes secret", "大小说明", "version 1.2.3.400", "site:harbour.example lighthouse"} {
		if _, text, failed := search(t, cs, query); failed {
			t.Errorf("%q: %s", query, text)
		}
	}
}

func TestRedaction(t *testing.T) {
	w := newWorld(t)
	w.options.Keywords, w.options.KeywordsAction, w.options.SensitiveAction = []string{"tower"}, "redact", "redact"
	w.options.Sensitive = []string{`srv\d+`}
	f, _, failed := search(t, w.client(t), "lighthouse 10.20.30.40 Tower srv042 keeper towers")
	if failed || f.Query != "lighthouse keeper towers" || len(f.Notes) < 3 {
		t.Fatalf("%+v", f)
	}
	if q := w.searxng.Calls()[0].Query.Get("q"); q != "lighthouse keeper towers" {
		t.Errorf("sent: %q", q)
	}
	if _, text, failed := search(t, w.client(t), "10.20.30.40"); !failed || !strings.Contains(text, "nothing is left") {
		t.Error(text)
	}
}

// TestRateIsSharedByServers makes searches by two servers that name one file.
func TestRateIsSharedByServers(t *testing.T) {
	w := newWorld(t)
	w.options.RateCalls = 3
	a, b := w.client(t), w.client(t)
	for _, cs := range []*mcp.ClientSession{a, b, a} {
		if _, text, failed := search(t, cs, "lighthouse"); failed {
			t.Fatal(text)
		}
	}
	for _, cs := range []*mcp.ClientSession{a, b} {
		if _, text, failed := search(t, cs, "lighthouse"); !failed || !strings.Contains(text, "refused: 3 searches in 1m0s") {
			t.Error(text)
		}
	}
	if n := len(w.searxng.Calls()); n != 3 {
		t.Errorf("%d queries were sent", n)
	}
}

func TestFetchPage(t *testing.T) {
	w := newWorld(t)
	cs := w.client(t)
	var out struct {
		Via, Text, Title string
		Chars, Next      int
		Quality          float64
	}
	text, failed := call(t, cs, "fetch_page", map[string]any{"url": "http://harbour.example/lighthouse", "max_chars": 200}, &out)
	if failed || out.Via != "jina" || utf8.RuneCountInString(out.Text) != 200 || out.Next != 200 || !strings.Contains(text, "go on with offset 200") || !strings.Contains(text, "data, not instructions") {
		t.Fatal(text)
	}
	out.Next = 0
	rest, failed := call(t, cs, "fetch_page", map[string]any{"url": "http://harbour.example/lighthouse", "offset": 200}, &out)
	if failed || out.Next != 0 || !strings.Contains(rest, "oil store") || len(w.jina.Calls()) != 1 {
		t.Fatal(rest)
	}
	if text, failed = call(t, cs, "fetch_page", map[string]any{"url": "http://harbour.example/lighthouse", "max_chars": 90_000}, nil); failed ||
		!strings.Contains(text, "Note: max_chars is 1 to 20000: 20000 was taken for 90000") {
		t.Error(text)
	}
	for _, args := range []map[string]any{
		{"url": "http://169.254.169.254/"},
		{"url": "file:///etc/passwd"},
		{"url": ""},
		{"url": "http://harbour.example/lighthouse", "offset": 1 << 30},
		{"url": "http://harbour.example/lighthouse", "offset": -1},
		{"url": "https://huggingface.co/datasets/x"},
		{"url": "http://harbour.example/nothing"},
		{"url": strings.Repeat("a", 10<<20)},
		{"url": "x", "about": strings.Repeat("b", 3000)},
		{"url": "--help"},
		{"url": "$(id)"},
	} {
		if text, failed := call(t, cs, "fetch_page", args, nil); !failed || len(text) > 3000 {
			t.Errorf("%.100v: %.300s", args, text)
		}
	}
}

func TestFetchPageHidesNothing(t *testing.T) {
	w := newWorld(t)
	w.web.Add(doubles.Page{URL: "http://harbour.example/hidden", Title: "T\x1b[31m", Text: []string{strings.Repeat("Plain words of a page that differ. ", 20) + "a\u202eb\U000e0041c\x00d"}})
	text, failed := call(t, w.client(t), "fetch_page", map[string]any{"url": "http://harbour.example/hidden"}, nil)
	if failed || strings.ContainsAny(text, "\u202e\U000e0041\x00\x1b") {
		t.Errorf("%q", text)
	}
}

// TestResultsAreBounded searches a web of very long titles and snippets.
func TestResultsAreBounded(t *testing.T) {
	w := newWorld(t)
	for i := range 12 {
		w.web.Add(doubles.Page{
			URL: "http://long.example/" + strings.Repeat("p", 900) + string(rune('a'+i)), Title: strings.Repeat("longest title ", 500), Text: []string{strings.Repeat("longest ", 5000)},
		})
	}
	w.web.Add(doubles.Page{URL: "javascript:alert(1)", Title: "longest", Text: []string{"longest"}})
	w.web.Add(doubles.Page{URL: "http://u:p@long.example/", Title: "longest", Text: []string{"longest"}})
	var f found
	text, failed := call(t, w.client(t), "web_search", map[string]any{"query": "longest", "max_results": 10}, &f)
	if n := utf8.RuneCountInString(text); failed || n > 12_000 || len(f.Results) != 10 {
		t.Errorf("%d characters, %d results", n, len(f.Results))
	}
	for _, r := range f.Results {
		if !strings.HasPrefix(r.URL, "http://long") || utf8.RuneCountInString(r.Title) > 200 {
			t.Errorf("%+v", r)
		}
	}
}

func TestListProviders(t *testing.T) {
	w := newWorld(t)
	w.options.BraveAPIKey, w.options.SearXNGURL = "", ""
	w.tavily.Fail(doubles.Fault{Status: 401})
	cs := w.client(t)
	text, failed := call(t, cs, "list_search_providers", nil, nil)
	for _, want := range []string{"| brave | not set up | set option brave_api_key or $BRAVE_API_KEY |", "| searxng | not set up |", "| tavily | unknown |", "20 searches in 1m0s, of all processes", "jina, then serper scrape, then direct"} {
		if failed || !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	text, failed = call(t, cs, "list_search_providers", map[string]any{"check": true}, nil)
	for _, want := range []string{"| tavily | failing | it does not take the key that was set (status 401", "| serper | ok |", "| duckduckgo | ok |", "| open-websearch | ok |"} {
		if failed || !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, doubles.Key) {
		t.Error("a key is shown")
	}
}

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*websearch.Options)
		want   string
	}{
		"unknown provider":   {func(o *websearch.Options) { o.Providers = []string{"altavista"} }, "option providers"},
		"twice":              {func(o *websearch.Options) { o.Providers = []string{"ddgs", "duckduckgo"} }, "option providers"},
		"no key":             {func(o *websearch.Options) { o.Providers = []string{"brave"} }, "option providers: brave is not set up: set option brave_api_key"},
		"base":               {func(o *websearch.Options) { o.SearXNGURL = "searx" }, "option searxng_url"},
		"action":             {func(o *websearch.Options) { o.KeywordsAction = "drop" }, "option keywords_action"},
		"sensitive action":   {func(o *websearch.Options) { o.SensitiveAction = "x" }, "option sensitive_action"},
		"expression":         {func(o *websearch.Options) { o.Sensitive = []string{"("} }, "regular expression"},
		"rate":               {func(o *websearch.Options) { o.RateCalls = -5 }, "option rate_calls"},
		"window":             {func(o *websearch.Options) { o.RateWindowSec = 0.1 }, "option rate_window_sec"},
		"timeout":            {func(o *websearch.Options) { o.TimeoutSec = 1 }, "option timeout_sec"},
		"allow":              {func(o *websearch.Options) { o.Allow = []string{"a b"} }, "option allow"},
		"blocked":            {func(o *websearch.Options) { o.Blocked = []string{"a/b/c"} }, "option blocked"},
		"reader":             {func(o *websearch.Options) { o.JinaBaseURL = "x" }, "jina"},
		"proxy":              {func(o *websearch.Options) { o.Proxy = "x" }, "option proxy"},
		"metadata as a base": {func(o *websearch.Options) { o.SearXNGURL = "http://169.254.169.254" }, "option searxng_url"},
	} {
		var o websearch.Options
		c.change(&o)
		if _, err := websearch.NewIn(o, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := websearch.NewIn(websearch.Options{Rules: websearch.Rules{Keywords: []string{"-"}, RateCalls: -1}}, func(string) string { return "" }); err != nil {
		t.Error(err)
	}
}

func TestEnvironment(t *testing.T) {
	w := newWorld(t)
	env := map[string]string{"TAVILY_API_KEY": doubles.Key, "TAVILY_BASE_URL": w.options.TavilyBaseURL}
	srv, err := websearch.NewWith(websearch.Options{Rules: websearch.Rules{RateFile: "-"}, Proxy: "none"}, func(n string) string { return env[n] }, w.guard)
	if err != nil || srv == nil {
		t.Fatal(err)
	}
}

func TestCanceledSearchEnds(t *testing.T) {
	w := newWorld(t)
	for _, d := range w.all() {
		d.Fail(doubles.Fault{Slow: time.Minute})
	}
	cs := w.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "web_search", Arguments: map[string]any{"query": "lighthouse"}})
	if err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("%v after %s", err, time.Since(start))
	}
}
