package scrape

import (
	"bytes"
	"context"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"github.com/tenon-mcp/tenon/internal/htmlsafe"
)

// readable returns a page with nothing in its body but the part that is to be read,
// where one stands out: the innermost element that holds most of the text in
// paragraphs and little in links. It returns nil where a page says by itself what its
// main part is, or where nothing stands out; then the whole is converted.
//
// The time grows with the size of the page alone, which is why this is no library:
// each element is looked at twice.
func readable(ctx context.Context, body []byte, contentType string) []byte {
	r, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		return nil
	}
	doc, err := htmlsafe.Parse(ctx, r)
	if err != nil {
		return nil
	}
	m := measure{of: map[*html.Node]amounts{}}
	root := m.body(doc)
	if root == nil || m.declared {
		return nil
	}
	all := m.of[root]
	best := root
	for best != nil {
		next := largest(best, m.of)
		if next == nil || m.of[next].prose*10 < all.prose*7 {
			break
		}
		best = next
	}
	if got := m.of[best]; best == root || got.prose < 250 || got.links*3 > got.prose {
		return nil
	}
	best.Parent.RemoveChild(best)
	for c := root.FirstChild; c != nil; c = root.FirstChild {
		root.RemoveChild(c)
	}
	root.AppendChild(best)
	var out bytes.Buffer
	if err := html.Render(&out, doc); err != nil {
		return nil
	}
	return out.Bytes()
}

// amounts are characters of text in an element.
type amounts struct{ prose, links int }

type measure struct {
	of       map[*html.Node]amounts
	declared bool
}

// body returns the element body, once all in it is measured.
func (m *measure) body(doc *html.Node) *html.Node {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			m.declared = m.declared || a.Key == "role" && a.Val == "main" || a.Key == "id" && a.Val == "mw-content-text"
		}
		switch n.Data {
		case "main", "article":
			m.declared = true
		case "body":
			m.walk(n, false, false)
			return n
		}
	}
	return nil
}

func (m *measure) walk(n *html.Node, prose, link bool) amounts {
	var sum amounts
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			switch length := len(strings.TrimSpace(c.Data)); {
			case link:
				sum.links += length
			case prose:
				sum.prose += length
			}
		case html.ElementNode:
			if isNoise(c.Data) {
				continue
			}
			if c.Data == "main" || c.Data == "article" {
				m.declared = true
			}
			a := m.walk(c, prose || isProse(c.Data), link || c.Data == "a")
			sum.prose += a.prose
			sum.links += a.links
		case html.ErrorNode, html.DocumentNode, html.CommentNode, html.DoctypeNode, html.RawNode:
		}
	}
	m.of[n] = sum
	return sum
}

func isNoise(name string) bool {
	switch name {
	case "script", "style", "nav", "footer", "aside", "form", "noscript", "template", "header", "iframe", "svg":
		return true
	}
	return false
}

func isProse(name string) bool {
	switch name {
	case "p", "pre", "blockquote", "table", "li", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6":
		return true
	}
	return false
}

// largest returns the child that holds the most prose, where it is one that may hold
// blocks.
func largest(n *html.Node, of map[*html.Node]amounts) *html.Node {
	var best *html.Node
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type != html.ElementNode || c.Data != "div" && c.Data != "section" {
			continue
		}
		if best == nil || of[c].prose > of[best].prose {
			best = c
		}
	}
	return best
}
