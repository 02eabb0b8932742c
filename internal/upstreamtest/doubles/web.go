package doubles

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode"
)

// A Page is one of the Web.
type Page struct {
	URL     string
	Title   string
	Date    string   // YYYY-MM-DD
	Text    []string // paragraphs
	Type    string   // of Body, where it is not made of Text
	Body    []byte
	Status  int    // in place of 200
	Forward string // redirects there
}

// HTML returns the page as a browser gets it, with a menu around its text.
func (p Page) HTML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><html lang=\"en\"><head><title>%s</title></head><body>"+
		"<div id=\"top\"><a href=\"/\">Home</a> <a href=\"/about\">About this site</a> <a href=\"/terms\">Terms of use</a></div><div class=\"wrap\"><div class=\"text\"><h1>%[1]s</h1>\n",
		html.EscapeString(p.Title))
	for _, t := range p.Text {
		fmt.Fprintf(&b, "<p>%s</p>\n", html.EscapeString(t))
	}
	b.WriteString("</div></div><div class=\"foot\"><a href=\"/imprint\">Imprint of the operator</a></div></body></html>\n")
	return b.String()
}

// Markdown returns the text of the page.
func (p Page) Markdown() string {
	return "# " + p.Title + "\n\n" + strings.Join(p.Text, "\n\n")
}

// Snippet returns the begin of the text.
func (p Page) Snippet() string {
	if len(p.Text) == 0 {
		return ""
	}
	r := []rune(p.Text[0])
	return string(r[:min(len(r), 160)])
}

// A Web is a small web, always the same at first. It is safe for concurrent use.
type Web struct {
	mu    sync.Mutex
	pages []Page
}

// NewWeb returns the web.
func NewWeb() *Web { return &Web{pages: corpus()} }

// Add adds a page, or replaces one.
func (w *Web) Add(p Page) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages = slices.DeleteFunc(w.pages, func(o Page) bool { return o.URL == p.URL })
	w.pages = append(w.pages, p)
}

// Find returns the page at an address, after redirects.
func (w *Web) Find(address string) (Page, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range 5 {
		i := slices.IndexFunc(w.pages, func(p Page) bool { return trim(p.URL) == trim(address) })
		if i < 0 {
			return Page{}, false
		}
		if w.pages[i].Forward == "" {
			return w.pages[i], true
		}
		address = w.pages[i].Forward
	}
	return Page{}, false
}

func trim(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	rest, _, _ = strings.Cut(rest, "#")
	return strings.TrimSuffix(rest, "/")
}

// Search returns the pages that hold words of a query, the best first, and takes the
// operator site:.
func (w *Web) Search(query string) []Page {
	w.mu.Lock()
	defer w.mu.Unlock()
	site := ""
	var words []string
	for f := range strings.FieldsSeq(strings.ToLower(query)) {
		if host, ok := strings.CutPrefix(f, "site:"); ok {
			site = host
			continue
		}
		if f = strings.TrimFunc(f, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }); f != "" {
			words = append(words, f)
		}
	}
	type hit struct {
		page  Page
		score int
	}
	var hits []hit
	for _, p := range w.pages {
		u, err := url.Parse(p.URL)
		if err != nil || p.Forward != "" || p.Status >= 400 || site != "" && u.Hostname() != site && !strings.HasSuffix(u.Hostname(), "."+site) {
			continue
		}
		text := strings.ToLower(p.Title + " " + strings.Join(p.Text, " "))
		score := 0
		for _, word := range words {
			score += min(strings.Count(text, word), 3)
		}
		if score > 0 {
			hits = append(hits, hit{p, score})
		}
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].score > hits[j].score })
	found := make([]Page, len(hits))
	for i, h := range hits {
		found[i] = h.page
	}
	return found
}

// Slice returns part of what was found, which may be empty.
func slice(pages []Page, from, count int) []Page {
	from = min(max(from, 0), len(pages))
	return pages[from:min(from+max(count, 0), len(pages))]
}

// ServeHTTP serves the sites of the web, by their names.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		rw.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(rw, "User-agent: *\nDisallow: /private/\n")
		return
	}
	address := "http://" + r.Host + r.URL.RequestURI()
	w.mu.Lock()
	i := slices.IndexFunc(w.pages, func(p Page) bool { return trim(p.URL) == trim(address) })
	var p Page
	if i >= 0 {
		p = w.pages[i]
	}
	w.mu.Unlock()
	switch {
	case i < 0:
		replyHTML(rw, http.StatusNotFound, "<html><body><p>There is no such page here.</p></body></html>")
	case p.Forward != "":
		http.Redirect(rw, r, p.Forward, http.StatusFound)
	case p.Body != nil:
		rw.Header().Set("Content-Type", p.Type)
		rw.WriteHeader(max(p.Status, http.StatusOK))
		_, _ = rw.Write(p.Body)
	default:
		replyHTML(rw, max(p.Status, http.StatusOK), p.HTML())
	}
}
