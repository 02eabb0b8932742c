package doubles

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Jina stands in for the reader r.jina.ai: GET /<address>, or POST / with JSON.
func Jina(web *Web) *Double {
	return newDouble("jina", func(w http.ResponseWriter, c Call, f Fault) { serveJina(web, w, c, f) }, func(w http.ResponseWriter, f Fault) {
		name, code := f.Code, f.Status*100+3
		if name == "" {
			name = map[int]string{
				401: "AuthenticationRequiredError", 402: "InsufficientBalanceError", 422: "AssertionFailureError", 429: "RateLimitTriggeredError",
				451: "SecurityCompromiseError", 503: "ServiceCrashedError",
			}[f.Status]
		}
		if f.Status == http.StatusUnprocessableEntity {
			code = 42206
		}
		jinaError(w, f.Status, code, name, "the request was refused")
	})
}

func jinaError(w http.ResponseWriter, status, code int, name, message string) {
	reply(w, status, object{"data": nil, "code": status, "name": name, "status": code, "message": message, "readableMessage": name + ": " + message})
}

// jinaChoices are the values of headers that know a few only.
var jinaChoices = map[string][]string{
	"X-Engine":        {"browser", "direct", "cf-browser-rendering", "vlm", "readerlm-v2"},
	"X-Base":          {"initial", "final"},
	"X-Respond-With":  {"content", "markdown", "html", "text"},
	"X-Return-Format": {"content", "markdown", "html", "text"},
}

func serveJina(web *Web, w http.ResponseWriter, c Call, f Fault) {
	address, ok := jinaAddress(c)
	if !ok {
		jinaError(w, 400, 40001, "ParamValidationError", "Invalid URL")
		return
	}
	for name, choices := range jinaChoices {
		if v := c.Header.Get(name); v != "" && !slices.Contains(choices, v) {
			jinaError(w, 400, 40001, "ParamValidationError", "Invalid value of "+name)
			return
		}
	}
	if a := c.Header.Get("Authorization"); a != "" && c.Bearer() != Key {
		jinaError(w, 401, 40103, "AuthenticationRequiredError", "Invalid API key")
		return
	}
	p, ok := web.Find(address)
	if !ok {
		jinaError(w, 422, 42206, "AssertionFailureError", "No content available for URL "+address)
		return
	}
	warning := f.Warning
	if p.Status >= 400 {
		warning = fmt.Sprintf("Target URL returned error %d: %s", p.Status, http.StatusText(p.Status))
	}
	text := p.Markdown()
	if f.Empty {
		text = ""
	}
	w.Header().Set("X-Usage-Tokens", fmt.Sprint(len(text)/4))
	w.Header().Set("Vary", "Accept")
	if strings.Contains(c.Header.Get("Accept"), "application/json") {
		data := object{"title": p.Title, "description": "", "url": p.URL, "content": text, "publishedTime": p.Date, "metadata": object{"lang": "en"}, "external": object{}, "usage": object{"tokens": len(text) / 4}}
		if warning != "" {
			data["warning"] = warning
		}
		reply(w, 200, object{"code": 200, "status": 20000, "data": data, "meta": object{"usage": object{"tokens": len(text) / 4}}})
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "Title: %s\n\nURL Source: %s\n\n", p.Title, p.URL)
	if p.Date != "" {
		fmt.Fprintf(w, "Published Time: %s\n\n", p.Date)
	}
	if warning != "" {
		fmt.Fprintf(w, "Warning: %s\n\n", warning)
	}
	fmt.Fprintf(w, "Markdown Content:\n%s\n", text)
}

// jinaAddress returns the address that the reader is to read.
func jinaAddress(c Call) (string, bool) {
	var in struct{ URL string }
	switch c.Method {
	case http.MethodGet:
		in.URL = strings.TrimPrefix(c.Path, "/")
		if len(c.Query) > 0 {
			in.URL += "?" + c.Query.Encode()
		}
		in.URL = strings.ReplaceAll(in.URL, "+", "%20")
	case http.MethodPost:
		if !c.JSON(&in) {
			in.URL = c.Form().Get("url")
		}
	}
	return in.URL, strings.HasPrefix(in.URL, "http://") || strings.HasPrefix(in.URL, "https://")
}

// Firecrawl stands in for api.firecrawl.dev: POST /v2/scrape.
func Firecrawl(web *Web) *Double {
	fail := func(w http.ResponseWriter, f Fault) {
		message := map[int]string{401: "Unauthorized: Invalid token", 402: "Insufficient credits to perform this request", 429: "Rate limit exceeded"}[f.Status]
		if message == "" {
			message = http.StatusText(f.Status)
		}
		e := object{"success": false, "error": message}
		if f.Code != "" {
			e["code"] = f.Code
		}
		reply(w, f.Status, e)
	}
	known := []string{
		"url", "formats", "onlyMainContent", "includeTags", "excludeTags", "headers", "timeout", "waitFor", "mobile", "actions", "location",
		"skipTlsVerification", "removeBase64Images", "blockAds", "proxy", "maxAge", "storeInCache", "parsers",
	}
	return newDouble("firecrawl", func(w http.ResponseWriter, c Call, f Fault) {
		var in object
		switch {
		case c.Path != "/v2/scrape" || c.Method != http.MethodPost:
			reply(w, 404, object{"success": false, "error": "Not found"})
			return
		case c.Bearer() != Key:
			fail(w, Fault{Status: 401})
			return
		case !c.JSON(&in):
			reply(w, 400, object{"success": false, "code": "BAD_REQUEST_INVALID_JSON", "error": "Bad request, malformed JSON"})
			return
		}
		for name := range in {
			if !slices.Contains(known, name) {
				reply(w, 400, object{"success": false, "code": "BAD_REQUEST", "error": "Bad Request", "details": []object{{"code": "unrecognized_keys", "keys": []string{name}}}})
				return
			}
		}
		address, _ := in["url"].(string)
		p, ok := web.Find(address)
		if !ok {
			reply(w, 200, object{"success": false, "code": "SCRAPE_DNS_RESOLUTION_ERROR", "error": "The name of the site could not be resolved"})
			return
		}
		text := p.Markdown()
		if f.Empty {
			text = ""
		}
		data := object{"markdown": text, "metadata": object{
			"title": p.Title, "sourceURL": address, "url": p.URL, "statusCode": max(p.Status, 200), "contentType": "text/html", "proxyUsed": "basic", "creditsUsed": 1,
			"scrapeId": "00000000-0000-0000-0000-000000000000",
		}}
		if f.Warning != "" {
			data["warning"] = f.Warning
		}
		reply(w, 200, object{"success": true, "data": data})
	}, fail)
}
