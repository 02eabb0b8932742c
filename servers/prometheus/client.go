package prometheus

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/jsonsize"
	"github.com/tenon-mcp/tenon/internal/version"
)

const (
	maxBody      = 16 << 20 // bytes of one answer of the API
	longestGet   = 1800     // bytes of parameters that still go into an address
	maxRedirects = 3

	// What all lists of one answer may hold: each element needs much more memory than bytes.
	maxElements = 200_000
	maxNumbers  = 3_000_000
)

const masked = "•••"

// A client speaks the HTTP API. It is safe for use by several calls at once.
type client struct {
	http      *http.Client
	base      *url.URL // without a login; its query goes with every request
	header    http.Header
	tokenFile string
	secrets   []string // what no answer may show
}

// hide adds values that are taken out of all that the server answers. Short ones
// are left alone: they would take harmless words apart.
func (c *client) hide(values ...string) {
	for _, v := range values {
		if len(v) < 4 {
			continue
		}
		for range 3 { // as it is, in JSON, and in JSON that a text of JSON holds
			if !slices.Contains(c.secrets, v) {
				c.secrets = append(c.secrets, v)
			}
			quoted, err := json.Marshal(v)
			if err != nil {
				break
			}
			v = string(quoted[1 : len(quoted)-1])
		}
	}
}

func (c *client) fileToken() (string, error) {
	f, err := os.Open(c.tokenFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if token == "" || strings.ContainsAny(token, "\r\n") {
		return "", errors.New("the file does not hold one token on one line")
	}
	return token, nil
}

// httpClient returns a client that sends nothing to another host: who controls a
// redirect must not get the login.
func httpClient(config *tls.Config, base *url.URL) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			TLSClientConfig:        config,
			ForceAttemptHTTP2:      true,
			MaxIdleConnsPerHost:    4,
			IdleConnTimeout:        30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return &apiError{text: "the server redirects in circles. Is the path of the option url right?"}
			}
			if req.URL.Scheme != base.Scheme || req.URL.Host != base.Host {
				to := url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host}
				return &apiError{text: "the server redirects to " + answer.Line(to.String(), 200) + ", which is not followed, for the login would go along. " +
					"If that is the right address (or a page to log in at), the operator sets the option url accordingly"}
			}
			req.Header.Del("Referer")
			return nil
		},
	}
}

// An apiError is an error whose text is an answer.
type apiError struct {
	kind string // errorType of the API; empty where it is none of its errors
	text string
}

// Error returns what to tell a model.
func (e *apiError) Error() string { return e.text }

// An envelope is what every answer of the API stands in.
type envelope struct {
	Status    string          `json:"status"`
	Data      json.RawMessage `json:"data"`
	ErrorType string          `json:"errorType"`
	Error     string          `json:"error"`
	Warnings  []string        `json:"warnings"`
	Infos     []string        `json:"infos"`
}

// notes are what the API says beside an answer.
type notes struct {
	Warnings []string `json:"warnings,omitempty" jsonschema:"what Prometheus warns of: the answer may be incomplete or wrong"`
	Infos    []string `json:"infos,omitempty" jsonschema:"what Prometheus remarks on the query"`
}

// get asks an endpoint below /api/v1/ and reads its data into out.
func (c *client) get(ctx context.Context, endpoint string, params url.Values, out any) (notes, error) {
	code, body, err := c.fetch(ctx, "/api/v1/"+endpoint, params)
	if err != nil {
		return notes{}, err
	}
	var e envelope
	if json.Unmarshal(body, &e) != nil || e.Status == "" {
		return notes{}, noAPI(code, body, c.base)
	}
	if e.Status != "success" {
		return notes{}, failed(code, e)
	}
	most := maxElements
	if strings.HasPrefix(endpoint, "query") || strings.HasPrefix(endpoint, "label") { // numbers and names, which are small
		most = maxNumbers
	}
	if jsonsize.Over(e.Data, most) {
		return notes{}, &apiError{text: fmt.Sprintf("the answer holds more than %d values. Ask for less: narrow the selector, aggregate, name a scrape_pool, or look back less", most)}
	}
	n := notes{bounded(e.Warnings), bounded(e.Infos)}
	if err := json.Unmarshal(e.Data, out); err != nil {
		return n, &apiError{text: "the answer of the server is of an unknown form: " + answer.Line(err.Error(), 200)}
	}
	return n, nil
}

// bounded returns at most ten texts of bounded length.
func bounded(list []string) []string {
	var out []string
	for _, s := range list[:min(len(list), 10)] {
		out = append(out, answer.Line(s, 300))
	}
	return out
}

// fetch gets what is at a path below the base address: by GET where the
// parameters are short, else by POST, which takes any length.
func (c *client) fetch(ctx context.Context, path string, params url.Values) (int, []byte, error) {
	u := *c.base
	u = *u.JoinPath(path)
	if strings.Contains(path, "%") { // a label that is escaped already
		u.RawPath = c.base.EscapedPath() + path
		u.Path, _ = url.PathUnescape(u.RawPath)
	}
	method, form := http.MethodGet, params.Encode()
	var body io.Reader
	if len(form) > longestGet {
		method, body = http.MethodPost, strings.NewReader(form)
	} else if form != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+form, "&")
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return 0, nil, &apiError{text: "this cannot be asked for: " + answer.Line(err.Error(), 200)}
	}
	hidden := c.secrets
	maps.Copy(req.Header, c.header)
	if c.tokenFile != "" {
		token, err := c.fileToken()
		if err != nil {
			return 0, nil, &apiError{text: "the token file cannot be used; the operator looks at the option token_file"}
		}
		req.Header.Set("Authorization", "Bearer "+token)
		hidden = append(slices.Clip(hidden), token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", version.Agent("prometheus"))
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, c.unreachable(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return 0, nil, c.unreachable(err)
	}
	if len(b) > maxBody {
		return 0, nil, &apiError{text: fmt.Sprintf("the answer is larger than %d MiB. Ask for less: count(…) says how many series there are; "+
			"aggregate with sum by (…), take topk(10, …), narrow the selector, or look back less", maxBody>>20)}
	}
	for _, secret := range hidden {
		b = bytes.ReplaceAll(b, []byte(secret), []byte(masked))
	}
	return resp.StatusCode, b, nil
}

// unreachable says why there is no answer.
func (c *client) unreachable(err error) error {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	at := c.base.Scheme + "://" + c.base.Host
	var timeout net.Error
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("canceled")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &apiError{kind: "timeout", text: at + " did not answer in time. Ask for less (a narrower selector, a shorter range, a larger step), or let the operator raise timeout_sec"}
	case errors.As(err, &authority):
		return &apiError{text: at + ": the certificate was signed by somebody unknown; the operator sets ca_file"}
	case errors.As(err, &cert):
		return &apiError{text: at + ": the certificate is not valid: " + answer.Line(cert.Err.Error(), 200)}
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return &apiError{text: at + ": the answer is not TLS; the operator writes http:// in the option url"}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.Errno(10061)): // the latter on Windows
		return &apiError{text: at + ": connection refused. Nothing listens there: is Prometheus down, or the option url wrong?"}
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	text := answer.Line(err.Error(), 300)
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, masked)
	}
	return &apiError{text: at + ": " + text}
}

// failed returns the error that the API reports, with what to do about it.
func failed(code int, e envelope) error {
	said := answer.Line(e.Error, 600)
	advice := ""
	switch {
	case strings.Contains(said, "exceeded maximum resolution"):
		advice = " Take a larger step_seconds or a shorter range."
	case strings.Contains(said, "too many samples"), strings.Contains(said, "too many points"), strings.Contains(said, "max samples"), strings.Contains(said, "exceeds the limit"):
		advice = " Narrow the selector, aggregate, or shorten the range."
	case e.ErrorType == "timeout" || e.ErrorType == "canceled":
		advice = " The query is too expensive: narrow the selector, or shorten the range."
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		advice = " The operator looks at the login of this server."
	}
	kind := answer.Line(e.ErrorType, 40)
	if kind == "" {
		kind = fmt.Sprintf("HTTP %d", code)
	}
	return &apiError{kind: kind, text: strings.TrimRight("Prometheus answers "+kind+": "+said, ". ") + "." + advice}
}

// noAPI says what an answer that is none of the API means.
func noAPI(code int, body []byte, base *url.URL) error {
	what := answer.Line(strings.Join(strings.Fields(string(body[:min(len(body), 600)])), " "), 160)
	at := base.Scheme + "://" + base.Host + base.Path
	var text string
	switch {
	case code == http.StatusUnauthorized:
		text = at + " wants a login (HTTP 401); the operator sets username and password, token, or client_cert"
	case code == http.StatusForbidden:
		text = at + " refuses this login (HTTP 403); the operator looks at its rights"
	case code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return &apiError{kind: "not_found", text: fmt.Sprintf("%s does not offer this (HTTP %d). Either the server is not Prometheus itself and leaves it out, or the option url lacks a path prefix, such as /prometheus (Mimir) or /select/0/prometheus (VictoriaMetrics cluster)", at, code)}
	case code == http.StatusTooManyRequests:
		text = at + " has too much to do (HTTP 429). Wait a little, and ask for less"
	case code >= 500:
		text = fmt.Sprintf("%s fails (HTTP %d): %s", at, code, what)
	default:
		text = fmt.Sprintf("%s does not answer as Prometheus does (HTTP %d): %s", at, code, what)
	}
	return &apiError{text: text}
}
