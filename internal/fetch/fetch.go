// Package fetch reads one page of the web as text, for the case that the tool
// which was to read it cannot:
//
//	f := fetch.New(fetch.Options{})
//	page, err := f.Page(ctx, "https://example.com/", nil)
//	if err != nil {
//		return err // a sentence for the model
//	}
//	use(page.Text)
//
// A model chooses the address, perhaps because a page that it read told it to. It
// is reached as the package egress has it, public addresses only; redirects go the
// same way, and the caller is asked about each.
//
// It is no browser: it runs no scripts, keeps no cookies and no cache, and asks
// for nothing but the page.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/egress"
)

// Bounds on one page.
const (
	maxTime = 10 * time.Second
	maxBody = 5 << 20
)

// Options configures a Fetcher. The zero value works.
type Options struct {
	Allow []string // what may be reached besides the public, see egress.NewGuard
}

// A Fetcher reads pages. It is safe for concurrent use.
type Fetcher struct {
	client *egress.Client
	err    error // of Options
}

// A Page is what was read.
type Page struct {
	URL  string // after redirects
	Text string // Markdown where the page is HTML, else as it came
}

// New returns a Fetcher. Where Allow cannot be read, it reads no page.
func New(o Options) *Fetcher {
	c, err := egress.New(egress.Options{
		Allow: o.Allow, Ports: []int{80, 443, 8000, 8080, 8443}, MaxBody: maxBody,
		Proxy: "none", // pages are few, and the gateway reads what it was asked for itself
		Times: egress.Times{Connect: maxTime, TLS: maxTime, Header: maxTime, Total: maxTime},
	})
	return &Fetcher{c, err}
}

// Page reads the page at an address. refuse, where not nil, is asked before each
// request, the redirects too; its error is returned as it is. Other errors say in
// a sentence what happened. It takes at most 10 s, and reads at most 5 MiB.
func (f *Fetcher) Page(ctx context.Context, address string, refuse func(url string) error) (Page, error) {
	if f.err != nil {
		return Page{}, f.err
	}
	defer f.client.Close() // pages come from everywhere, and rarely twice
	resp, err := f.client.Do(ctx, egress.Request{URL: address, Refuse: refuse, Cut: true, Header: http.Header{
		"Accept": {"text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1"},
	}})
	if err != nil {
		return Page{}, err
	}
	if !resp.OK() {
		return Page{}, fmt.Errorf("the site answered %d %s", resp.Status, http.StatusText(resp.Status))
	}
	at, err := url.Parse(resp.URL)
	if err != nil {
		return Page{}, errors.New("the page has no valid address")
	}
	page := Page{URL: resp.URL}
	page.Text, err = text(ctx, resp.Body, resp.Header.Get("Content-Type"), at)
	seen, hidden := answer.Seen(page.Text)
	if page.Text = strings.TrimSpace(seen); err == nil && page.Text == "" {
		err = errNoText
	}
	if err == nil && hidden > 0 {
		page.Text += fmt.Sprintf("\n\n[left out: %d characters that nobody sees]", hidden)
	}
	if err == nil && resp.Cut {
		page.Text += fmt.Sprintf("\n\n[cut: only the first %d MiB of the page were read]", maxBody>>20)
	}
	return page, err
}
