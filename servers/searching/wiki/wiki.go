// Package wiki asks Wikipedia, in any of its languages, by the action API of
// MediaWiki.
//
//	w, err := wiki.New(wiki.Options{Pages: client})
//	page, err := w.Page(ctx, wiki.Ask{Language: "de", Title: "Lübeck"})
//	var missing *wiki.NotFoundError
//	if errors.As(err, &missing) {
//		… missing.Suggestions …
//	}
//	revisions, err := w.Revisions(ctx, wiki.Ask{Title: "Lübeck"}, from, to, 50)
//
// MediaWiki answers faults with status 200 and a member error, and says by a member
// continue that there is more; both are looked at. What it returns was written by
// strangers: nothing here makes it safe to be obeyed.
package wiki

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// DefaultBase is where the editions are; {language} stands for the code of one.
const DefaultBase = "https://{language}.wikipedia.org/w/api.php"

const (
	placeholder    = "{language}"
	maxAnswer      = 10 << 20
	maxTitle       = 500 // characters of what a model asks for; titles have 255 bytes at most
	maxSuggestions = 5
)

// Options say how Wikipedia is reached.
type Options struct {
	Client *egress.Client // that of the web; a base URL of the operator's gets a client of its own
	Base   string         // address of the API, with {language} where the editions differ; default DefaultBase
	Retry  egress.Retry
}

// A Wiki asks Wikipedia. It is safe for concurrent use.
type Wiki struct {
	client *egress.Client
	base   string
	retry  egress.Retry
}

// New returns a Wiki. Its error says what is wrong with the base URL.
func New(o Options) (*Wiki, error) {
	w := &Wiki{client: o.Client, base: o.Base, retry: o.Retry}
	if w.base == "" || w.base == DefaultBase {
		w.base = DefaultBase
		return w, nil
	}
	u, err := url.Parse(strings.ReplaceAll(w.base, placeholder, "en"))
	if err != nil || u.RawQuery != "" {
		return nil, errors.New("it is no URL such as " + DefaultBase)
	}
	if strings.Contains(hostOf(w.base), placeholder) { // many hosts are none that a client for one reaches
		return w, nil
	}
	w.client, err = o.Client.Service(u.String())
	return w, err
}

// hostOf returns what stands between the slashes.
func hostOf(base string) string {
	_, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// An Ask names a page.
type Ask struct {
	Language string // code of an edition; default en
	Title    string // a title, or the address of a page, which says its edition itself
}

// A place is a page that is named rightly.
type place struct {
	language, title, section string
}

var language = regexp.MustCompile(`^[a-z]{2,12}(-[a-z]{2,12}){0,3}$`)

// place reads what was asked for.
func (a Ask) place() (place, error) {
	p := place{language: strings.ToLower(strings.TrimSpace(a.Language)), title: strings.Join(strings.Fields(a.Title), " ")}
	if strings.HasPrefix(p.title, "https://") || strings.HasPrefix(p.title, "http://") {
		var err error
		if p, err = p.fromURL(); err != nil {
			return p, err
		}
	}
	if p.language == "" {
		p.language = "en"
	}
	switch {
	case !language.MatchString(p.language):
		return p, fmt.Errorf("%q is no code of a language edition of Wikipedia; give one such as en, de, zh or simple", egress.Plain(p.language, 40))
	case p.title == "":
		return p, errors.New("the entity is empty: give the title of a page")
	case len([]rune(p.title)) > maxTitle:
		return p, fmt.Errorf("the entity is longer than %d characters: give the title of a page", maxTitle)
	}
	if title, section, ok := strings.Cut(p.title, "#"); ok && title != "" {
		p.title, p.section = title, strings.ReplaceAll(section, "_", " ")
	}
	return p, nil
}

// fromURL reads https://de.wikipedia.org/wiki/Titel and its kin.
func (p place) fromURL() (place, error) {
	u, err := url.Parse(p.title)
	if err != nil {
		return p, errors.New("the entity looks like an address, but is none: give the title of the page")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	code, ok := strings.CutSuffix(host, ".wikipedia.org")
	code = strings.TrimSuffix(code, ".m")
	if !ok || code == "www" || code == "m" {
		return p, fmt.Errorf("%s is no edition of Wikipedia: give the title of a page, or an address such as https://en.wikipedia.org/wiki/Tea. Other sites are read by scrape_website", egress.Plain(host, 80))
	}
	title := u.Query().Get("title")
	if _, rest, found := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/"); title == "" && found {
		title = rest // /wiki/Title, and /zh-cn/Title
	}
	p.language, p.title = code, strings.TrimSpace(strings.ReplaceAll(title, "_", " "))
	if u.Fragment != "" {
		p.section = strings.ReplaceAll(u.Fragment, "_", " ")
	}
	return p, nil
}

// legal reports whether MediaWiki could have a page of that title: with one of
// these characters it would read something else.
func (p place) legal() bool {
	return !strings.ContainsAny(p.title, "|<>[]{}\x1f\x7f") && len(p.title) <= 255
}

// A NotFoundError is the error for a page that is not there.
type NotFoundError struct {
	Title, Language string
	Suggestions     []string
	Search          error // why there are none, where they could not be looked for
}

// Error says that there is no such page.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("Wikipedia (%s) has no page %q", e.Language, e.Title)
}

// An APIError is what MediaWiki says to a request that it does not serve.
type APIError struct {
	Code string `json:"code"`
	Info string `json:"info"`
}

// Error returns MediaWiki's words.
func (e *APIError) Error() string {
	return fmt.Sprintf("Wikipedia answered with the error %s: %s", e.Code, e.Info)
}

// call makes one request and decodes its answer into out.
func (w *Wiki) call(ctx context.Context, lang string, params url.Values, out any) error {
	params.Set("format", "json")
	params.Set("formatversion", "2")
	resp, err := w.client.Do(ctx, egress.Request{
		URL: strings.ReplaceAll(w.base, placeholder, lang) + "?" + params.Encode(), MaxBody: maxAnswer, Retry: w.retry,
		Header: http.Header{"Accept": {"application/json"}, "Accept-Language": {lang}},
	})
	if err != nil {
		if _, ok := errors.AsType[*egress.LookupError](err); ok {
			return fmt.Errorf("there may be no Wikipedia in the language %q: %w", lang, err)
		}
		return err
	}
	var failure struct {
		Error *APIError `json:"error"`
	}
	if err := json.Unmarshal(resp.Body, &failure); err != nil {
		if !resp.OK() {
			return fmt.Errorf("the Wikipedia of %s answered %d %s. If that code of a language is right, try again later", lang, resp.Status, http.StatusText(resp.Status))
		}
		return fmt.Errorf("the Wikipedia of %s answered with something that is no JSON. If that code of a language is right, try again later", lang)
	}
	if e := failure.Error; e != nil {
		e.Code, e.Info = egress.Plain(e.Code, 80), egress.Plain(e.Info, 300)
		return e
	}
	if !resp.OK() {
		return fmt.Errorf("the Wikipedia of %s answered %d %s", lang, resp.Status, http.StatusText(resp.Status))
	}
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return errors.New("the answer of Wikipedia has an unknown form")
	}
	return nil
}

// A query is the answer to action=query.
type query struct {
	Continue map[string]any
	Query    struct {
		Redirects []struct{ From, To string }
		Pages     []struct {
			PageID    int64 `json:"pageid"`
			Title     string
			FullURL   string
			Extract   string
			Missing   bool
			Invalid   bool
			Touched   string
			LastRevID int64 `json:"lastrevid"`
			PageProps map[string]json.RawMessage
			Revisions []Revision
		}
		Search     []struct{ Title string }
		SearchInfo struct{ Suggestion string }
	}
}

// missing returns the error for a page that is not there, with titles that come
// near.
func (w *Wiki) missing(ctx context.Context, p place) error {
	e := &NotFoundError{Title: p.title, Language: p.language}
	var found query
	e.Search = w.call(ctx, p.language, url.Values{
		"action": {"query"}, "list": {"search"}, "srsearch": {searchText(p.title)}, "srlimit": {"5"}, "srprop": {""}, "srinfo": {"suggestion"},
	}, &found)
	if e.Search != nil && ctx.Err() != nil {
		return e.Search
	}
	for _, s := range found.Query.Search {
		e.Suggestions = append(e.Suggestions, egress.Plain(s.Title, 300))
	}
	if s := found.Query.SearchInfo.Suggestion; s != "" && len(e.Suggestions) == 0 {
		e.Suggestions = append(e.Suggestions, egress.Plain(s, 300))
	}
	e.Suggestions = e.Suggestions[:min(len(e.Suggestions), maxSuggestions)]
	return e
}

// searchText returns words without the operators of the search.
func searchText(title string) string {
	s := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`"|<>[]{}~*\/:!`, r) || r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, title)
	words := strings.Fields(s)
	for i, word := range words {
		words[i] = strings.TrimLeft(word, "-")
	}
	if s = strings.TrimSpace(strings.Join(words, " ")); len([]rune(s)) > 250 { // it takes 300
		s = string([]rune(s)[:250])
	}
	return s
}
