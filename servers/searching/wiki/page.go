package wiki

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/htmlsafe"
)

// A Page is an article.
type Page struct {
	Language       string
	Title          string
	URL            string
	PageID         int64
	Revision       int64  // the one that this is
	RedirectedFrom string // the title that was asked for, where it is another one's
	Anchor         string // the section that the address named, or empty
	Intro          string
	Sections       []Section // in the order of the page
}

// A Section is a heading with what stands below it, up to the next heading.
type Section struct {
	Level int // 2 is the highest
	Title string
	Text  string
}

// An AmbiguousError is the error for a title that means several things.
type AmbiguousError struct {
	Page    Page // without text
	Options []Option
	More    int // options that are left out
}

// An Option is one of the things that a title means.
type Option struct {
	Title       string
	Description string // the line that names it
}

const maxOptions = 10

// Error says that there are several.
func (e *AmbiguousError) Error() string { return e.Page.Title + " means several things" }

// Page returns an article as text. The error is a [NotFoundError] where there is
// none, and an [AmbiguousError] where the title stands for several.
func (w *Wiki) Page(ctx context.Context, a Ask, introOnly bool) (Page, error) {
	p, err := a.place()
	if err != nil {
		return Page{}, err
	}
	if !p.legal() {
		return Page{}, w.missing(ctx, p)
	}
	params := url.Values{
		"action": {"query"}, "titles": {p.title}, "redirects": {"1"}, "converttitles": {"1"},
		"prop": {"info|pageprops|extracts"}, "inprop": {"url"}, "ppprop": {"disambiguation"},
		"explaintext": {"1"}, "exsectionformat": {"wiki"}, "exlimit": {"1"},
	}
	if introOnly {
		params.Set("exintro", "1")
	}
	var q query
	if err := w.call(ctx, p.language, params, &q); err != nil {
		return Page{}, err
	}
	if len(q.Query.Pages) == 0 {
		return Page{}, w.missing(ctx, p)
	}
	got := q.Query.Pages[0]
	if got.Missing || got.Invalid {
		return Page{}, w.missing(ctx, p)
	}
	page := Page{
		Language: p.language, Title: got.Title, URL: got.FullURL, PageID: got.PageID, Revision: got.LastRevID, Anchor: p.section,
	}
	if len(q.Query.Redirects) > 0 {
		page.RedirectedFrom = q.Query.Redirects[0].From
	}
	if _, ambiguous := got.PageProps["disambiguation"]; ambiguous {
		return Page{}, w.ambiguous(ctx, page)
	}
	page.Intro, page.Sections = split(got.Extract)
	return page, nil
}

var heading = regexp.MustCompile(`(?m)^(={2,6})[ \t]*([^\n]*?)[ \t]*={2,6}[ \t]*$`)

// split parts an extract at its headings.
func split(extract string) (intro string, sections []Section) {
	marks := heading.FindAllStringSubmatchIndex(extract, -1)
	if len(marks) == 0 {
		return strings.TrimSpace(extract), nil
	}
	for i, m := range marks {
		end := len(extract)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		sections = append(sections, Section{
			Level: m[3] - m[2], Title: strings.TrimSpace(extract[m[4]:m[5]]), Text: strings.TrimSpace(extract[m[1]:end]),
		})
	}
	return strings.TrimSpace(extract[:marks[0][0]]), sections
}

// ambiguous returns the error for a page that only lists others.
func (w *Wiki) ambiguous(ctx context.Context, page Page) error {
	var parsed struct {
		Parse struct{ Text string }
	}
	err := w.call(ctx, page.Language, url.Values{
		"action": {"parse"}, "page": {page.Title}, "prop": {"text"}, "disabletoc": {"1"}, "disableeditsection": {"1"}, "disablelimitreport": {"1"},
	}, &parsed)
	if err != nil {
		return err
	}
	e := &AmbiguousError{Page: page}
	e.Options, err = options(ctx, parsed.Parse.Text)
	if err != nil {
		return err
	}
	if len(e.Options) > maxOptions {
		e.More, e.Options = len(e.Options)-maxOptions, e.Options[:maxOptions]
	}
	return e
}

// options returns what the items of lists in a page lead to.
func options(ctx context.Context, page string) ([]Option, error) {
	doc, err := htmlsafe.String(ctx, page)
	if err != nil {
		return nil, errors.New("the page of meanings cannot be read")
	}
	var list []Option
	for n := range doc.Descendants() {
		if n.DataAtom != atom.Li || within(n, "toc", "navbox", "metadata", "mw-editsection") {
			continue
		}
		title, ok := firstLink(n)
		if !ok || slices.ContainsFunc(list, func(o Option) bool { return o.Title == title }) {
			continue
		}
		list = append(list, Option{title, egress.Plain(strings.Join(strings.Fields(ownText(n)), " "), 200)})
	}
	return list, nil
}

// within reports whether n or what it stands in has one of the classes.
func within(n *html.Node, classes ...string) bool {
	for ; n != nil; n = n.Parent {
		for _, a := range n.Attr {
			if (a.Key == "class" || a.Key == "id") && slices.ContainsFunc(strings.Fields(a.Val), func(c string) bool { return slices.Contains(classes, c) }) {
				return true
			}
		}
	}
	return false
}

// firstLink returns the title of the first article that an item links to.
func firstLink(li *html.Node) (string, bool) {
	for n := range li.Descendants() {
		if n.DataAtom != atom.A || nearest(n) != li {
			continue
		}
		var href, title string
		for _, a := range n.Attr {
			switch a.Key {
			case "href":
				href = a.Val
			case "title":
				title = a.Val
			}
		}
		path, ok := strings.CutPrefix(href, "/wiki/")
		// Help:Contents is of another kind; Mission:_Impossible is an article.
		if ok && title != "" && !strings.Contains(strings.ReplaceAll(path, ":_", ""), ":") {
			return egress.Plain(title, 300), true
		}
	}
	return "", false
}

// nearest returns the item of a list that n stands in.
func nearest(n *html.Node) *html.Node {
	for ; n != nil && n.DataAtom != atom.Li; n = n.Parent {
	}
	return n
}

// ownText returns the text of an item without that of the lists in it.
func ownText(li *html.Node) string {
	var b strings.Builder
	for n := range li.Descendants() {
		if n.Type == html.TextNode && nearest(n) == li && b.Len() < 4096 {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}
