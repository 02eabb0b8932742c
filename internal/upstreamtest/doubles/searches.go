package doubles

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// SearXNG stands in for an instance of SearXNG with JSON enabled: GET or POST /search.
func SearXNG(web *Web) *Double {
	fail := func(w http.ResponseWriter, f Fault) { replyHTML(w, f.Status, "<h1>"+http.StatusText(f.Status)+"</h1>") }
	return newDouble("searxng", func(w http.ResponseWriter, c Call, f Fault) {
		if c.Path != "/search" && c.Path != "/" {
			fail(w, Fault{Status: 404})
			return
		}
		form := c.Form()
		q, format := form.Get("q"), form.Get("format")
		page, err := strconv.Atoi(defaulted(form.Get("pageno"), "1"))
		switch {
		case q == "" && format == "json":
			reply(w, 400, object{"error": "No query"})
			return
		case q == "":
			fail(w, Fault{Status: 400})
			return
		case format != "json":
			fail(w, Fault{Status: 403}) // csv, rss and html are not enabled
			return
		case err != nil || page < 1 || !slices.Contains([]string{"", "0", "1", "2"}, form.Get("safesearch")) || !slices.Contains([]string{"", "day", "week", "month", "year"}, form.Get("time_range")):
			fail(w, Fault{Status: 400})
			return
		}
		found := slice(web.Search(q), (page-1)*10, 10)
		unresponsive := [][]string{}
		if f.Empty {
			found, unresponsive = nil, append(unresponsive, []string{"google", "CAPTCHA"})
		}
		results := []object{}
		for i, p := range found {
			u, _ := url.Parse(p.URL)
			var published any
			if p.Date != "" {
				published = p.Date + "T00:00:00"
			}
			results = append(results, object{
				"url": p.URL, "title": p.Title, "content": p.Snippet(), "engine": "duckduckgo", "engines": []string{"duckduckgo", "startpage"}, "category": "general",
				"score": 1.0 / float64(i+1), "positions": []int{i + 1}, "parsed_url": []string{u.Scheme, u.Host, u.Path, "", u.RawQuery, ""}, "template": "default.html", "publishedDate": published,
			})
		}
		reply(w, 200, object{"query": q, "results": results, "answers": []any{}, "corrections": []any{}, "infoboxes": []any{}, "suggestions": []any{}, "unresponsive_engines": unresponsive})
	}, fail)
}

func defaulted(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Brave stands in for api.search.brave.com: GET /res/v1/web/search.
func Brave(web *Web) *Double {
	fail := func(w http.ResponseWriter, f Fault) {
		code := defaulted(f.Code, map[int]string{401: "SUBSCRIPTION_TOKEN_INVALID", 402: "USAGE_LIMIT_EXCEEDED", 422: "VALIDATION", 429: "RATE_LIMITED"}[f.Status])
		w.Header().Set("X-RateLimit-Remaining", "0, 0")
		reply(w, f.Status, object{"type": "ErrorResponse", "error": object{"id": "0", "status": f.Status, "code": code, "detail": "The request was refused: " + code, "meta": object{}}, "time": 1700000000})
	}
	return newDouble("brave", func(w http.ResponseWriter, c Call, f Fault) {
		q := c.Query.Get("q")
		count, err := strconv.Atoi(defaulted(c.Query.Get("count"), "20"))
		offset, err2 := strconv.Atoi(defaulted(c.Query.Get("offset"), "0"))
		switch {
		case c.Path != "/res/v1/web/search" || c.Method != http.MethodGet:
			fail(w, Fault{Status: 404, Code: "RESOURCE_NOT_FOUND"})
			return
		case c.Header.Get("X-Subscription-Token") == "":
			fail(w, Fault{Status: 422})
			return
		case c.Header.Get("X-Subscription-Token") != Key:
			fail(w, Fault{Status: 401})
			return
		case err != nil || err2 != nil || q == "" || len([]rune(q)) > 400 || len(strings.Fields(q)) > 50 || count < 1 || count > 20 || offset < 0 || offset > 9:
			fail(w, Fault{Status: 422})
			return
		}
		found := slice(web.Search(q), offset*count, count)
		if f.Empty {
			found = nil
		}
		answer := object{"type": "search", "query": object{"original": q, "show_strict_warning": false, "is_navigational": false, "spellcheck_off": true, "country": "us", "more_results_available": false}}
		results := []object{}
		for _, p := range found {
			u, _ := url.Parse(p.URL)
			results = append(results, object{
				"type": "search_result", "subtype": "generic", "title": p.Title, "url": p.URL, "description": "<strong>" + p.Title + "</strong> " + strings.ReplaceAll(p.Snippet(), "'", "&#x27;"),
				"page_age": p.Date + "T00:00:00", "language": "en", "family_friendly": true, "is_source_local": false, "is_source_both": false, "is_live": false,
				"meta_url": object{"scheme": u.Scheme, "netloc": u.Host, "hostname": u.Hostname(), "favicon": "", "path": u.Path},
			})
		}
		if len(results) > 0 {
			answer["web"] = object{"type": "search", "family_friendly": true, "results": results}
		}
		reply(w, 200, answer)
	}, fail)
}

// Tavily stands in for api.tavily.com: POST /search and /extract.
func Tavily(web *Web) *Double {
	fail := func(w http.ResponseWriter, f Fault) {
		message := map[int]string{401: "Unauthorized: missing or invalid API key.", 429: "Your request has been blocked due to excessive requests.", 432: "This request exceeds your plan's set usage limit."}[f.Status]
		reply(w, f.Status, object{"detail": object{"error": defaulted(message, http.StatusText(f.Status))}})
	}
	return newDouble("tavily", func(w http.ResponseWriter, c Call, f Fault) {
		var in struct {
			Query          string   `json:"query"`
			SearchDepth    string   `json:"search_depth"`
			Topic          string   `json:"topic"`
			TimeRange      string   `json:"time_range"`
			MaxResults     *int     `json:"max_results"`
			IncludeDomains []string `json:"include_domains"`
			ExcludeDomains []string `json:"exclude_domains"`
			URLs           []string `json:"urls"`
		}
		switch {
		case c.Bearer() != Key:
			fail(w, Fault{Status: 401})
			return
		case c.Method != http.MethodPost || !c.JSON(&in):
			fail(w, Fault{Status: 422})
			return
		case c.Path == "/extract":
			tavilyExtract(web, w, in.URLs, f)
			return
		case c.Path != "/search":
			fail(w, Fault{Status: 404})
			return
		}
		count := 5
		if in.MaxResults != nil {
			count = *in.MaxResults
		}
		if in.Query == "" || len(in.Query) > 400 || count < 0 || count > 20 || !slices.Contains([]string{"", "basic", "advanced", "fast", "ultra-fast"}, in.SearchDepth) ||
			!slices.Contains([]string{"", "general", "news", "finance"}, in.Topic) || !slices.Contains([]string{"", "day", "week", "month", "year"}, in.TimeRange) {
			fail(w, Fault{Status: 400})
			return
		}
		results := []object{}
		for i, p := range web.Search(in.Query) {
			u, _ := url.Parse(p.URL)
			if f.Empty || len(results) >= count || len(in.IncludeDomains) > 0 && !slices.Contains(in.IncludeDomains, u.Hostname()) || slices.Contains(in.ExcludeDomains, u.Hostname()) {
				continue
			}
			results = append(results, object{"title": p.Title, "url": p.URL, "content": p.Snippet(), "score": 1.0 / float64(i+1), "raw_content": nil})
		}
		reply(w, 200, object{"query": in.Query, "follow_up_questions": nil, "answer": nil, "images": []any{}, "results": results, "response_time": 0.5, "request_id": "00000000-0000-0000-0000-000000000000"})
	}, fail)
}

func tavilyExtract(web *Web, w http.ResponseWriter, urls []string, f Fault) {
	if len(urls) == 0 || len(urls) > 20 {
		reply(w, 400, object{"detail": object{"error": "Give 1 to 20 URLs."}})
		return
	}
	results, failed := []object{}, []object{}
	for _, address := range urls {
		if p, ok := web.Find(address); ok && !f.Empty {
			results = append(results, object{"url": address, "raw_content": p.Markdown(), "images": []any{}})
		} else {
			failed = append(failed, object{"url": address, "error": "No content could be extracted"})
		}
	}
	reply(w, 200, object{"results": results, "failed_results": failed, "response_time": 0.2, "request_id": "00000000-0000-0000-0000-000000000000"})
}

// OpenWebSearch stands in for the daemon of open-webSearch: POST /search, GET /health
// and /status.
func OpenWebSearch(web *Web) *Double {
	fail := func(w http.ResponseWriter, f Fault) {
		openError(w, f.Status, defaulted(f.Code, map[int]string{400: "invalid_request", 404: "not_found"}[f.Status]))
	}
	engines := []string{"baidu", "bing", "linuxdo", "csdn", "duckduckgo", "exa", "brave", "juejin", "startpage", "sogou", "hackernews"}
	return newDouble("open-websearch", func(w http.ResponseWriter, c Call, f Fault) {
		switch c.Method + " " + c.Path {
		case "GET /health":
			openOK(w, object{"daemon": "running"})
			return
		case "GET /status":
			openOK(w, object{"daemon": "running", "runtime": "ready", "activation": "active", "version": "2.0.0", "capabilities": []string{"search"}, "baseUrl": "", "configSummary": object{}})
			return
		case "POST /search":
		default:
			fail(w, Fault{Status: 404})
			return
		}
		var in struct {
			Query      string   `json:"query"`
			Limit      *int     `json:"limit"`
			Engines    []string `json:"engines"`
			SearchMode string   `json:"searchMode"`
		}
		if !c.JSON(&in) || strings.TrimSpace(in.Query) == "" || in.Limit != nil && (*in.Limit < 1 || *in.Limit > 50) || in.Engines != nil && len(in.Engines) == 0 || !slices.Contains([]string{"", "request", "auto", "playwright"}, in.SearchMode) {
			fail(w, Fault{Status: 400})
			return
		}
		limit := 10
		if in.Limit != nil {
			limit = *in.Limit
		}
		if len(in.Engines) == 0 {
			in.Engines = []string{"bing"}
		}
		partial := []object{}
		for _, e := range in.Engines {
			if !slices.Contains(engines, e) {
				partial = append(partial, object{"engine": e, "code": "unsupported_engine", "message": "unsupported engine"})
			}
		}
		results := []object{}
		if len(partial) < len(in.Engines) && !f.Empty {
			results = openResults(slice(web.Search(in.Query), 0, limit), in.Engines[0])
		}
		openOK(w, object{"query": in.Query, "engines": in.Engines, "retrievedAt": "2026-01-01T00:00:00.000Z", "totalResults": len(results), "results": results, "partialFailures": partial})
	}, fail)
}

func openResults(found []Page, engine string) []object {
	results := []object{}
	for i, p := range found {
		u, _ := url.Parse(p.URL)
		r := object{"title": p.Title, "url": p.URL, "description": p.Snippet(), "source": u.Hostname(), "sourceDomain": u.Hostname(), "engine": engine, "engines": []string{engine}, "score": 1 / float64(i+1)}
		if p.Date != "" {
			r["dateText"], r["publishedAt"] = p.Date, p.Date+"T00:00:00.000Z"
		}
		results = append(results, r)
	}
	return results
}

func openOK(w http.ResponseWriter, data object) {
	reply(w, 200, object{"status": "ok", "data": data, "error": nil, "hint": nil})
}

func openError(w http.ResponseWriter, status int, code string) {
	code = defaulted(code, "engine_error")
	reply(w, status, object{"status": "error", "data": nil, "error": object{"code": code, "message": fmt.Sprintf("the request failed: %s", code)}, "hint": nil})
}
