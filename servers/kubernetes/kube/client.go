package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/tenon-mcp/tenon/internal/jsonsize"
	"github.com/tenon-mcp/tenon/internal/version"
)

const (
	maxBody = 16 << 20 // bytes of one answer
	// maxElements are the elements of all lists of one answer, which need much more
	// memory than bytes.
	maxElements = 400_000
	masked      = "•••"
	// Table asks for the columns that the server would print, in place of objects.
	Table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	// Names asks for the metadata of objects alone.
	Names = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
)

// A Client speaks to the API server of one cluster. It is safe for use by several
// calls at once.
type Client struct {
	Context   string // name of the context, for people
	Namespace string // of the context; may be empty

	server  *url.URL
	http    *http.Client
	user    user
	secrets []string
	kept    kept
	kinds   kinds
}

// An Error is what the API server, or the way to it, answers. Its text is for a
// model, with what to do next.
type Error struct {
	Code   int    // HTTP status; 0 where there was no answer
	Reason string // of the API, such as NotFound
	Text   string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Refused reports whether a rule of the cluster is behind it: another try changes nothing.
func (e *Error) Refused() bool { return e.Code == http.StatusForbidden }

// Server returns the address of the cluster.
func (c *Client) Server() string { return c.server.String() }

// hide adds values that no answer may show.
func (c *Client) hide(values ...string) {
	for _, v := range values {
		if len(v) >= 4 {
			c.secrets = append(c.secrets, v)
		}
	}
}

// Get reads what is at a path as JSON into out.
func (c *Client) Get(ctx context.Context, path string, query url.Values, out any) error {
	return c.GetAs(ctx, "application/json", path, query, out)
}

// GetAs is Get for another form of the answer.
func (c *Client) GetAs(ctx context.Context, accept, path string, query url.Values, out any) error {
	return c.read(ctx, http.MethodGet, path, query, map[string]string{"Accept": accept}, nil, out)
}

// Patch changes what is at a path by a patch of the type, such as
// application/merge-patch+json, and reads the new object into out.
func (c *Client) Patch(ctx context.Context, path, kind string, patch, out any) error {
	b, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return c.read(ctx, http.MethodPatch, path, url.Values{"fieldManager": {"tenon"}}, map[string]string{"Accept": "application/json", "Content-Type": kind}, b, out)
}

// read sends a request and decodes the answer. Numbers stay as they are written.
func (c *Client) read(ctx context.Context, method, path string, query url.Values, header map[string]string, body []byte, out any) error {
	resp, hidden, err := c.do(ctx, method, path, query, header, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return c.unreachable(err)
	}
	if len(b) > maxBody {
		return &Error{Text: fmt.Sprintf("the answer is larger than %d MiB. Ask for less: name a namespace, a label_selector or a smaller limit", maxBody>>20)}
	}
	b = scrub(b, hidden)
	if resp.StatusCode/100 != 2 {
		return refused(resp.StatusCode, b)
	}
	if jsonsize.Over(b, maxElements) {
		return &Error{Text: fmt.Sprintf("the answer holds more than %d values. Ask for less: name a namespace, a label_selector or a smaller limit", maxElements)}
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return &Error{Text: c.server.Host + " does not answer as Kubernetes does: what it sent is no JSON of the expected form"}
	}
	return nil
}

// Stream returns the body of an answer as it comes, for logs. The caller closes it.
func (c *Client) Stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	resp, hidden, err := c.do(ctx, http.MethodGet, path, query, map[string]string{"Accept": "*/*"}, nil)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return nil, c.unreachable(err)
	}
	return nil, refused(resp.StatusCode, scrub(b, hidden))
}

func scrub(b []byte, hidden []string) []byte {
	for _, s := range hidden {
		b = bytes.ReplaceAll(b, []byte(s), []byte(masked))
	}
	return b
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, header map[string]string, body []byte) (*http.Response, []string, error) {
	u := *c.server
	u.Path += path
	u.RawQuery = query.Encode()
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), r)
	if err != nil {
		return nil, nil, &Error{Text: "this cannot be asked for"}
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	req.Header.Set("User-Agent", version.Agent("kubernetes"))
	more, err := c.sign(req)
	if err != nil {
		return nil, nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, nil, c.unreachable(err)
	}
	return resp, append(more, c.secrets...), nil
}

// unreachable says why there is no answer.
func (c *Client) unreachable(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	at := c.server.Scheme + "://" + c.server.Host
	var timeout net.Error
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("canceled")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Text: at + " did not answer in time. Ask for less, or let the operator look whether the cluster can be reached, and raise timeout_sec"}
	case errors.As(err, &authority):
		return &Error{Text: at + ": the certificate was signed by somebody unknown; the operator looks at certificate-authority in the kubeconfig file"}
	case errors.As(err, &cert):
		return &Error{Text: at + ": the certificate is not valid: " + cert.Err.Error()}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.Errno(10061)): // the latter on Windows
		return &Error{Text: at + ": connection refused. Is the API server down, or the context the wrong one?"}
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return &Error{Text: at + ": " + string(scrub([]byte(err.Error()), c.secrets))}
}

// refused returns the error that the API reports, with what to do about it.
func refused(code int, body []byte) error {
	var s struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Reason  string `json:"reason"`
	}
	if json.Unmarshal(body, &s) != nil || s.Kind != "Status" {
		s.Message, s.Reason = strings.Join(strings.Fields(string(body[:min(len(body), 300)])), " "), ""
	}
	e := &Error{Code: code, Reason: s.Reason, Text: fmt.Sprintf("Kubernetes answers %d %s: %s", code, s.Reason, cutText(s.Message, 500))}
	switch code {
	case http.StatusUnauthorized:
		e.Text += ". The operator renews the credentials of this server"
	case http.StatusForbidden:
		e.Text += ". The operator may grant it to this user (RBAC); try another namespace, or another kind"
	case http.StatusGone:
		e.Text += ". Begin the list again, without continue"
	case http.StatusTooManyRequests:
		e.Text += ". Wait a little, and ask for less"
	}
	return e
}

func cutText(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
