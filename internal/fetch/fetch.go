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
// A model chooses the address, perhaps because a page that it read told it to. So
// only public addresses are reached: each is checked when the connection to it is
// made, after its name was resolved, so a name server that changes its mind gains
// nothing. Redirects go the same way, and the caller is asked about each.
//
// It is no browser: it runs no scripts, keeps no cookies and no cache, and asks
// for nothing but the page.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// Bounds on one page.
const (
	maxTime      = 10 * time.Second
	maxBody      = 5 << 20
	maxRedirects = 10
	maxURL       = 8 << 10
	maxHeader    = 64 << 10
)

// Options configures a Fetcher. The zero value works.
type Options struct {
	// Control decides on each connection, as net.Dialer has it. Nil lets those to
	// public addresses pass, on the usual ports of the web.
	Control func(network, address string, c syscall.RawConn) error
}

// A Fetcher reads pages. It is safe for concurrent use, and holds nothing between
// two of them.
type Fetcher struct{ transport *http.Transport }

// A Page is what was read.
type Page struct {
	URL  string // after redirects
	Text string // Markdown where the page is HTML, else as it came
}

// New returns a Fetcher.
func New(o Options) *Fetcher {
	if o.Control == nil {
		o.Control = public().Safe
	}
	dialer := &net.Dialer{Timeout: maxTime, Control: o.Control}
	return &Fetcher{transport: &http.Transport{
		Proxy:                  nil, // it would resolve names behind the guard
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    maxTime,
		DisableKeepAlives:      true, // pages come from everywhere, and rarely twice
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
	}}
}

// public is the guard for connections: no special-purpose address of the IANA
// registries, and none at which a cloud hands out credentials.
func public() *ssrf.Guardian {
	return ssrf.New(
		ssrf.WithPorts(80, 443, 8000, 8080, 8443),
		ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")), // Azure's, a public address
	)
}

// Page reads the page at an address. refuse, where not nil, is asked before each
// request, the redirects too; its error is returned as it is. Other errors say in
// a sentence what happened. It takes at most 10 s, and reads at most 5 MiB.
func (f *Fetcher) Page(ctx context.Context, address string, refuse func(url string) error) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	if refuse == nil {
		refuse = func(string) error { return nil }
	}
	u, err := parse(address)
	if err != nil {
		return Page{}, err
	}
	if err := refuse(u.String()); err != nil {
		return Page{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return Page{}, err
	}
	req.Header.Set("User-Agent", "tenon")
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1")
	client := &http.Client{Transport: f.transport, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return fmt.Errorf("it redirects more than %d times", maxRedirects)
		}
		if _, err := parse(next.URL.String()); err != nil {
			return err
		}
		return refuse(next.URL.String())
	}}
	resp, err := client.Do(req)
	if err != nil {
		return Page{}, reason(u, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return Page{}, fmt.Errorf("the site answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return Page{}, reason(u, err)
	}
	page := Page{URL: resp.Request.URL.String()}
	page.Text, err = text(body[:min(len(body), maxBody)], resp.Header.Get("Content-Type"), resp.Request.URL)
	if err == nil && len(body) > maxBody {
		page.Text += fmt.Sprintf("\n\n[cut: only the first %d MiB of the page were read]", maxBody>>20)
	}
	return page, err
}

// parse reads an address that may be requested.
func parse(address string) (*url.URL, error) {
	if len(address) > maxURL {
		return nil, fmt.Errorf("the address is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return nil, errors.New("the address is no valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the address has the scheme %q; only http and https can be fetched", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("the address names no host")
	case u.User != nil:
		return nil, errors.New("the address holds a user name, which is not sent")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// reason returns what went wrong as a sentence. An error of refuse, and of a
// redirect, stays what it is.
func reason(u *url.URL, err error) error {
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return fmt.Errorf("%s leads to an address that is not public, which is not fetched", u.Hostname())
	case errors.Is(err, ssrf.ErrProhibitedPort):
		return errors.New("the port is none of those of the web, which alone are fetched")
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer in whole within %s", u.Hostname(), maxTime)
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return fmt.Errorf("there is no host %s", u.Hostname())
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
