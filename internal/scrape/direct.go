package scrape

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/egress"
)

// direct returns the way to the site itself.
func (c *Chain) direct() way {
	return way{name: "direct", local: true, isSite: true, fetch: func(ctx context.Context, j job) (found, error) {
		h := http.Header{"Accept": {"text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8"}, "Accept-Language": {"en,*;q=0.5"}}
		maps.Copy(h, j.header)
		resp, err := c.o.Pages.Do(ctx, egress.Request{URL: j.url, MaxBody: maxBody, Robots: true, Refuse: c.policy.Check, Header: h})
		if err != nil {
			return found{}, unreached(err)
		}
		if !resp.OK() {
			return found{}, siteMiss(resp)
		}
		if err := media("", resp.Header.Get("Content-Type")); err != nil {
			return found{}, err
		}
		return c.read(ctx, resp.URL, resp.Header, resp.Body, j)
	}}
}

// siteMiss makes a miss of a status of the site.
func siteMiss(resp *egress.Response) error {
	switch s := resp.Status; {
	case s == http.StatusNotFound || s == http.StatusGone:
		return &missed{reason: fmt.Sprintf("the site has no such page (status %d)", s), gone: true}
	case s == http.StatusTooManyRequests:
		return miss(true, "the site was asked too often (status 429)")
	case Challenge(string(resp.Body[:min(len(resp.Body), 6000)])):
		return miss(false, "the site wants a person to pass a check first (status %d)", s)
	case s == http.StatusUnauthorized || s == http.StatusForbidden:
		return miss(false, "the site does not let programs read this page, or wants a login (status %d)", s)
	default:
		return miss(s >= 500, "the site answered with the status %d", s)
	}
}

// read converts what a site sent.
func (c *Chain) read(ctx context.Context, at string, h http.Header, body []byte, j job) (found, error) {
	kind := h.Get("Content-Type")
	src := document.Source{Name: fileName(at, h), MIME: kind, URL: at}
	page := false
	var extra found // what a page leads to besides
	if t, _, _ := mime.ParseMediaType(kind); t == "text/html" || t == "application/xhtml+xml" || t == "" && bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		page = true
		if len(body) > c.maxPage {
			body = body[:c.maxPage]
			extra.notes = []string{fmt.Sprintf("the page is larger than %d KiB: the rest was not read", c.maxPage>>10)}
		}
		film, ok := c.video(ctx, at, body)
		if ok && film.document {
			return film, nil
		}
		extra.text, extra.notes = film.text, append(extra.notes, film.notes...)
		if main := readable(ctx, body, kind); main != nil {
			body, src.MIME = main, "text/html; charset=utf-8"
		}
	}
	src.Data, src.Size = bytes.NewReader(body), int64(len(body))
	doc, err := c.o.Documents.Convert(ctx, src, document.Request{MaxChars: MaxChars, Pages: j.pages})
	if err != nil {
		return found{}, &missed{reason: err.Error(), err: err}
	}
	f := found{title: doc.Title, text: doc.Markdown, final: at, notes: append(doc.Notes, extra.notes...), document: !page && doc.Format != "html", paged: true}
	if extra.text != "" {
		f.text += "\n\n" + extra.text
	}
	if doc.Cut {
		f.notes = append(f.notes, "the document is longer than was converted")
	}
	return f, nil
}

// maxPage bounds a page, which becomes a tree that is many times as large.
const maxPage = 10 << 20

// fileName returns the name of the file that a site sent.
func fileName(at string, h http.Header) string {
	if _, p, err := mime.ParseMediaType(h.Get("Content-Disposition")); err == nil && p["filename"] != "" {
		return path.Base(p["filename"])
	}
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	if name := path.Base(u.Path); name != "/" && name != "." {
		return name
	}
	return ""
}
