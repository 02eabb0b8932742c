package doubles_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

// request makes a request to a path, with headers as "Name: value" lines.
func request(t *testing.T, method, url, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	client := &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error(), resp.Header
	}
	return resp.StatusCode, string(b), resp.Header
}

const (
	asJSON = "Content-Type: application/json"
	asForm = "Content-Type: application/x-www-form-urlencoded"
	bearer = "Authorization: Bearer " + doubles.Key
)

// TestDoublesAreStrict makes requests that the services do not take, and wants the
// errors that they give.
func TestDoublesAreStrict(t *testing.T) {
	base := doubles.Start(t, doubles.Handler(doubles.NewWeb()))
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		holds                    string
	}{
		{"jina", "GET", "/jina/http://harbour.example/lighthouse", "", nil, 200, "URL Source: http://harbour.example/lighthouse\n\nPublished Time: 2024-05-02\n\nMarkdown Content:\n# The lighthouse"},
		{"jina JSON", "GET", "/jina/http://harbour.example/lighthouse", "", []string{"Accept: application/json", bearer}, 200, `"status":20000`},
		{"jina POST", "POST", "/jina/", `{"url":"http://harbour.example/lighthouse"}`, []string{asJSON}, 200, "212 steps"},
		{"jina bad key", "GET", "/jina/http://harbour.example/lighthouse", "", []string{"Authorization: Bearer x"}, 401, `"data":null`},
		{"jina bad engine", "GET", "/jina/http://harbour.example/lighthouse", "", []string{"X-Engine: steam"}, 400, "ParamValidationError"},
		{"jina no address", "GET", "/jina/", "", nil, 400, "40001"},
		{"jina unknown", "GET", "/jina/http://none.example/", "", nil, 422, `"status":42206`},
		{"serper no key", "POST", "/serper/search", `{"q":"x"}`, []string{asJSON}, 403, `{"message":"Unauthorized.","statusCode":403}`},
		{"serper no query", "POST", "/serper/search", `{}`, []string{asJSON, "X-API-KEY: " + doubles.Key}, 400, "Missing query"},
		{"serper no JSON", "POST", "/serper/search", `q=x`, []string{asForm, "X-API-KEY: " + doubles.Key}, 400, "Invalid JSON"},
		{"serper", "POST", "/serper/search", `{"q":"site:docs.example redis","num":1}`, []string{asJSON, "X-API-KEY: " + doubles.Key}, 200, `"link":"http://docs.example/redis`},
		{"serper GET", "GET", "/serper/search?q=x", "", []string{"X-API-KEY: " + doubles.Key}, 405, "Method"},
		{"serper scrape", "POST", "/serper/", `{"url":"http://harbour.example/lighthouse","includeMarkdown":true}`, []string{asJSON, "X-API-KEY: " + doubles.Key}, 200, `"markdown":"# The lighthouse`},
		{"firecrawl unknown field", "POST", "/firecrawl/v2/scrape", `{"url":"http://harbour.example/lighthouse","pageOptions":{}}`, []string{asJSON, bearer}, 400, "unrecognized_keys"},
		{"firecrawl no key", "POST", "/firecrawl/v2/scrape", `{}`, []string{asJSON}, 401, `"success":false`},
		{"searxng no format", "GET", "/searxng/search?q=x", "", nil, 403, "Forbidden"},
		{"searxng no query", "GET", "/searxng/search?format=json", "", nil, 400, ""},
		{"searxng", "POST", "/searxng/search", "q=lighthouse&format=json", []string{asForm}, 200, `"parsed_url"`},
		{"brave no key", "GET", "/brave/res/v1/web/search?q=x", "", nil, 422, "ErrorResponse"},
		{"brave wrong key", "GET", "/brave/res/v1/web/search?q=x", "", []string{"X-Subscription-Token: x"}, 401, "SUBSCRIPTION_TOKEN_INVALID"},
		{"brave count", "GET", "/brave/res/v1/web/search?q=x&count=21", "", []string{"X-Subscription-Token: " + doubles.Key}, 422, "VALIDATION"},
		{"brave words", "GET", "/brave/res/v1/web/search?q=" + strings.Repeat("a+", 51), "", []string{"X-Subscription-Token: " + doubles.Key}, 422, ""},
		{"tavily no key", "POST", "/tavily/search", `{"query":"x"}`, []string{asJSON}, 401, `{"detail":{"error":`},
		{"tavily depth", "POST", "/tavily/search", `{"query":"x","search_depth":"deep"}`, []string{asJSON, bearer}, 400, ""},
		{"tavily extract", "POST", "/tavily/extract", `{"urls":["http://harbour.example/lighthouse","http://none.example/"]}`, []string{asJSON, bearer}, 200, `"failed_results":[{"error"`},
		{"duckduckgo agent", "POST", "/duckduckgo/html/", "q=lighthouse", []string{asForm, "User-Agent: curl"}, 202, "challenge-form"},
		{"duckduckgo empty", "POST", "/duckduckgo/html/", "q=", []string{asForm}, 303, ""},
		{"duckduckgo page 2", "POST", "/duckduckgo/html/", "q=lighthouse&s=10&dc=11", []string{asForm, "User-Agent: Mozilla/5.0"}, 400, ""},
		{"open-websearch", "POST", "/open-websearch/search", `{"query":"lighthouse","engines":["bing","altavista"]}`, []string{asJSON}, 200, "unsupported_engine"},
		{"open-websearch limit", "POST", "/open-websearch/search", `{"query":"x","limit":51}`, []string{asJSON}, 400, "invalid_request"},
		{"open-websearch health", "GET", "/open-websearch/health", "", nil, 200, `"daemon":"running"`},
	} {
		status, body, _ := request(t, c.method, base+c.path, c.body, c.headers...)
		if status != c.status || !strings.Contains(body, c.holds) {
			t.Errorf("%s: %d %.300s", c.name, status, body)
		}
	}
}

func TestFaults(t *testing.T) {
	web := doubles.NewWeb()
	jina := doubles.Jina(web)
	page := doubles.Start(t, jina) + "/http://harbour.example/lighthouse"
	jina.Fail(doubles.Fault{Status: 429, RetryAfter: "3", Times: 2}, doubles.Fault{BadJSON: true, Times: 1}, doubles.Fault{Truncated: true, Times: 1}, doubles.Fault{Empty: true, Match: "ferries"})
	for range 2 {
		if status, body, h := request(t, "GET", page, ""); status != 429 || h.Get("Retry-After") != "3" || !strings.Contains(body, "RateLimitTriggeredError") {
			t.Errorf("%d %s", status, body)
		}
	}
	if _, body, _ := request(t, "GET", page, ""); json.Valid([]byte(body)) {
		t.Error(body)
	}
	if _, body, _ := request(t, "GET", page, ""); !strings.Contains(body, "unexpected EOF") {
		t.Error(body)
	}
	if status, body, _ := request(t, "GET", page, ""); status != 200 || !strings.Contains(body, "212 steps") {
		t.Errorf("%d %s", status, body)
	}
	if _, body, _ := request(t, "GET", strings.Replace(page, "lighthouse", "ferries", 1), ""); strings.Contains(body, "Kittiwake") {
		t.Error(body)
	}
	jina.Heal()
	if n := len(jina.Calls()); n != 6 {
		t.Errorf("%d calls", n)
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	base := doubles.Start(t, doubles.Handler(doubles.NewWeb()))
	search := func() int {
		status, _, _ := request(t, "GET", base+"/searxng/search?q=x&format=json", "")
		return status
	}
	if status, _, _ := request(t, "POST", base+"/faults/searxng", `{"status": 500}`); status != 200 || search() != 500 {
		t.Error("the fault was not taken")
	}
	if status, _, _ := request(t, "DELETE", base+"/faults/searxng", ""); status != 200 || search() != 200 {
		t.Error("the fault was not taken back")
	}
	for path, body := range map[string]string{"/faults/altavista": "{}", "/faults/jina": "no"} {
		if status, _, _ := request(t, "POST", base+path, body); status < 400 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestEveryDoubleKnowsStatuses wants an error of each status in the shape of the service.
func TestEveryDoubleKnowsStatuses(t *testing.T) {
	for _, d := range doubles.All(doubles.NewWeb()) {
		base := doubles.Start(t, d)
		for _, status := range []int{401, 402, 403, 422, 429, 500, 503} {
			d.Fail(doubles.Fault{Status: status, Times: 1})
			got, body, _ := request(t, "GET", base+"/", "")
			if got != status && got != 200 || body == "" { // some services tell of failures with 200
				t.Errorf("%s: %d, not %d: %s", d.Name, got, status, body)
			}
		}
	}
}

func TestWeb(t *testing.T) {
	web := doubles.NewWeb()
	first := web.Search("lighthouse keeper")
	for range 3 {
		again := web.Search("lighthouse keeper")
		if len(again) != len(first) || again[0].URL != first[0].URL {
			t.Error("the same search finds something else")
		}
	}
	if p, ok := web.Find("https://harbour.example/old-lighthouse/#x"); !ok || p.URL != "http://harbour.example/lighthouse" {
		t.Errorf("%+v", p)
	}
	if found := web.Search("site:blog.example the"); len(found) != 1 {
		t.Errorf("%d pages", len(found))
	}
}
