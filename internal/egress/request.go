package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
)

// A Request is one that a server makes. The zero values of all but URL are good.
type Request struct {
	Method  string // default: GET
	URL     string
	Header  http.Header
	Body    []byte
	MaxBody int64         // in place of the client's
	Cut     bool          // a larger body is cut and not an error
	Timeout time.Duration // in place of the client's Times.Total
	Retry   Retry
	Robots  bool // ask the site's robots.txt first, of each redirect too

	// Refuse, where not nil, is asked before each request, redirects too. Its error
	// is returned as it is.
	Refuse func(url string) error
}

// A Response is what came of a request, whatever its status.
type Response struct {
	URL       string // after redirects
	Status    int
	Header    http.Header
	Body      []byte // nil after Open
	Cut       bool   // the body was longer
	Redirects []string
	Attempts  int
}

// OK reports whether the status is one of success.
func (r *Response) OK() bool { return r.Status >= 200 && r.Status <= 299 }

// A SizeError is the error for a body that is larger than what is read.
type SizeError struct{ Limit int64 }

// Error says how much is read.
func (e *SizeError) Error() string {
	return fmt.Sprintf("the answer is larger than %s, the most that is read", size(e.Limit))
}

func size(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Do makes a request and reads the body of the answer, in memory, up to the
// bound. A status that tells of a failure is no error. The errors are sentences
// that a model may read.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	resp, body, err := c.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	resp.Body, err = io.ReadAll(body)
	if err != nil {
		return nil, c.reason(resp.URL, err)
	}
	if b, ok := body.(*bounded); ok {
		resp.Cut = b.cut
	}
	return resp, nil
}

// Open makes a request and returns its body to be read as a stream, which ends in
// a [SizeError] beyond the bound. The caller closes it. Retries end where the body
// begins.
func (c *Client) Open(ctx context.Context, r Request) (*Response, io.ReadCloser, error) {
	u, _, err := parseURL(r.URL)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, first(r.Timeout, c.o.Times.Total))
	resp, body, err := c.open(ctx, cancel, r, u)
	if err != nil {
		cancel()
		return nil, nil, c.reason(u.String(), err)
	}
	return resp, body, nil
}

func (c *Client) open(ctx context.Context, cancel func(), r Request, u *url.URL) (*Response, io.ReadCloser, error) {
	if _, err := c.check(u); err != nil {
		return nil, nil, err
	}
	if err := c.permit(ctx, r, u); err != nil {
		return nil, nil, err
	}
	resp, attempts, err := c.retry(ctx, r, u)
	if err != nil {
		return nil, nil, err
	}
	out := &Response{URL: resp.Request.URL.String(), Status: resp.StatusCode, Header: resp.Header, Redirects: way(resp), Attempts: attempts}
	limit := first(r.MaxBody, c.o.MaxBody)
	if resp.ContentLength > limit && !r.Cut {
		resp.Body.Close()
		return nil, nil, &SizeError{limit}
	}
	return out, &bounded{body: resp.Body, left: limit, limit: limit, mayCut: r.Cut, cancel: cancel}, nil
}

// permit asks those who may refuse a URL.
func (c *Client) permit(ctx context.Context, r Request, u *url.URL) error {
	if r.Refuse != nil {
		if err := r.Refuse(u.String()); err != nil {
			return &refusedError{err}
		}
	}
	if r.Robots && c.service == "" {
		return c.robots.permit(ctx, c, u)
	}
	return nil
}

// A refusedError carries the error of Request.Refuse through the library.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// way returns the URLs that led to an answer by redirects, the first one first.
func way(resp *http.Response) []string {
	var urls []string
	for prev := resp.Request.Response; prev != nil; prev = prev.Request.Response {
		urls = append([]string{prev.Request.URL.String()}, urls...)
	}
	return urls
}

// once makes one attempt.
func (c *Client) once(ctx context.Context, r Request, u *url.URL) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if len(r.Body) > 0 {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, first(r.Method, http.MethodGet), u.String(), body)
	if err != nil {
		return nil, &URLError{"the request cannot be made: method or address is wrong"}
	}
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if h := req.Header.Get("Host"); h != "" {
		return nil, &URLError{"the header Host cannot be set"}
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", c.o.UserAgent)
	}
	client := &http.Client{Transport: c.transport, CheckRedirect: c.checkRedirect(r)}
	resp, err := client.Do(req)
	if err != nil && resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
	return resp, err
}

// kept are the headers that go along to another host.
var kept = map[string]bool{"Accept": true, "Accept-Language": true, "User-Agent": true, "Range": true}

// checkRedirect returns how the next step of a way is checked, before the guard
// does.
func (c *Client) checkRedirect(r Request) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return &URLError{fmt.Sprintf("it redirects more than %d times", maxRedirects)}
		}
		if len(next.URL.String()) > maxURL {
			return &URLError{"it redirects to an address that is too long"}
		}
		next.Header.Del("Referer")
		if abroad(next, via) {
			if next.Body != nil && next.Body != http.NoBody {
				return &URLError{"it redirects what was sent to another host, which is not followed"}
			}
			for name := range next.Header {
				if !kept[name] {
					next.Header.Del(name)
				}
			}
		}
		if _, err := c.check(next.URL); err != nil {
			return err
		}
		return c.permit(next.Context(), r, next.URL)
	}
}

// abroad reports whether a way has ever left the origin where it began.
func abroad(next *http.Request, via []*http.Request) bool {
	for _, r := range append(via[1:len(via):len(via)], next) {
		if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme && r.URL.Scheme != "https" {
			return true
		}
	}
	return false
}

// bounded is a body of which no more than a limit is read.
type bounded struct {
	body        io.ReadCloser
	left, limit int64
	mayCut, cut bool
	cancel      func()
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.left > 0 {
		n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		return n, err
	}
	var more [1]byte
	switch n, err := io.ReadFull(b.body, more[:]); {
	case n == 0:
		return 0, err // the end, or what went wrong there
	case b.mayCut:
		b.cut = true
		return 0, io.EOF
	}
	return 0, &SizeError{b.limit}
}

// Close ends the request.
func (b *bounded) Close() error {
	defer b.cancel()
	return b.body.Close()
}

// reason returns what went wrong as a sentence that names the host, and never the
// address in whole: keys stand in addresses.
func (c *Client) reason(address string, err error) error {
	host := "the host"
	if u, e := url.Parse(address); e == nil {
		host = Plain(u.Host, 120)
	}
	return Reason(host, err)
}

// Reason returns an error of [Client.HTTP] as a sentence about a host, without the
// address, which an error of the library holds in whole.
func Reason(host string, err error) error {
	if e, ok := errors.AsType[*lateError](err); ok {
		return &failure{Reason(host, e.error).Error() + "; the attempt before failed: " + e.before, err}
	}
	if e, ok := errors.AsType[*refusedError](err); ok {
		return e.err
	}
	if e := said(err); e != nil {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	var network net.Error
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return &failure{"canceled", err}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &failure{host + " did not answer in whole in time", err}
	case isRefused(err):
		return &failure{host + " refused the connection: nothing listens on that port", err}
	case errors.As(err, &cert):
		return &failure{fmt.Sprintf("the certificate of %s is not valid: %s", host, Plain(cert.Err.Error(), 200)), err}
	case isPlain(err):
		return &failure{host + " does not speak TLS on that port; try http:// in place of https://", err}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &failure{host + " ended its answer too early", err}
	case strings.Contains(err.Error(), "407"), strings.Contains(err.Error(), "Proxy Authentication"):
		return &failure{"the proxy wants a login: an operator can put user and password into its address", err}
	}
	return &failure{host + ": " + Plain(err.Error(), 200), err}
}

func isRefused(err error) bool {
	const windows = syscall.Errno(10061) // its word, which is none of the portable errors
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, windows)
}

// unmet reports whether nobody was met who could answer: whatever is asked for there, it
// will be the same.
func unmet(err error) bool {
	_, cert := errors.AsType[*tls.CertificateVerificationError](err)
	return isRefused(err) || isPlain(err) || cert
}

// isPlain reports whether something other than TLS answered where TLS was spoken.
func isPlain(err error) bool {
	_, record := errors.AsType[tls.RecordHeaderError](err)
	return record || errors.Is(err, http.ErrSchemeMismatch)
}

// A failure is an error whose text is for the model, and its cause for the code.
type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

// said returns the error of this package that err holds, or nil.
func said(err error) error {
	if e, ok := errors.AsType[*Refusal](err); ok {
		return e
	}
	if e, ok := errors.AsType[*HostError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*URLError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*SizeError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*RobotsError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*LookupError](err); ok {
		return e
	}
	return nil
}
