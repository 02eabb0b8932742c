// Package scrape reads pages of the web by several ways, one after the other, until
// one gives a text that is good enough. The bundled servers that read pages share it.
//
//	guard, err := egress.NewGuard("websearch", o.Allow)
//	…
//	pages, err := egress.New(egress.Options{Guard: guard, CAFile: o.CAFile, Proxy: o.Proxy})
//	…
//	chain, err := scrape.New(scrape.Options{
//		Pages: pages, Guard: guard, Documents: converter,
//		Jina: scrape.Service{Key: o.JinaAPIKey, Base: o.JinaBaseURL},
//	})
//	if err != nil {
//		return nil, err // names the setting
//	}
//	page, err := chain.Fetch(ctx, scrape.Request{URL: "example.com/guide"})
//	if err != nil {
//		return err // a sentence for a model; a *FailedError says what each way met
//	}
//	text, next := page.Part(0, 20_000)
//
// The ways, in this order: a Jina reader, Serper's scraper, Firecrawl, the site itself,
// and a browser. The first three are used where a key or a base URL is set, the last
// one where a program is given. The site itself is asked as robots.txt allows. What
// is no page but a document (PDF, office files) is converted here.
//
// A text is scored from 0 to 10 ([Score]): the first one of [Good] or more wins, else the
// best of all. Ways that failed by what may pass are tried again, twice at most,
// and never beyond the one deadline of a call.
//
// What leads inside a network is refused before any way is tried; hosts that an
// operator opened are read directly and are never told to a service. Addresses of
// the block list ([Policy]) are refused before the request and after redirects.
//
// The text is foreign: it is data, and callers mark it so.
package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/document"
	"github.com/tenon-mcp/tenon/internal/egress"
)

// Bounds and defaults.
const (
	DefaultTimeout = 90 * time.Second
	MaxChars       = 1_000_000 // of a text; more is cut
	maxBody        = 50 << 20  // of an answer
	maxURL         = 8 << 10
)

// A Service is a reader somewhere else. It is used where one of the two is set.
type Service struct {
	Base string // default: that of the service itself
	Key  string
}

func (s Service) set() bool { return s.Base != "" || s.Key != "" }

// Options configures a Chain. Pages, Guard and Documents are needed.
type Options struct {
	Pages     *egress.Client
	Guard     *egress.Guard // the one that Pages was made with
	Documents *document.Converter

	Jina      Service  // default base: https://r.jina.ai
	Serper    Service  // default base: https://scrape.serper.dev
	Firecrawl Service  // default base: https://api.firecrawl.dev
	Browser   *Browser // nil: none

	Blocked []string        // see NewPolicy
	Timeout time.Duration   // of one Fetch with all that it does; default DefaultTimeout
	Waits   []time.Duration // before each further round; default 4 s and 16 s
}

// A Chain reads pages. It is safe for concurrent use.
type Chain struct {
	o      Options
	policy *Policy
	ways   []way
	kept   kept

	maxPage int
}

// A way is one of the means to read a page.
type way struct {
	name   string
	local  bool // tells nobody else of the address
	isSite bool // the site itself
	fetch  func(ctx context.Context, j job) (found, error)
}

// A job is what is to be read.
type job struct {
	url    string
	pages  string // of a document
	header http.Header
}

// found is what a way brought.
type found struct {
	title, text string
	final       string // the address after redirects, where it is known
	notes       []string
	document    bool // a converted file, whose text is good as it is
	paged       bool // the pages that were asked for were given to the converter, which says what it made of them
}

// New returns a chain. Its errors name the setting.
func New(o Options) (*Chain, error) {
	if o.Pages == nil || o.Guard == nil || o.Documents == nil {
		return nil, errors.New("scrape: client, guard and converter are needed")
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Waits == nil {
		o.Waits = egress.Seconds(4, 16)
	}
	c := &Chain{o: o, maxPage: maxPage}
	var err error
	if c.policy, err = NewPolicy(o.Blocked); err != nil {
		return nil, err
	}
	for _, s := range []struct {
		name, base string
		service    Service
		way        func(*egress.Client, string, string) way
	}{
		{"jina", "https://r.jina.ai", o.Jina, newJina},
		{"serper scrape", "https://scrape.serper.dev", o.Serper, newSerper},
		{"firecrawl", "https://api.firecrawl.dev", o.Firecrawl, newFirecrawl},
	} {
		if !s.service.set() {
			continue
		}
		base := strings.TrimRight(cmp.Or(s.service.Base, s.base), "/")
		client, err := o.Pages.Service(base)
		if err != nil {
			return nil, fmt.Errorf("base URL of %s: %w", s.name, err)
		}
		c.ways = append(c.ways, s.way(client, base, s.service.Key))
	}
	c.ways = append(c.ways, c.direct())
	if o.Browser != nil {
		c.ways = append(c.ways, c.browser())
	}
	return c, nil
}

// Ways returns the names of the ways that are used, in their order.
func (c *Chain) Ways() []string {
	names := make([]string, 0, len(c.ways))
	for _, w := range c.ways {
		names = append(names, w.name)
	}
	return names
}

// Policy returns the block list, for those who filter results with it.
func (c *Chain) Policy() *Policy { return c.policy }

// A Request says what is wanted.
type Request struct {
	URL   string // without a scheme: https
	About string // what is looked for, which counts in the score; may be empty
	Pages string // of a document, such as "1-3,7"
	// Kept takes the text that was read a moment ago, where there is one: for a call
	// that goes on at an offset.
	Kept bool
	// Header is sent along to the site and, where it is one of theirs, to a reader. Those
	// that hold logins or change how the request travels are refused.
	Header map[string]string
}

// A Page is what was read.
type Page struct {
	URL   string // that was read, in whole
	Final string // after redirects
	Title string
	Text  string // Markdown, or plain text
	Via   string // the name of the way
	Score float64
	Notes []string // what a reader has to know: what was added, left out, or went wrong
}

// Part returns at most limit characters of the text from an offset on, and the
// offset of the rest, or 0 where there is none.
func (p *Page) Part(offset, limit int) (text string, next int) {
	r := []rune(p.Text)
	offset = min(max(offset, 0), len(r))
	end := min(offset+max(limit, 0), len(r))
	if end < len(r) {
		next = end
	}
	return string(r[offset:end]), next
}

// A Miss is why one way gave nothing that was taken.
type Miss struct {
	Way    string
	Reason string
}

// A FailedError is the error for a page that no way could read.
type FailedError struct {
	URL    string
	Misses []Miss
	err    error
}

// Error says what each way met, and what can be done.
func (f *FailedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s could not be read.", egress.Plain(f.URL, 300))
	for _, m := range f.Misses {
		fmt.Fprintf(&b, "\n- %s: %s", m.Way, m.Reason)
	}
	b.WriteString("\nCheck the address, try another source, or look for an archived copy of the page.")
	return b.String()
}

// Unwrap returns what ended the call early, if something did, or the rule that refused
// a way.
func (f *FailedError) Unwrap() error { return f.err }

// missed is an error of a way.
type missed struct {
	reason  string
	passing bool // it may go well in a while
	gone    bool // the site itself says that there is no such page
	err     error
}

func (m *missed) Error() string { return m.reason }
func (m *missed) Unwrap() error { return m.err }

func miss(passing bool, format string, args ...any) error {
	return &missed{reason: fmt.Sprintf(format, args...), passing: passing}
}

// unreached makes a miss of an error of the client.
func unreached(err error) error {
	final := false
	for _, is := range []bool{is[*egress.Refusal](err), is[*egress.URLError](err), is[*egress.HostError](err), is[*egress.RobotsError](err), is[*egress.SizeError](err)} {
		final = final || is
	}
	if b, ok := errors.AsType[*BlockedError](err); ok {
		return b
	}
	if d, ok := errors.AsType[*net.DNSError](err); ok && d.IsNotFound {
		final = true
	}
	return &missed{reason: err.Error(), passing: !final, err: err}
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Fetch reads a page. Its errors are sentences for a model.
func (c *Chain) Fetch(ctx context.Context, r Request) (*Page, error) {
	header, err := readHeader(r.Header)
	if err != nil {
		return nil, err
	}
	page, internal, err := c.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.Kept {
		if p := c.kept.get(page.URL, r.Pages); p != nil {
			return p, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	t := &try{chain: c, page: page, about: r.About, job: job{url: page.URL, pages: r.Pages, header: header}, last: map[string]string{}}
	ways := c.order(page.URL, internal)
	for round := 0; ; round++ {
		again, done, err := t.round(ctx, ways)
		if err != nil {
			return nil, err
		}
		if done || t.best != nil || len(again) == 0 || round >= len(c.o.Waits) || !pause(ctx, c.o.Waits[round]) {
			break
		}
		ways = again
	}
	page, err = t.result(ctx)
	if err == nil && len(header) == 0 {
		c.kept.put(r.Pages, page)
	}
	return page, err
}

// prepare reads the address, and refuses what is not to be read. It reports whether
// the host is one that an operator opened.
func (c *Chain) prepare(ctx context.Context, r Request) (*Page, bool, error) {
	p := &Page{URL: strings.TrimSpace(r.URL)}
	u, err := p.complete()
	if err != nil {
		return nil, false, err
	}
	if err := c.policy.Check(p.URL); err != nil {
		return nil, false, err
	}
	if err := media(u.Path, ""); err != nil {
		return nil, false, err
	}
	if note := videoNote(u); note != "" {
		p.Notes = append(p.Notes, note)
	}
	port := map[string]int{"http": 80, "https": 443}[u.Scheme]
	if u.Port() != "" {
		port, _ = strconv.Atoi(u.Port())
	}
	target, err := c.o.Guard.Resolve(ctx, u.Hostname(), port)
	if _, ok := errors.AsType[*egress.LookupError](err); ok {
		return p, isPrivateName(u.Hostname()), ctx.Err() // a service may know the name
	}
	if err != nil {
		return nil, false, err
	}
	for _, a := range target.Addrs {
		if egress.Special(a) != "" {
			return p, true, nil
		}
	}
	return p, false, nil
}

// complete reads the address of p, and completes it.
func (p *Page) complete() (*url.URL, error) {
	if p.URL == "" {
		return nil, errors.New("the address is empty: give one such as https://example.com/page")
	}
	if len(p.URL) > maxURL || !utf8.ValidString(p.URL) || strings.ContainsFunc(p.URL, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return nil, fmt.Errorf("the address is longer than %d bytes or holds characters that none has", maxURL)
	}
	for _, reader := range []string{"https://r.jina.ai/", "http://r.jina.ai/"} { // models copy it from examples
		if rest, ok := strings.CutPrefix(p.URL, reader); ok && strings.HasPrefix(rest, "http") {
			p.URL = rest
		}
	}
	if !strings.Contains(p.URL, "://") {
		scheme, rest, _ := strings.Cut(p.URL, ":")
		if _, err := strconv.Atoi(strings.SplitN(rest, "/", 2)[0]); rest != "" && err != nil {
			return nil, fmt.Errorf("the scheme %q cannot be fetched: only http and https can", egress.Plain(scheme, 30))
		}
		p.Notes = append(p.Notes, "https:// was added to the address, which had no scheme")
		p.URL = "https://" + p.URL
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, errors.New("the address is no valid URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the scheme %q cannot be fetched: only http and https can", egress.Plain(u.Scheme, 30))
	}
	if u.User != nil {
		return nil, errors.New("the address holds a user name before @, which is not sent. Leave that part out")
	}
	u.Fragment, u.RawFragment = "", ""
	p.URL = u.String()
	p.Final = p.URL
	return u, nil
}

// order returns the ways for an address: the site itself first where it is a
// document, and nobody else where it lies inside.
func (c *Chain) order(address string, internal bool) []way {
	var out, rest []way
	doc := isDocument(address)
	for _, w := range c.ways {
		switch {
		case internal && !w.local:
		case doc && w.isSite:
			out = append(out, w)
		default:
			rest = append(rest, w)
		}
	}
	return append(out, rest...)
}
