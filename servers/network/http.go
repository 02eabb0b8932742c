package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// Bounds on the answers, in characters.
const (
	httpChars    = 4000
	headersChars = 6000
)

// maxRedirects is how many redirects are followed.
const maxRedirects = 5

type httpInput struct {
	URL        string  `json:"url" jsonschema:"address to fetch; http:// is put before it where it has no scheme"`
	TimeoutSec float64 `json:"timeout_sec,omitempty" jsonschema:"seconds for all of it, 1 to 30; a number outside is brought to the nearest"`
}

type checkOutput struct {
	Status    int      `json:"status" jsonschema:"status of the last answer"`
	ElapsedMS float64  `json:"elapsed_ms" jsonschema:"how long it took in all"`
	FinalURL  string   `json:"final_url" jsonschema:"where redirects led"`
	Redirects []string `json:"redirects,omitempty" jsonschema:"the addresses that redirected, the first one first"`
}

type headersOutput struct {
	FinalURL string `json:"final_url" jsonschema:"where redirects led"`

	Headers map[string][]string `json:"headers" jsonschema:"headers of the last answer; values of cookies are masked; the first 60 names"`
}

// A fetcher gets pages over HTTP.
type fetcher struct {
	guard *egress.Guard
	roots *x509.CertPool // nil: the system's
}

func (f *fetcher) add(srv *mcp.Server) {
	add(srv, spec{
		Name: "http_check", Title: "HTTP check",
		Description: "Fetches a URL with GET and returns the status, how long it took, where redirects led, a few headers and the first 200 characters of the body. Answers whether a site works. Internal hosts are refused, also as the target of a redirect, unless the operator opened them.",
		Defaults:    map[string]any{"timeout_sec": 10},
		Bounds:      map[string][2]int{"timeout_sec": {1, 30}},
	}, f.check)
	add(srv, spec{
		Name: "http_headers", Title: "HTTP headers",
		Description: "Fetches a URL and returns all response headers, of each redirect on the way too. Values of cookies are masked. Internal hosts are refused, also as the target of a redirect, unless the operator opened them.",
		Defaults:    map[string]any{"timeout_sec": 10},
		Bounds:      map[string][2]int{"timeout_sec": {1, 30}},
	}, f.headers)
}

// A hop is one answer on the way to the last.
type hop struct {
	url    string
	status string
	header http.Header
}

// A page is what came of a URL.
type page struct {
	hops    []hop // the last is the answer
	body    []byte
	elapsed time.Duration
}

// output returns what is known as data.
func (p *page) output() checkOutput {
	last := p.last()
	code, _ := strconv.Atoi(strings.Fields(last.status + " 0")[0])
	out := checkOutput{Status: code, ElapsedMS: millis(p.elapsed), FinalURL: showURL(last.url, 600)}
	for _, h := range p.hops[:len(p.hops)-1] {
		out.Redirects = append(out.Redirects, showURL(h.url, 600))
	}
	return out
}

func (p *page) last() hop { return p.hops[len(p.hops)-1] }

func (f *fetcher) check(ctx context.Context, in httpInput) (string, checkOutput, error) {
	p, err := f.fetch(ctx, in, 4096)
	if err != nil {
		return "", checkOutput{}, err
	}
	last := p.last()
	var b strings.Builder
	fmt.Fprintf(&b, "## HTTP check\n\n- status: %s\n- elapsed: %s\n- final_url: %s\n", plain(last.status, 80), ms(p.elapsed), showURL(last.url, 600))
	for _, h := range p.hops[:len(p.hops)-1] {
		fmt.Fprintf(&b, "- redirect: %s from %s\n", plain(h.status, 40), showURL(h.url, 200))
	}
	for _, name := range []string{"Server", "Content-Type", "Content-Length", "X-Cache"} {
		if v := last.header.Get(name); v != "" {
			fmt.Fprintf(&b, "- %s: %s\n", strings.ToLower(name), plain(v, 200))
		}
	}
	fmt.Fprintf(&b, "- body: %s\n", preview(p.body))
	return b.String(), p.output(), nil
}

func (f *fetcher) headers(ctx context.Context, in httpInput) (string, headersOutput, error) {
	p, err := f.fetch(ctx, in, 0)
	if err != nil {
		return "", headersOutput{}, err
	}
	var b strings.Builder
	for i, h := range slices.Backward(p.hops) { // the answer first: what is cut off is of the way
		what := "Answer"
		if i < len(p.hops)-1 {
			what = fmt.Sprintf("Redirect %d", i+1)
		}
		fmt.Fprintf(&b, "## %s: %s from %s\n\n", what, plain(h.status, 80), showURL(h.url, 300))
		for _, name := range slices.Sorted(maps.Keys(h.header)) {
			for _, v := range h.header[name] {
				fmt.Fprintf(&b, "- %s: %s\n", plain(name, 80), headerValue(name, v))
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "Took %s.\n", ms(p.elapsed))
	out := headersOutput{p.output().FinalURL, map[string][]string{}}
	header := p.last().header
	names := slices.Sorted(maps.Keys(header))
	for _, name := range names[:min(60, len(names))] {
		for _, v := range header[name][:min(20, len(header[name]))] {
			out.Headers[plain(name, 80)] = append(out.Headers[plain(name, 80)], headerValue(name, v))
		}
	}
	if s := b.String(); utf8.RuneCountInString(s) > headersChars {
		return cut(s, headersChars-60) + "\n\nThe rest was left out to keep the answer short.", out, nil
	}
	return b.String(), out, nil
}

// headerValue returns a header's value as it may be shown: who has a session
// cookie has the session.
func headerValue(name, v string) string {
	switch name {
	case "Set-Cookie", "Set-Cookie2":
		pair, attributes, _ := strings.Cut(v, ";")
		key, _, _ := strings.Cut(pair, "=")
		if attributes != "" {
			attributes = ";" + attributes
		}
		return plain(key+"=•••"+attributes, 300)
	case "Location", "Content-Location":
		return showURL(v, 300)
	}
	return plain(v, 400)
}

// showURL returns a URL for an answer. What stands before @ is a password, or
// pretends to be a host.
func showURL(s string, limit int) string {
	if u, err := url.Parse(s); err == nil && u.User != nil {
		u.User = url.User("•••")
		s = u.String()
	}
	return plain(s, limit)
}

// preview returns the first 200 characters of a body on one line.
func preview(body []byte) string {
	if len(body) == 0 {
		return "(empty)"
	}
	for i, r := range string(body) {
		if r == 0 || r == utf8.RuneError && i < len(body)-utf8.UTFMax {
			return "(not text)"
		}
	}
	return cut(strings.Join(strings.Fields(plain(string(body), 4096)), " "), 200)
}

// fetch gets a URL and at most limit bytes of the body of the last answer.
func (f *fetcher) fetch(ctx context.Context, in httpInput, limit int64) (*page, error) {
	u, err := parseURL(in.URL)
	if err != nil {
		return nil, err
	}
	patience := seconds(in.TimeoutSec, 1, 30)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := &page{}
	client := f.client(p, patience)
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s is no URL that can be fetched", showURL(in.URL, 120))
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "*/*")
	start := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return nil, p.failure(u, err, patience)
	}
	defer resp.Body.Close()
	p.hops = append(p.hops, hopOf(resp))
	if limit > 0 {
		p.body, err = io.ReadAll(io.LimitReader(resp.Body, limit))
		if err != nil && len(p.body) == 0 {
			return nil, p.failure(u, err, patience)
		}
	}
	p.elapsed = time.Since(start)
	return p, nil
}

func hopOf(resp *http.Response) hop {
	return hop{resp.Request.URL.String(), resp.Status, resp.Header}
}

// client returns a client for one page. It reaches hosts through the guard only,
// and keeps no connection and no cookie. The transport dials without the deadline
// of the request, so each connection gets the patience as its own.
func (f *fetcher) client(p *page, patience time.Duration) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy: nil, // a proxy would resolve names where the guard does not see it
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				return f.guard.DialContext(ctx, network, address)
			},
			TLSClientConfig:        &tls.Config{RootCAs: f.roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2:      true,
			DisableKeepAlives:      true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			p.hops = append(p.hops, hopOf(req.Response))
			if len(via) > maxRedirects {
				return errTooMany
			}
			req.Header.Del("Referer")
			return checkURL(req.URL)
		},
	}
}

var errTooMany = errors.New("too many redirects")

// failure says what went wrong, and where on the way.
func (p *page) failure(u *url.URL, err error, patience time.Duration) error {
	what := showURL(u.String(), 200)
	if n := len(p.hops); n > 0 {
		what = fmt.Sprintf("%s, redirected by %s to %s", what, showURL(p.hops[n-1].url, 200), showURL(p.hops[n-1].header.Get("Location"), 200))
	}
	var e *urlError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, errTooMany):
		return fmt.Errorf("%s: more than %d redirects. Call http_headers with one of the last URLs to see where it goes in circles", what, maxRedirects)
	case errors.As(err, &e):
		return fmt.Errorf("%s: %w", what, e)
	case errors.As(err, &cert):
		return fmt.Errorf("%s: the certificate is not valid: %s. Call tls_check for details", what, plain(cert.Err.Error(), 200))
	case errors.As(err, &record):
		return fmt.Errorf("%s: the answer is not TLS. Try http:// in place of https://", what)
	case len(p.hops) > 0 && said(err):
		return fmt.Errorf("%s: %w", what, unwrapSaid(err))
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return failure(what, err, patience)
}

// A urlError is the error for a URL that no tool fetches.
type urlError struct{ why string }

// Error says what is wrong with the URL.
func (e *urlError) Error() string { return e.why }

// parseURL reads what a model wrote for a URL.
func parseURL(s string) (*url.URL, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, &urlError{"url is empty. Give one such as https://example.com/"}
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil {
		return nil, &urlError{fmt.Sprintf("%s is no URL. Give one such as https://example.com/", show(s))}
	}
	u.Fragment, u.RawFragment = "", ""
	return u, checkURL(u)
}

// checkURL says why a URL is not fetched, before its host is looked at: the guard
// does that when the connection is made.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &urlError{fmt.Sprintf("refused: the scheme %s is not fetched, only http and https", show(u.Scheme))}
	case u.User != nil:
		return &urlError{"refused: a URL with a user or password before @ is not fetched. Leave that part out"}
	case u.Opaque != "" || u.Hostname() == "":
		return &urlError{"the URL has no host. Give one such as https://example.com/"}
	}
	_, err := egress.ParseHost(u.Hostname())
	return err
}
