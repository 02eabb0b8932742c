// Package page turns HTML into Markdown: headings, emphasis, links, lists, quotes,
// tables as tables, preformatted text, images by their descriptions, formulas as TeX.
//
// Navigation, forms, scripts and what is hidden are left out, and where a page says
// what its main part is, the rest is. The time that it takes grows with the size of
// a page and no faster, whatever its nesting and its spans: that is why it is no
// library.
package page

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/htmlsafe"
)

const maxSize = 64 << 20 // bytes of a page, which becomes a tree in memory

// Convert converts a page.
func Convert(ctx context.Context, src draft.Source, out *draft.Out) error {
	body, err := src.Bytes(maxSize)
	if err != nil {
		return err
	}
	r, err := charset.NewReader(bytes.NewReader(body), src.MIME)
	if err != nil {
		r = bytes.NewReader(body)
	}
	doc, err := htmlsafe.Parse(ctx, r)
	if err != nil {
		return unreadable(err)
	}
	head := describe(doc, out)
	w := &writer{out: out, base: baseURL(doc, src.URL)}
	root := mainPart(doc)
	if head != "" && !holdsHeading(root) {
		out.Heading(1, head)
	}
	w.children(root)
	w.flushBlock()
	return out.Err()
}

// Fragment converts HTML that is part of another document. at is what its links
// are relative to.
func Fragment(text string, at string, out *draft.Out) error {
	doc, err := htmlsafe.String(draft.Context(out), text)
	if err != nil {
		return unreadable(err)
	}
	w := &writer{out: out, base: baseURL(doc, at)}
	w.children(doc)
	w.flushBlock()
	return out.Err()
}

// unreadable tells why a page has no tree.
func unreadable(err error) error {
	switch {
	case errors.Is(err, htmlsafe.ErrDeep):
		return draft.TooLarge("the page is nested too deep: %v", err)
	case errors.Is(err, htmlsafe.ErrBuilt):
		return draft.TooLarge("%v", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return draft.Damage(err, "the page is no HTML that can be read")
}

// Text returns the text of a few words of HTML, such as a title, for out.
func Text(out *draft.Out, s string) string {
	if !strings.ContainsAny(s, "<&") {
		return s
	}
	doc, err := htmlsafe.String(draft.Context(out), s)
	if err != nil {
		return s
	}
	var b strings.Builder
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return draft.Line(b.String())
}

func baseURL(doc *html.Node, at string) *url.URL {
	u, err := url.Parse(at)
	if err != nil || at == "" {
		u = nil
	}
	if b := find(doc, func(n *html.Node) bool { return n.Data == "base" && attribute(n, "href") != "" }); b != nil {
		if to, err := url.Parse(attribute(b, "href")); err == nil {
			if u != nil {
				to = u.ResolveReference(to)
			}
			if to.IsAbs() {
				u = to
			}
		}
	}
	return u
}

// describe takes what the head of a page says of it, and returns its title.
func describe(doc *html.Node, out *draft.Out) string {
	title := ""
	if t := find(doc, func(n *html.Node) bool { return n.Data == "title" && n.Namespace == "" }); t != nil && t.FirstChild != nil {
		title = draft.Line(t.FirstChild.Data)
	}
	out.Set("title", title)
	seen := map[string]bool{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "meta" {
			continue
		}
		name := strings.ToLower(attribute(n, "name") + attribute(n, "property"))
		field := metaFields[name]
		if field == "" || seen[field] {
			continue
		}
		seen[field] = true
		out.Set(field, attribute(n, "content"))
	}
	if root := find(doc, func(n *html.Node) bool { return n.Data == "html" }); root != nil {
		out.Set("language", attribute(root, "lang"))
	}
	return title
}

var metaFields = map[string]string{
	"author": "author", "article:author": "author", "description": "description", "og:description": "description",
	"article:published_time": "created", "date": "created", "dc.date": "created", "article:modified_time": "modified",
	"last-modified": "modified", "og:site_name": "site", "keywords": "keywords",
}

// mainPart returns what of a page is to be read: the part that it calls its main one,
// where that holds most of its text.
func mainPart(doc *html.Node) *html.Node {
	body := find(doc, func(n *html.Node) bool { return n.Data == "body" })
	if body == nil {
		return doc
	}
	if n := find(body, func(n *html.Node) bool { return attribute(n, "id") == "mw-content-text" }); n != nil {
		return n
	}
	all := textLength(body)
	for _, is := range []func(*html.Node) bool{
		func(n *html.Node) bool { return n.Data == "main" },
		func(n *html.Node) bool { return attribute(n, "role") == "main" },
	} {
		if n := find(body, is); n != nil && textLength(n)*3 > all {
			return n
		}
	}
	var only *html.Node
	for n := range body.Descendants() {
		if n.Type == html.ElementNode && n.Data == "article" {
			if only != nil {
				return body
			}
			only = n
		}
	}
	if only != nil && textLength(only)*3 > all {
		return only
	}
	return body
}

func textLength(n *html.Node) int {
	length := 0
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.TextNode {
				length += len(strings.TrimSpace(c.Data))
			} else if c.Type == html.ElementNode && !dropped(c) {
				walk(c)
			}
		}
	}
	walk(n)
	return length
}

func holdsHeading(root *html.Node) bool {
	return find(root, func(n *html.Node) bool { return n.Data == "h1" }) != nil
}

// find returns the first element below root for which is holds.
func find(root *html.Node, is func(*html.Node) bool) *html.Node {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && is(n) {
			return n
		}
	}
	return nil
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// dropped reports whether nothing of an element is to be read.
func dropped(n *html.Node) bool {
	switch n.Data {
	case "script", "style", "head", "nav", "template", "noscript", "svg", "canvas", "iframe", "object", "embed",
		"button", "select", "textarea", "input", "dialog", "audio", "video", "footer", "link", "meta":
		return n.Data != "footer" || !inside(n, "blockquote")
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "style":
			if strings.Contains(strings.ReplaceAll(a.Val, " ", ""), "display:none") {
				return true
			}
		case "role":
			if a.Val == "navigation" || a.Val == "search" {
				return true
			}
		case "class":
			for c := range strings.FieldsSeq(a.Val) {
				switch c {
				case "mw-editsection", "noprint", "navbox", "mw-jump-link", "sr-only", "visually-hidden", "hash-link":
					return true
				}
			}
		}
	}
	return false
}

func inside(n *html.Node, name string) bool {
	for p, depth := n.Parent, 0; p != nil && depth < 20; p, depth = p.Parent, depth+1 {
		if p.Data == name {
			return true
		}
	}
	return false
}
