package page

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/tenon-mcp/tenon/internal/document/draft"
)

const maxLink = 2000 // bytes of an address

// link writes the text of a link with its address, where there are both.
func (w *writer) link(n *html.Node) {
	to := w.address(attribute(n, "href"))
	if to == "" || strings.HasPrefix(to, "#") {
		w.children(n)
		return
	}
	w.marks = append(w.marks, mark{open: "["})
	at := len(w.marks)
	w.flat++
	w.children(n)
	w.flat--
	written := w.marks[at-1].written
	w.marks = w.marks[:at-1]
	if !written {
		return
	}
	room := w.room
	w.room = false
	w.append("](" + to)
	if title := draft.Line(attribute(n, "title")); title != "" && len(title) < 200 {
		w.append(` "` + strings.ReplaceAll(title, `"`, `'`) + `"`)
	}
	w.append(")")
	w.room = room
}

// address returns where a link leads, or "" where that is of no use.
func (w *writer) address(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || len(href) > maxLink || href[0] == '#' {
		return ""
	}
	to, err := url.Parse(href)
	if err != nil {
		return ""
	}
	switch strings.ToLower(to.Scheme) {
	case "", "http", "https", "mailto", "tel", "ftp":
	default:
		return ""
	}
	if w.base != nil && to.Scheme == "" {
		to = w.base.ResolveReference(to)
	} else if to.Scheme == "" {
		return escapeAddress(href)
	}
	if direct, counted := unwrap(to); counted {
		return escapeAddress(direct)
	}
	return escapeAddress(to.String())
}

func escapeAddress(s string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "\n", "", "\r", "", "\t", "").Replace(s)
}

// unwrap returns where a link leads that goes by way of a search engine, to be
// counted there, and whether it is one; "" where it leads to nothing.
func unwrap(u *url.URL) (string, bool) {
	host := strings.TrimPrefix(u.Hostname(), "www.")
	q := u.Query()
	found := ""
	switch {
	case host == "bing.com" && u.Path == "/ck/a":
		if code, ok := strings.CutPrefix(q.Get("u"), "a1"); ok {
			if b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(code, "=")); err == nil {
				found = string(b)
			}
		}
		if strings.HasPrefix(found, "/") {
			found = u.Scheme + "://" + u.Host + found
		}
	case strings.HasPrefix(host, "google.") && u.Path == "/url":
		found = q.Get("q") + q.Get("url")
	case strings.HasSuffix(host, "duckduckgo.com") && u.Path == "/l/":
		found = q.Get("uddg")
	default:
		return "", false
	}
	if to, err := url.Parse(found); err == nil && (to.Scheme == "http" || to.Scheme == "https") {
		return to.String(), true
	}
	return "", true
}

// image writes an image by its description and its address.
func (w *writer) image(n *html.Node) {
	alt := strings.NewReplacer("[", "(", "]", ")").Replace(draft.Line(attribute(n, "alt")))
	for _, side := range []string{"width", "height"} {
		if px, err := strconv.Atoi(attribute(n, side)); err == nil && px <= 2 {
			return // counts readers
		}
	}
	at := attribute(n, "src")
	if data := attribute(n, "data-src"); data != "" && (at == "" || strings.HasPrefix(at, "data:")) {
		at = data
	}
	if strings.HasPrefix(at, "data:") {
		switch {
		case w.out.Options.KeepDataURIs:
			w.word("![" + alt + "](" + at + ")")
		case alt != "" && !placeholder(at):
			w.word("![" + alt + "](" + ShortData(at) + ")")
		}
		return
	}
	if to := w.address(at); to != "" || alt != "" {
		w.word("![" + alt + "](" + to + ")")
	}
}

// placeholder reports whether an image is what a page shows until scripts have put
// the right one there.
func placeholder(at string) bool {
	return strings.HasPrefix(at, "data:image/gif") || strings.HasPrefix(at, "data:image/svg")
}

// ShortData returns a data: address without its data.
func ShortData(at string) string {
	head, _, _ := strings.Cut(at, ",")
	return draft.Clip(head, 100) + "..."
}

// math writes a formula as TeX, where it brings that along, and else its text.
func (w *writer) math(n *html.Node) {
	tex := find(n, func(n *html.Node) bool {
		return n.Data == "annotation" && attribute(n, "encoding") == "application/x-tex"
	})
	if tex == nil {
		w.children(n)
		return
	}
	var text strings.Builder
	raw(tex, &text)
	body := draft.Line(text.String())
	if body == "" {
		return
	}
	if attribute(n, "display") == "block" {
		w.want(2)
		w.word("$$" + body + "$$")
		w.want(2)
		return
	}
	w.word("$" + body + "$")
}
