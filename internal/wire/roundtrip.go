package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

const (
	dialTimeout    = 10 * time.Second
	maxIdlePerHost = 64
	maxHops        = 5 // redirects of one request

	// joinSize is the length up to which the parts of a message are joined: one
	// write of one packet. Longer ones are not copied.
	joinSize = 64 << 10
)

// HTTPOptions configures an HTTP or SSE client. URL must be set.
type HTTPOptions struct {
	URL string
	// Header goes with every request. Its values may be secrets: they appear in
	// no error.
	Header http.Header
	// Client sends the requests. Its Timeout bounds whole streams, so it should be
	// 0; redirects are this package's matter. Nil is a client of its own: no proxy,
	// no compression, kept-alive connections, bounds for connecting but none for
	// the answer, which is the context's.
	Client *http.Client
	// Wrap puts something between this package and the client of its own, such as a
	// login. It may repeat a request that was refused, and no other. Not with Client.
	Wrap func(http.RoundTripper) http.RoundTripper
	// Handler takes what the server asks and notifies. Nil answers ping and
	// refuses the rest.
	Handler Handler
	// MaxMessage bounds one message, in bytes. 0 is DefaultMaxMessage.
	MaxMessage int64
	// Garbage takes the head of each event that is no message, and why. Nil drops
	// them.
	Garbage func(head []byte, err error)
}

func (o *HTTPOptions) setDefaults() {
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.Garbage == nil {
		o.Garbage = func([]byte, error) {}
	}
}

// A sender sends HTTP requests to one origin, and knows what an answer that is
// no success means.
type sender struct {
	url     *url.URL
	base    http.Header // with every request
	roundTo func(*http.Request) (*http.Response, error)
	own     *http.Transport // nil where the client is the caller's
	secrets []string
}

func newSender(o *HTTPOptions) (*sender, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("URL cannot be read") // the parser's error repeats it, keys and all
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("URL is neither http:// nor https:// with a host")
	}
	s := &sender{url: u, base: baseHeader(o.Header), secrets: secrets(u, o.Header)}
	if user := u.User; user != nil {
		u.User = nil
		if s.base.Get("Authorization") == "" {
			password, _ := user.Password()
			r := http.Request{Header: s.base}
			r.SetBasicAuth(user.Username(), password)
		}
	}
	switch c := o.Client; {
	case c == nil:
		s.own = newTransport()
		s.roundTo = s.own.RoundTrip
		if o.Wrap != nil {
			s.roundTo = o.Wrap(s.own).RoundTrip
		}
	case c.Jar == nil && c.Timeout == 0 && c.Transport != nil:
		s.roundTo = c.Transport.RoundTrip // Do would copy the headers once more
	default:
		own := *c
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		s.roundTo = own.Do
	}
	return s, nil
}

// baseHeader returns a copy of h without what HTTP itself has to decide.
func baseHeader(h http.Header) http.Header {
	out := http.Header{}
	for k, v := range h {
		switch k = http.CanonicalHeaderKey(k); k {
		case "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer":
		default:
			out[k] = v
		}
	}
	if out["User-Agent"] == nil {
		out["User-Agent"] = []string{"tenon"}
	}
	// Without it a server may compress, and a small answer may unpack to any size.
	out["Accept-Encoding"] = []string{"identity"}
	return out
}

func newTransport() *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    dialTimeout,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		Protocols:              protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}

// template returns a request without body, to be copied for each that is sent.
func (s *sender) template(method string, set http.Header) *http.Request {
	h := maps.Clone(s.base)
	maps.Copy(h, set)
	return &http.Request{
		Method: method, URL: s.url, Host: h.Get("Host"), Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

// A progress of one request over the network. The hooks are called by the
// goroutine that sends.
type sending struct {
	trace     httptrace.ClientTrace
	own       bool
	asked     atomic.Bool // for a connection
	connected atomic.Bool
}

// neverSent reports whether the request provably never left. A transport that
// is not net/http's may not call the hooks: then nothing is proved.
func (s *sending) neverSent() bool {
	return !s.connected.Load() && (s.own || s.asked.Load())
}

func newSending(own bool) *sending {
	s := &sending{own: own}
	s.trace.GetConn = func(string) {
		s.asked.Store(true)
		if own {
			// net/http tries again, and only since nothing was written: see body.
			s.connected.Store(false)
		}
	}
	s.trace.GotConn = func(httptrace.GotConnInfo) { s.connected.Store(true) }
	return s
}

// do sends one request made from a template, and follows redirects within the
// origin. Its error is a *SendError where the request provably never left, and
// the cause of ctx where that ended.
func (s *sender) do(ctx context.Context, template *http.Request, frame tool.Bytes) (*http.Response, error) {
	target := template.URL
	for range maxHops {
		sent := newSending(s.own != nil)
		req := template.WithContext(httptrace.WithClientTrace(ctx, &sent.trace))
		req.URL = target
		if s.own == nil {
			req.Header = template.Header.Clone() // a foreign transport may change it
		}
		setBody(req, frame)
		resp, err := s.roundTo(req)
		if err != nil {
			err = s.failure(ctx, err)
			if sent.neverSent() {
				return nil, &SendError{err}
			}
			return nil, err
		}
		if target, err = s.redirected(resp, req); err != nil {
			discard(resp.Body)
			return nil, err
		}
		if target == nil {
			return resp, nil
		}
		discard(resp.Body)
	}
	return nil, &RedirectError{"server redirects in a circle"}
}

// setBody gives req the message as its body.
//
// With a GetBody, net/http sends a POST again by itself where a kept connection
// turned out to be dead before the first byte was written, or where an HTTP/2
// server said that it did not look at the request: both without harm. With an
// Idempotency-Key it would also repeat what was already written. Whether that
// may be is not for this layer to say, so then it gets no GetBody.
func setBody(req *http.Request, frame tool.Bytes) {
	if frame == nil {
		return
	}
	size := frame.Len()
	if size <= joinSize && len(frame) > 1 {
		frame = tool.OneOf(frame.Join())
	}
	req.Body = newBody(frame)
	req.ContentLength = int64(size)
	if req.Header["Idempotency-Key"] == nil && req.Header["X-Idempotency-Key"] == nil {
		req.GetBody = func() (io.ReadCloser, error) { return newBody(frame), nil }
	}
}

// newBody returns a reader of frame. net/http knows a bytes.Reader, and sends it
// in one packet with the headers.
func newBody(frame tool.Bytes) io.ReadCloser {
	if len(frame) == 1 {
		return io.NopCloser(bytes.NewReader(frame[0]))
	}
	readers := make([]io.Reader, len(frame))
	for i, p := range frame {
		readers[i] = bytes.NewReader(p)
	}
	return io.NopCloser(io.MultiReader(readers...))
}

// failure returns why a request failed, without the URL, which may hold a key.
func (s *sender) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// redirected returns where to send the request again, or nil where resp is no
// redirect. Headers go to no other origin, and a POST stays one.
func (s *sender) redirected(resp *http.Response, req *http.Request) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
	default:
		return nil, nil
	}
	to, err := req.URL.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return nil, &RedirectError{fmt.Sprintf("server redirects (%d) to nowhere", resp.StatusCode)}
	}
	shown := (&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String()
	if !sameOrigin(to, s.url) {
		return nil, &RedirectError{fmt.Sprintf("server redirects to another origin, %s; if that is right, configure it as the URL", shown)}
	}
	if resp.StatusCode < http.StatusTemporaryRedirect && req.Method != http.MethodGet {
		return nil, &RedirectError{fmt.Sprintf("server has moved (%d) to %s; configure that as the URL", resp.StatusCode, shown)}
	}
	return to, nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// discard closes a body that nobody reads, after a little of it: a connection
// whose answer was read to the end can be used again.
func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxErrorBody) // it is closed in any case
	_ = body.Close()
}

func (s *sender) close() {
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
}
