package doubles

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MediaWiki stands in for the action API of Wikipedia: GET or POST /LANGUAGE/w/api.php,
// so a client's address of the API is BASE/{language}/w/api.php. It knows the editions
// en, de and zh.
//
// As MediaWiki does, it answers faults with status 200 and a member error, says what
// parameters it does not know in a member warnings, and gives out pages of revisions with
// a member continue. A fault with the status 200 and a code is such an error.
func MediaWiki() *Double {
	return newDouble("mediawiki", serveWiki, func(w http.ResponseWriter, f Fault) {
		if f.Status == http.StatusOK || f.Code != "" {
			wikiError(w, defaulted(f.Code, "internal_api_error_DBQueryError"), "The request was refused.")
			return
		}
		replyHTML(w, f.Status, "<!DOCTYPE html><html><title>Wikimedia Error</title><p>"+http.StatusText(f.Status)+"</p></html>")
	})
}

// A wikiPage is a page of an edition.
type wikiPage struct {
	id        int
	title     string
	text      string // with headings as the extension TextExtracts writes them
	redirect  string
	options   [][2]string // of a page of meanings: title and line
	revisions []time.Time // the oldest first
}

func wikiErrorBody(code, info string) object {
	return object{"error": object{"code": code, "info": info, "docref": "See https://en.wikipedia.org/w/api.php for API usage."}, "servedby": "double"}
}

func wikiError(w http.ResponseWriter, code, info string) {
	w.Header().Set("MediaWiki-API-Error", code)
	reply(w, http.StatusOK, wikiErrorBody(code, info))
}

// wikiKnown are the parameters of each action.
var wikiKnown = map[string][]string{
	"": {"action", "format", "formatversion", "maxlag", "curtimestamp", "utf8", "errorformat"},
	"query": {
		"titles", "redirects", "converttitles", "prop", "inprop", "ppprop", "explaintext", "exsectionformat", "exlimit", "exintro", "exsentences",
		"rvprop", "rvdir", "rvlimit", "rvstart", "rvend", "rvcontinue", "continue", "list", "srsearch", "srlimit", "srprop", "srinfo", "srnamespace",
	},
	"parse": {"page", "prop", "disabletoc", "disableeditsection", "disablelimitreport", "redirects"},
}

func serveWiki(w http.ResponseWriter, c Call, f Fault) {
	language, rest, _ := strings.Cut(strings.TrimPrefix(c.Path, "/"), "/")
	pages, ok := wikiEditions[language]
	form := c.Form()
	action := form.Get("action")
	switch agent := c.Header.Get("User-Agent"); {
	case agent == "" || strings.HasPrefix(agent, "Go-http-client"):
		replyHTML(w, http.StatusForbidden, "<p>Please set a user-agent and respect our robot policy.</p>")
		return
	case !ok || rest != "w/api.php":
		replyHTML(w, http.StatusNotFound, "<!DOCTYPE html><html><title>No such wiki</title></html>")
		return
	case form.Get("format") != "json":
		replyHTML(w, http.StatusOK, "<!DOCTYPE html><html><title>MediaWiki API result</title></html>")
		return
	case form.Get("formatversion") != "2":
		wikiError(w, "badvalue", "This double has the format version 2 only.")
		return
	case wikiKnown[action] == nil || action == "":
		wikiError(w, "badvalue", "Unrecognized value for parameter \"action\": "+action+".")
		return
	}
	answer := object{"batchcomplete": true}
	var unknown []string
	for name := range form {
		if !slices.Contains(wikiKnown[""], name) && !slices.Contains(wikiKnown[action], name) {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		answer["warnings"] = object{"main": object{"warnings": "Unrecognized parameters: " + strings.Join(unknown, ", ") + "."}}
	}
	if f.Empty {
		pages = nil
	}
	if action == "parse" {
		wikiParse(w, pages, form, answer)
		return
	}
	wikiQuery(w, language, pages, form, answer)
}

func wikiQuery(w http.ResponseWriter, language string, pages []wikiPage, form url.Values, answer object) {
	query := object{}
	if form.Get("list") == "search" {
		if form.Get("srsearch") == "" {
			wikiError(w, "missingparam", `The "srsearch" parameter must be set.`)
			return
		}
		query["searchinfo"], query["search"] = wikiSearch(pages, form)
	}
	if titles := form.Get("titles"); titles != "" {
		names := strings.Split(titles, "|")
		if len(names) > 50 {
			wikiError(w, "toomanyvalues", `Too many values supplied for parameter "titles". The limit is 50.`)
			return
		}
		if strings.Contains(form.Get("prop"), "revisions") && form.Get("rvlimit") != "" && len(names) > 1 {
			wikiError(w, "invalidparammix", `"rvlimit" may only be used with a single page.`)
			return
		}
		var list []object
		for _, name := range names {
			page, ok := wikiTitle(w, language, pages, name, form, query, answer)
			if !ok {
				return
			}
			list = append(list, page)
		}
		query["pages"] = list
	}
	answer["query"] = query
	reply(w, http.StatusOK, answer)
}

// wikiTitle finds one page and fills in what is known of it. It reports whether it wrote
// no error.
func wikiTitle(w http.ResponseWriter, language string, pages []wikiPage, name string, form url.Values, query, answer object) (object, bool) {
	title := strings.Join(strings.Fields(strings.ReplaceAll(name, "_", " ")), " ")
	if title == "" || strings.ContainsAny(title, "<>[]{}#") || len(title) > 255 {
		return object{"title": name, "invalidreason": "The requested page title contains invalid characters.", "invalid": true}, true
	}
	first := []rune(title)
	if upper := strings.ToUpper(string(first[0])) + string(first[1:]); upper != name {
		query["normalized"] = []object{{"fromencoded": false, "from": name, "to": upper}}
		title = upper
	}
	p := wikiFind(pages, title)
	if p != nil && p.redirect != "" && form.Has("redirects") {
		query["redirects"] = []object{{"from": p.title, "to": p.redirect}}
		p = wikiFind(pages, p.redirect)
	}
	if p == nil {
		return object{"ns": 0, "title": title, "missing": true}, true
	}
	page := object{"pageid": p.id, "ns": 0, "title": p.title}
	props := strings.Split(form.Get("prop"), "|")
	if slices.Contains(props, "info") {
		page["contentmodel"], page["pagelanguage"], page["lastrevid"], page["length"] = "wikitext", language, p.id*1000+len(p.revisions), len(p.text)
		if strings.Contains(form.Get("inprop"), "url") {
			address := "https://" + language + ".wikipedia.org/wiki/" + url.PathEscape(strings.ReplaceAll(p.title, " ", "_"))
			page["fullurl"], page["canonicalurl"] = address, address
		}
	}
	if slices.Contains(props, "pageprops") && p.options != nil {
		page["pageprops"] = object{"disambiguation": ""}
	}
	if slices.Contains(props, "extracts") {
		page["extract"] = wikiExtract(p, form)
	}
	if slices.Contains(props, "revisions") {
		list, next, err := wikiRevisions(p, form)
		if err != "" {
			wikiError(w, "badtimestamp", err)
			return nil, false
		}
		if list != nil {
			page["revisions"] = list
		}
		if next != "" {
			answer["continue"] = object{"rvcontinue": next, "continue": "||info"}
			delete(answer, "batchcomplete")
		}
	}
	return page, true
}

func wikiFind(pages []wikiPage, title string) *wikiPage {
	for i := range pages {
		if pages[i].title == title {
			return &pages[i]
		}
	}
	return nil
}

func wikiExtract(p *wikiPage, form url.Values) string {
	text := p.text
	if form.Has("exintro") {
		text, _, _ = strings.Cut(text, "\n\n\n==")
	}
	if form.Get("exsectionformat") == "plain" {
		text = strings.ReplaceAll(text, "=", "")
	}
	if !form.Has("explaintext") {
		text = "<p>" + html.EscapeString(text) + "</p>"
	}
	return text
}

// wikiRevisions returns the revisions in a time, and where to go on.
func wikiRevisions(p *wikiPage, form url.Values) (list []object, next, problem string) {
	bound := map[string]time.Time{}
	for _, name := range []string{"rvstart", "rvend"} {
		if v := form.Get(name); v != "" {
			t, err := time.Parse(time.RFC3339, v)
			if err != nil {
				return nil, "", fmt.Sprintf("Invalid value %q for timestamp parameter %q.", v, name)
			}
			bound[name] = t
		}
	}
	limit, err := strconv.Atoi(defaulted(form.Get("rvlimit"), "1"))
	if err != nil {
		limit = 1
	}
	limit = min(limit, 500)
	from, to := bound["rvstart"], bound["rvend"]
	newer := form.Get("rvdir") == "newer"
	if !newer { // the newest first: the bounds change places
		from, to = to, from
	}
	for i, t := range p.revisions {
		if t.Before(from) || !to.IsZero() && t.After(to) {
			continue
		}
		id := p.id*1000 + i + 1
		if len(list) == limit && newer {
			return list, t.Format("20060102150405") + "|" + strconv.Itoa(id), ""
		}
		r := object{}
		if props := defaulted(form.Get("rvprop"), "ids|timestamp|flags|comment|user"); strings.Contains(props, "ids") {
			r["revid"], r["parentid"] = id, id-1
			if strings.Contains(props, "timestamp") {
				r["timestamp"] = t.UTC().Format(time.RFC3339)
			}
		}
		list = append(list, r)
	}
	if !newer {
		slices.Reverse(list)
		list = list[:min(len(list), limit)]
	}
	return list, "", ""
}

func wikiSearch(pages []wikiPage, form url.Values) (info object, found []object) {
	limit, err := strconv.Atoi(defaulted(form.Get("srlimit"), "10"))
	if err != nil {
		limit = 10
	}
	found = []object{}
	words := strings.Fields(strings.ToLower(form.Get("srsearch")))
	for _, p := range pages {
		hit := slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(p.title+" "+p.text), word) })
		if hit && p.redirect == "" && len(found) < min(limit, 500) {
			found = append(found, object{"ns": 0, "title": p.title, "pageid": p.id})
		}
	}
	info = object{"totalhits": len(found)}
	if strings.Contains(form.Get("srinfo"), "suggestion") && slices.Contains(words, "ligthouse") {
		info["suggestion"] = "lighthouse"
	}
	return info, found
}

func wikiParse(w http.ResponseWriter, pages []wikiPage, form url.Values, answer object) {
	p := wikiFind(pages, form.Get("page"))
	if p == nil {
		wikiError(w, "missingtitle", "The page you specified doesn't exist.")
		return
	}
	var b strings.Builder
	b.WriteString(`<div class="mw-content-ltr mw-parser-output" lang="en" dir="ltr"><p><b>` + html.EscapeString(p.title) + `</b> may refer to:</p>`)
	if !form.Has("disabletoc") {
		b.WriteString(`<div id="toc" class="toc"><ul><li class="toclevel-1"><a href="#Places"><span class="toctext">Places</span></a></li></ul></div>`)
	}
	b.WriteString("<h2>Places</h2><ul>")
	for _, o := range p.options {
		link := fmt.Sprintf(`<a href="/wiki/%s" title="%s">%s</a>`, url.PathEscape(strings.ReplaceAll(o[0], " ", "_")), html.EscapeString(o[0]), html.EscapeString(o[0]))
		fmt.Fprintf(&b, "<li>%s, %s</li>\n", link, html.EscapeString(o[1]))
	}
	b.WriteString(`<li><a href="/w/index.php?title=Nowhere&amp;action=edit&amp;redlink=1" class="new" title="Nowhere (page does not exist)">Nowhere</a></li></ul>
<ul><li><a href="/wiki/Special:PrefixIndex/Aldern" title="Special:PrefixIndex/Aldern">All pages with titles beginning with Aldern</a></li></ul>
<div class="navbox"><ul><li><a href="/wiki/Skarn" title="Skarn">Skarn</a></li><li><a href="/wiki/Help:Disambiguation" title="Help:Disambiguation">Disambiguation</a></li></ul></div></div>`)
	answer["parse"] = object{"title": p.title, "pageid": p.id, "text": b.String()}
	delete(answer, "batchcomplete")
	reply(w, http.StatusOK, answer)
}
