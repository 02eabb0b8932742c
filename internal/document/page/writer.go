package page

import (
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const (
	maxPrefix = 40       // bytes of indentation: deeper lists are not indented further
	flushSize = 64 << 10 // bytes after which text goes out at the next end of a block
)

// A writer writes the text of a tree. The parser bounds how deep that is.
type writer struct {
	flow
	out    *draft.Out
	base   *url.URL
	bold   int
	italic int
	lists  int
}

func (w *writer) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if w.out.Err() != nil {
			return
		}
		switch c.Type {
		case html.TextNode:
			w.text(c.Data)
		case html.ElementNode:
			if !dropped(c) {
				w.element(c)
			}
		case html.DocumentNode:
			w.children(c)
		case html.ErrorNode, html.CommentNode, html.DoctypeNode, html.RawNode:
		}
	}
}

func (w *writer) element(n *html.Node) {
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		w.heading(n)
	case "p", "dl", "figure", "section", "article", "main", "fieldset":
		w.block(2, n)
	case "div", "header", "address", "figcaption", "caption", "tr", "summary", "details", "form", "dt", "td", "th", "aside", "footer", "center", "body":
		w.block(1, n)
	case "ul", "ol", "menu":
		w.list(n)
	case "li":
		w.item(n, "* ")
	case "dd":
		w.item(n, ": ")
	case "blockquote":
		w.quote(n)
	case "br":
		w.lineBreak()
	case "hr":
		w.rule()
	case "pre":
		w.preformatted(n)
	case "table":
		w.table(n)
	default:
		w.inline(n)
	}
}

// inline writes elements that stand in a line.
func (w *writer) inline(n *html.Node) {
	switch n.Data {
	case "strong", "b":
		w.emphasis(n, "**", &w.bold)
	case "em", "i", "cite", "dfn", "var":
		w.emphasis(n, "*", &w.italic)
	case "del", "s", "strike":
		var depth int
		w.emphasis(n, "~~", &depth)
	case "code", "kbd", "samp", "tt":
		w.code(n)
	case "a":
		w.link(n)
	case "img":
		w.image(n)
	case "math":
		w.math(n)
	case "q":
		w.word("“")
		w.children(n)
		w.append("”")
	case "sup":
		w.script(n, "^")
	case "sub":
		w.script(n, "_")
	case "wbr":
	default:
		w.children(n)
	}
}

// script writes an index: where it is short, behind a mark that tells what it is.
func (w *writer) script(n *html.Node, mark string) {
	if c := n.FirstChild; c != nil && c.NextSibling == nil && c.Type == html.TextNode && len(w.buf) > 0 && !w.room {
		if r, _ := utf8.DecodeRuneInString(strings.TrimSpace(c.Data)); unicode.IsDigit(r) || r == '-' || r == '+' || unicode.IsLetter(r) {
			w.append(mark)
		}
	}
	w.children(n)
}

func (w *writer) block(lines int, n *html.Node) {
	w.want(lines)
	w.children(n)
	w.want(lines)
	if lines == 2 && w.prefix == "" && len(w.buf) > flushSize {
		w.flushBlock()
	}
}

// flushBlock hands over what was written so far.
func (w *writer) flushBlock() {
	if len(w.marks) > 0 || w.flat > 0 {
		return
	}
	w.out.Block(string(w.buf))
	w.buf, w.gap, w.room = w.buf[:0], 0, false
}

func (w *writer) heading(n *html.Node) {
	text := w.sub(n)
	if text == "" {
		return
	}
	if w.flat > 0 || w.prefix != "" || len(w.marks) > 0 {
		w.want(2)
		w.word("**" + strings.Trim(text, "*") + "**")
		w.want(2)
		return
	}
	w.flushBlock()
	w.out.Heading(int(n.Data[1]-'0'), text)
}

// sub returns the text of an element on one line.
func (w *writer) sub(n *html.Node) string {
	s := &writer{flow: flow{flat: 1}, out: w.out, base: w.base}
	s.children(n)
	return strings.TrimSpace(string(s.buf))
}

func (w *writer) list(n *html.Node) {
	if w.lists > 0 {
		w.want(1)
	} else {
		w.want(2)
	}
	w.lists++
	number := 0
	if n.Data == "ol" {
		number = 1
		if at, err := strconv.Atoi(attribute(n, "start")); err == nil && at >= 0 {
			number = at
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type != html.ElementNode || dropped(c):
		case c.Data == "li" && number > 0:
			w.item(c, strconv.Itoa(number)+". ")
			number++
		default:
			w.element(c)
		}
	}
	w.lists--
	if w.lists > 0 {
		w.want(1)
	} else {
		w.want(2)
	}
}

// item writes an element behind a bullet, and its further lines below it.
func (w *writer) item(n *html.Node, bullet string) {
	w.want(1)
	if w.flat > 0 {
		w.children(n)
		w.want(1)
		return
	}
	before := len(w.buf)
	gap := w.gap
	w.space()
	w.buf = append(w.buf, bullet...)
	begin, prefix := len(w.buf), w.prefix
	if len(w.prefix) < maxPrefix {
		w.prefix += strings.Repeat(" ", len(bullet))
	}
	w.gap, w.room = -1, false
	w.children(n)
	w.prefix = prefix
	if len(w.buf) == begin {
		w.buf, w.gap = w.buf[:before], gap
	}
	w.gap = 0
	w.want(1)
}

func (w *writer) quote(n *html.Node) {
	w.want(2)
	if w.flat > 0 || len(w.prefix) >= maxPrefix {
		w.children(n)
		w.want(2)
		return
	}
	w.space()
	before, prefix, lists := len(w.buf), w.prefix, w.lists
	w.prefix += "> "
	w.lists = 0
	w.buf = append(w.buf, "> "...)
	begin := len(w.buf)
	w.gap = -1
	w.children(n)
	w.prefix, w.lists = prefix, lists
	if len(w.buf) == begin {
		w.buf = w.buf[:before]
	}
	w.gap = max(w.gap, 0)
	w.want(2)
}

func (w *writer) rule() {
	w.want(2)
	if w.flat == 0 && len(w.buf) > 0 {
		w.space()
		w.buf = append(w.buf, "---"...)
	}
	w.want(2)
}

// preformatted writes text as it is, between fences.
func (w *writer) preformatted(n *html.Node) {
	var text strings.Builder
	raw(n, &text)
	body := strings.Trim(text.String(), "\r\n")
	if strings.TrimSpace(body) == "" {
		return
	}
	if w.flat > 0 {
		w.word(draft.Line(body))
		return
	}
	fence := draft.Fence(body)
	w.want(2)
	w.space()
	w.buf = append(w.buf, fence+language(n)+"\n"+w.prefix...)
	w.buf = append(w.buf, strings.ReplaceAll(body, "\n", "\n"+w.prefix)...)
	w.buf = append(w.buf, "\n"+w.prefix+fence...)
	w.want(2)
}

// language returns the language that the class of a pre, or of what is in it, tells.
func language(n *html.Node) string {
	for depth := 0; n != nil && n.Type == html.ElementNode && depth < 3; n, depth = n.FirstChild, depth+1 {
		for c := range strings.FieldsSeq(attribute(n, "class")) {
			for _, prefix := range []string{"language-", "lang-", "highlight-source-"} {
				if name, ok := strings.CutPrefix(c, prefix); ok && len(name) < 20 && !strings.ContainsAny(name, "`~") {
					return name
				}
			}
		}
	}
	return ""
}

func raw(n *html.Node, to *strings.Builder) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch {
		case c.Type == html.TextNode:
			to.WriteString(c.Data)
		case c.Type != html.ElementNode:
		case c.Data == "br":
			to.WriteByte('\n')
		case c.Data != "button" && c.Data != "script" && c.Data != "style":
			raw(c, to)
			if c.Data == "div" || c.Data == "p" {
				to.WriteByte('\n')
			}
		}
	}
}

func (w *writer) emphasis(n *html.Node, with string, depth *int) {
	*depth++
	defer func() { *depth-- }()
	if *depth > 1 {
		w.children(n)
		return
	}
	w.marks = append(w.marks, mark{open: with})
	at := len(w.marks)
	w.children(n)
	written := w.marks[at-1].written
	w.marks = w.marks[:at-1]
	if written {
		w.append(with)
	}
}

func (w *writer) code(n *html.Node) {
	var text strings.Builder
	raw(n, &text)
	body := draft.Line(text.String())
	if body == "" {
		return
	}
	const longest = 40
	fence := "`"
	for strings.Contains(body, fence) && len(fence) < longest {
		fence += "`"
	}
	if strings.HasPrefix(body, "`") || strings.HasSuffix(body, "`") {
		body = " " + body + " "
	}
	w.word(fence + body + fence)
}
