package doubles

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// DuckDuckGo stands in for html.duckduckgo.com (/html/) and lite.duckduckgo.com
// (/lite/). A fault with Match "/html/" meets the first one alone.
func DuckDuckGo(web *Web) *Double {
	return newDouble("duckduckgo", func(w http.ResponseWriter, c Call, f Fault) {
		if f.Challenge {
			duckChallenge(w)
			return
		}
		form := c.Form()
		q := form.Get("q")
		lite := c.Path == "/lite/"
		switch {
		case c.Path != "/html/" && !lite:
			replyHTML(w, 404, "<html><body>404</body></html>")
			return
		case q == "" || len([]rune(q)) > 499:
			w.Header().Set("Location", "https://html.duckduckgo.com/")
			w.WriteHeader(http.StatusSeeOther)
			return
		case !strings.Contains(c.Header.Get("User-Agent"), "Mozilla/"):
			duckChallenge(w)
			return
		}
		from, count := 0, 10
		if s, err := strconv.Atoi(form.Get("s")); err == nil && s > 0 {
			if form.Get("vqd") != vqd || form.Get("dc") != strconv.Itoa(s+1) {
				replyHTML(w, 400, "<html><body>If this error persists, please let us know</body></html>")
				return
			}
			from, count = s, 15
		}
		found := slice(web.Search(q), from, count)
		if f.Empty {
			found = nil
		}
		if lite {
			duckLite(w, q, found)
		} else {
			duckHTML(w, q, found)
		}
	}, func(w http.ResponseWriter, f Fault) {
		replyHTML(w, f.Status, "<html><body>"+http.StatusText(f.Status)+"</body></html>")
	})
}

const vqd = "4-00000000000000000000"

func duckChallenge(w http.ResponseWriter) {
	replyHTML(w, http.StatusAccepted, `<!DOCTYPE html><html><body><form id="challenge-form" action="//duckduckgo.com/anomaly.js" method="POST">`+
		`<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form></body></html>`)
}

// wrapped returns an address as the pages link it.
func wrapped(address string) string {
	return "//duckduckgo.com/l/?uddg=" + url.QueryEscape(address) + "&amp;rut=0"
}

func duckHTML(w http.ResponseWriter, q string, found []Page) {
	var b strings.Builder
	fmt.Fprintf(&b, `<!DOCTYPE html><html><head><title>%s at DuckDuckGo</title></head><body><div id="header"><form action="/html/" method="post"><input name="q" value="%[1]s"></form></div><div class="serp__results"><div id="links" class="results">`, html.EscapeString(q))
	b.WriteString(`<div class="result results_links results_links_deep result--ad"><div class="links_main links_deep result__body"><h2 class="result__title"><a rel="nofollow" class="result__a" href="https://duckduckgo.com/y.js?ad_domain=ads.example&amp;u3=x">Buy lighthouses here</a></h2><a class="result__snippet" href="https://duckduckgo.com/y.js?x">An advertisement</a></div></div>`)
	b.WriteString(`<div class="result results_links result--ad result--ad--small"><div class="links_main"><h2 class="result__title"><a rel="nofollow" class="result__a" href="` + wrapped("https://ads.example/towers") + `">Buy towers here</a></h2></div></div>`)
	for _, p := range found {
		fmt.Fprintf(&b, `<div class="result results_links results_links_deep web-result"><div class="links_main links_deep result__body"><h2 class="result__title"><a rel="nofollow" class="result__a" href="%s">%s</a></h2>`+
			`<div class="result__extras"><a class="result__url" href="%[1]s">%s</a></div><a class="result__snippet" href="%[1]s"><b>%[2]s</b>: %s</a></div></div>`+"\n",
			wrapped(p.URL), html.EscapeString(p.Title), html.EscapeString(strings.TrimPrefix(p.URL, "http://")), html.EscapeString(p.Snippet()))
	}
	if len(found) == 0 {
		b.WriteString(`<div class="result result--no-result"><div class="no-results">No results.</div></div>`)
	}
	fmt.Fprintf(&b, `<div class="nav-link"><form action="/html/" method="post"><input type="hidden" name="vqd" value="%s"></form></div></div></div></body></html>`, vqd)
	replyHTML(w, 200, b.String())
}

func duckLite(w http.ResponseWriter, q string, found []Page) {
	var b strings.Builder
	fmt.Fprintf(&b, `<!DOCTYPE html><html><head><title>%s at DuckDuckGo</title></head><body><form action="/lite/" method="post"><input name="q" value="%[1]s"></form><table border="0">`, html.EscapeString(q))
	b.WriteString(`<tr class="result-sponsored"><td>1.</td><td><a rel="nofollow" href="https://duckduckgo.com/y.js?ad_domain=ads.example" class='result-link'>Buy lighthouses here</a></td></tr><tr class="result-sponsored"><td></td><td class='result-snippet'>An advertisement</td></tr>`)
	b.WriteString(`<tr class="result-sponsored"><td>2.</td><td><a rel="nofollow" href="` + wrapped("https://ads.example/towers") + `" class='result-link'>Buy towers here</a></td></tr>`)
	for i, p := range found {
		fmt.Fprintf(&b, `<tr><td valign="top">%d.&nbsp;</td><td><a rel="nofollow" href="%s" class='result-link'>%s</a></td></tr><tr><td>&nbsp;</td><td class='result-snippet'><b>%[3]s</b>: %s</td></tr><tr><td>&nbsp;</td><td><span class='link-text'>%s</span></td></tr>`+"\n",
			i+1, wrapped(p.URL), html.EscapeString(p.Title), html.EscapeString(p.Snippet()), html.EscapeString(p.URL))
	}
	if len(found) == 0 {
		b.WriteString(`<tr><td>No results.</td></tr>`)
	}
	b.WriteString(`</table></body></html>`)
	replyHTML(w, 200, b.String())
}
