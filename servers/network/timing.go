package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
)

const timingChars = 5000

// timingBody is how much of a body is read.
const timingBody = 4 << 20

type timingOutput struct {
	URL     string      `json:"url" jsonschema:"where redirects led"`
	Status  int         `json:"status" jsonschema:"status of the last answer"`
	TotalMS float64     `json:"total_ms" jsonschema:"all of it, redirects too"`
	Hops    []timingHop `json:"hops" jsonschema:"each request, the last one is the answer"`
}

type timingHop struct {
	URL        string  `json:"url" jsonschema:"what was fetched"`
	Status     int     `json:"status" jsonschema:"status of the answer"`
	Address    string  `json:"address" jsonschema:"address and port that answered"`
	DNSMS      float64 `json:"dns_ms" jsonschema:"resolving the name"`
	ConnectMS  float64 `json:"connect_ms" jsonschema:"TCP connection"`
	TLSMS      float64 `json:"tls_ms" jsonschema:"TLS handshake; 0 for http"`
	WaitMS     float64 `json:"first_byte_ms" jsonschema:"from the request to the first byte of the answer"`
	DownloadMS float64 `json:"download_ms" jsonschema:"from the first byte to the end of the body"`
	TotalMS    float64 `json:"total_ms" jsonschema:"all of this request"`
	Bytes      int64   `json:"bytes" jsonschema:"bytes of the body, once unpacked; no more than 4 MiB are read"`
}

// A timer measures the phases of requests.
type timer struct {
	guard *egress.Guard
	roots *x509.CertPool
}

func (c *timer) add(srv *mcp.Server) {
	add(srv, spec{
		Name: "http_timing", Title: "HTTP timing",
		Description: "Fetches a URL with GET and returns how long each phase took: DNS, TCP connection, TLS, waiting for the first byte, reading the body; for each redirect on the way too. Every request is made over a new connection. Tells whether the name servers, the network, the handshake or the site itself is slow. Internal hosts are refused, also as the target of a redirect, unless the operator opened them.",
		Defaults:    map[string]any{"timeout_sec": 10},
		Bounds:      map[string][2]int{"timeout_sec": {1, 30}},
	}, c.measure)
}

func (c *timer) measure(ctx context.Context, in httpInput) (string, timingOutput, error) {
	u, err := parseURL(in.URL)
	if err != nil {
		return "", timingOutput{}, err
	}
	patience := seconds(in.TimeoutSec, 1, 30)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	way := &page{} // for what is said of a failure
	out := timingOutput{}
	at := u
	for start := time.Now(); ; {
		h, err := c.hop(ctx, at)
		if err != nil {
			return "", timingOutput{}, way.failure(u, err, patience)
		}
		out.Hops = append(out.Hops, h.timingHop)
		out.URL, out.Status, out.TotalMS = h.URL, h.Status, millis(time.Since(start))
		next, on, err := h.following()
		if err == nil && !on {
			return timingText(out), out, nil
		}
		way.hops = append(way.hops, hop{at.String(), h.status, h.header})
		if err == nil && len(way.hops) > maxRedirects {
			err = errTooMany
		}
		if err != nil {
			return "", timingOutput{}, way.failure(u, err, patience)
		}
		at = next
	}
}

// A timed is one answer on the way, with where it leads.
type timed struct {
	timingHop

	status string
	header http.Header
	at     *url.URL
}

// following returns where an answer redirects to, and whether it does.
func (h timed) following() (*url.URL, bool, error) {
	switch h.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, false, nil
	}
	to := h.header.Get("Location")
	if to == "" {
		return nil, false, nil
	}
	next, err := h.at.Parse(to)
	if err != nil {
		return nil, false, &urlError{"it redirects to what is no URL"}
	}
	next.Fragment, next.RawFragment = "", ""
	return next, true, checkURL(next)
}

// A stopwatch notes when phases ended. The library tells of them from several
// goroutines, also after a request has failed.
type stopwatch struct {
	mu                                            sync.Mutex
	start, resolved, connected, tls0, tls1, wrote time.Time
	first                                         time.Time
	address                                       string
}

func (w *stopwatch) note(t *time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*t = time.Now()
}

// hop makes one request over a connection of its own and reads the answer.
func (c *timer) hop(ctx context.Context, u *url.URL) (timed, error) {
	w := &stopwatch{start: time.Now()}
	transport := &http.Transport{
		DialContext:       c.dial(w),
		TLSClientConfig:   &tls.Config{RootCAs: c.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
	defer transport.CloseIdleConnections()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart:    func() { w.note(&w.tls0) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { w.note(&w.tls1) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { w.note(&w.wrote) },
		GotFirstResponseByte: func() { w.note(&w.first) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return timed{}, &urlError{"the URL cannot be fetched"}
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Accept", "*/*")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return timed{}, err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, io.LimitReader(resp.Body, timingBody))
	if err != nil {
		return timed{}, err
	}
	h := w.hop(time.Now())
	h.URL, h.Status, h.Bytes = showURL(u.String(), 600), resp.StatusCode, n
	return timed{h, resp.Status, resp.Header, u}, nil
}

// dial resolves and connects in two steps, as the guard has them.
func (c *timer) dial(w *stopwatch) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		name, p, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		port, err := strconv.ParseUint(p, 10, 16)
		if err != nil || port == 0 {
			return nil, &urlError{"the port of the URL is not between 1 and 65535"}
		}
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		t, err := c.guard.Resolve(ctx, name, int(port))
		if err != nil {
			return nil, err
		}
		w.note(&w.resolved)
		conn, err := c.guard.Connect(ctx, network, t, uint16(port))
		if err != nil {
			return nil, err
		}
		w.note(&w.connected)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.address = conn.RemoteAddr().String()
		return conn, nil
	}
}

func (w *stopwatch) hop(end time.Time) timingHop {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := timingHop{
		Address: w.address, DNSMS: millis(w.resolved.Sub(w.start)), ConnectMS: millis(w.connected.Sub(w.resolved)),
		WaitMS: millis(w.first.Sub(w.wrote)), DownloadMS: millis(end.Sub(w.first)), TotalMS: millis(end.Sub(w.start)),
	}
	if !w.tls1.IsZero() {
		h.TLSMS = millis(w.tls1.Sub(w.tls0))
	}
	if w.wrote.IsZero() || h.WaitMS < 0 { // the answer came before the request was out
		h.WaitMS = max(millis(w.first.Sub(w.connected))-h.TLSMS, 0)
	}
	return h
}

// timingText draws one bar for each phase, below each other as they follow.
func timingText(out timingOutput) string {
	var b strings.Builder
	last := out.Hops[len(out.Hops)-1]
	fmt.Fprintf(&b, "## HTTP timing: %d in %.1f ms\n\n", out.Status, out.TotalMS)
	for i, h := range out.Hops {
		what := "Answer"
		if i < len(out.Hops)-1 {
			what = fmt.Sprintf("Redirect %d", i+1)
		}
		fmt.Fprintf(&b, "%s: %d from %s (%s, %d bytes)\n\n```\n", what, h.Status, plain(h.URL, 200), h.Address, h.Bytes)
		at := 0.0
		for _, phase := range []struct {
			name string
			ms   float64
		}{{"dns", h.DNSMS}, {"connect", h.ConnectMS}, {"tls", h.TLSMS}, {"first byte", h.WaitMS}, {"download", h.DownloadMS}} {
			fmt.Fprintf(&b, "%-10s %9.1f ms  %s\n", phase.name, phase.ms, bar(at, phase.ms, h.TotalMS))
			at += phase.ms
		}
		fmt.Fprintf(&b, "%-10s %9.1f ms\n```\n", "total", h.TotalMS)
	}
	if last.Bytes == timingBody {
		b.WriteString("The body is larger than 4 MiB; the rest was not read.\n")
	}
	return b.String()
}

// bar draws a phase on a line that stands for the whole.
func bar(at, long, whole float64) string {
	const width = 40
	if whole <= 0 || long <= 0 {
		return ""
	}
	from := clamp(int(at/whole*width), 0, width-1)
	n := clamp(int(long/whole*width+0.5), 1, width-from)
	return strings.Repeat(" ", from) + strings.Repeat("█", n)
}
