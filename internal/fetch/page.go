package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/tenon-mcp/tenon/internal/htmlsafe"
)

// page returns HTML as plain Markdown below its title: headings, paragraphs,
// links, lists, rows of tables, and preformatted text.
//
// Why this is not a library: those that make better Markdown take time that grows
// with the square of what a page holds, or with the spans that its tables claim. A
// page is foreign, and is read in the process of the gateway.
func page(ctx context.Context, r io.Reader, at *url.URL) (string, error) {
	doc, err := htmlsafe.Parse(ctx, r)
	if err != nil {
		return "", fmt.Errorf("the page is no HTML that can be read: %w", err)
	}
	w := writer{at: at}
	w.node(doc)
	out := strings.TrimSpace(strings.ToValidUTF8(string(w.out), "\uFFFD"))
	if out == "" {
		return "", errNoText
	}
	if title := titleOf(doc); title != "" {
		out = "Title: " + title + "\n\n" + out
	}
	return out, nil
}

func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "title" && n.Namespace == "" && n.FirstChild != nil {
			return strings.ToValidUTF8(strings.Join(strings.Fields(n.FirstChild.Data), " "), "\uFFFD")
		}
	}
	return ""
}

// A writer writes the text of a tree. The parser bounds how deep that is.
type writer struct {
	at   *url.URL
	out  []byte
	gap  int  // line ends wanted before what comes next
	room bool // a space wanted before what comes next
	pre  int  // elements around that keep white space
}

func (w *writer) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.text(n.Data)
		return
	case html.ElementNode:
		w.element(n)
		return
	case html.DocumentNode:
		w.children(n)
	case html.ErrorNode, html.CommentNode, html.DoctypeNode, html.RawNode:
	}
}

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.node(c)
	}
}

func (w *writer) element(n *html.Node) {
	if hidden(n) {
		return
	}
	switch n.Data {
	case "script", "style", "head", "nav", "footer", "aside", "form", "button", "select", "template",
		"dialog", "svg", "canvas", "iframe", "object", "noscript", "textarea", "audio", "video":
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.block(2, strings.Repeat("#", int(n.Data[1]-'0'))+" ", n)
	case "p", "blockquote", "ul", "ol", "dl", "table", "figure", "section", "article", "main":
		w.block(2, "", n)
	case "div", "dt", "dd", "header", "address", "caption", "figcaption", "tr", "summary", "details":
		w.block(1, "", n)
	case "li":
		w.block(1, "- ", n)
	case "td", "th":
		w.cell(n)
	case "br":
		w.want(1)
	case "hr":
		w.want(2)
	case "pre":
		w.preformatted(n)
	case "a":
		w.link(n)
	case "img":
		if alt := attribute(n, "alt"); strings.TrimSpace(alt) != "" {
			w.text(" [image: " + alt + "] ")
		}
	default:
		w.children(n)
	}
}

func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		if a.Key == "hidden" {
			return true
		}
	}
	return false
}

// want wants at least so many line ends before what comes next.
func (w *writer) want(lines int) {
	if len(w.out) > 0 {
		w.gap = max(w.gap, lines)
	}
}

// block writes an element on lines of its own; mark begins the first of them.
func (w *writer) block(lines int, mark string, n *html.Node) {
	w.want(lines)
	if mark == "" {
		w.children(n)
		w.want(lines)
		return
	}
	before, gap := len(w.out), w.gap
	w.flush()
	w.out = append(w.out, mark...)
	begin := len(w.out)
	w.children(n)
	if len(w.out) == begin { // nothing to read in it
		w.out, w.gap = w.out[:before], gap
	}
	w.want(lines)
}

// cell writes a cell of a table behind those before it.
func (w *writer) cell(n *html.Node) {
	for p := n.PrevSibling; p != nil; p = p.PrevSibling {
		if p.Type == html.ElementNode {
			w.gap, w.room = 0, false
			w.out = append(w.out, " | "...)
			break
		}
	}
	w.children(n)
}

// preformatted writes text as it is, between fences.
func (w *writer) preformatted(n *html.Node) {
	w.want(2)
	w.flush()
	w.out = append(w.out, "```\n"...)
	w.pre++
	w.children(n)
	w.pre--
	w.gap, w.room = 0, false
	w.out = append(bytes.TrimRight(w.out, "\n"), "\n```"...)
	w.want(2)
}

// link writes the text of a link with its address, where there are both.
func (w *writer) link(n *html.Node) {
	href := strings.TrimSpace(attribute(n, "href"))
	to, err := w.at.Parse(href)
	if href == "" || href[0] == '#' || err != nil || to.Scheme != "http" && to.Scheme != "https" || w.pre > 0 {
		w.children(n)
		return
	}
	before, gap, room := len(w.out), w.gap, w.room
	w.flush()
	w.out = append(w.out, '[')
	begin := len(w.out)
	w.children(n)
	if len(w.out) == begin {
		w.out, w.gap, w.room = w.out[:before], gap, room
		return
	}
	w.gap = 0
	w.out = append(append(append(w.out, "]("...), to.String()...), ')')
}

// flush writes the white space that is wanted.
func (w *writer) flush() {
	switch {
	case w.gap > 0:
		w.out = bytes.TrimRight(w.out, " ")
		w.out = append(w.out, "\n\n"[:min(w.gap, 2)]...)
	case w.room && len(w.out) > 0 && !strings.ContainsRune("\n [", rune(w.out[len(w.out)-1])):
		w.out = append(w.out, ' ')
	}
	w.gap, w.room = 0, false
}

func (w *writer) text(s string) {
	if w.pre > 0 {
		w.flush()
		w.out = append(w.out, s...)
		return
	}
	for s != "" {
		i := strings.IndexFunc(s, unicode.IsSpace)
		if i != 0 {
			word := s
			if i > 0 {
				word = s[:i]
			}
			w.flush()
			w.out = append(w.out, word...)
			s = s[len(word):]
			continue
		}
		w.room = true
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
