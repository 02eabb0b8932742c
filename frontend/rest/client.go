package rest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/tool"
)

// A Client speaks to a running gateway. It is safe for concurrent use. Errors
// are an *Error where the gateway answered with one, and a *tool.Error where it
// could not be asked; both have a kind. Close it.
type Client struct {
	base  string
	token tool.Secret
	http  *http.Client
}

// NewClient returns a client of the gateway at a URL such as
// http://127.0.0.1:8400; that of its REST API or of its MCP endpoint will do. The
// token is sent with each request; the zero one is not.
func NewClient(gateway string, token tool.Secret) (*Client, error) {
	u, err := url.Parse(gateway)
	if err == nil && u.User != nil {
		return nil, &tool.Error{Kind: tool.Invalid, Text: "the URL of a gateway holds no credential: it would stand in process lists and logs. Give a key in $TENON_TOKEN or --token-file"}
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("%q is not the URL of a gateway, such as http://127.0.0.1:8400", gateway)}
	}
	base := strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
	base = strings.TrimSuffix(strings.TrimSuffix(base, "/mcp"), Prefix)
	return &Client{base: base + Prefix, token: token, http: &http.Client{
		Transport: &http.Transport{
			// A gateway is on this machine, or behind a tunnel: no proxy stands between.
			DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		},
		// A gateway sends nobody elsewhere, and the credential is for it alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes the connections that are kept for later requests.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Status returns the state of each server.
func (c *Client) Status(ctx context.Context) ([]tool.ServerStatus, error) {
	var out serverList
	err := c.get(ctx, "/servers", nil, &out)
	return out.Servers, err
}

// RejectedBy returns the configuration that the gateway did not take, or nil.
func RejectedBy(ctx context.Context, c *Client) (*tenon.Rejected, error) {
	var out serverList
	err := c.get(ctx, "/servers", nil, &out)
	return out.Configuration, err
}

// Tools returns what the pool offers.
func (c *Client) Tools(ctx context.Context, o tenon.ListOptions) (tool.Listing, error) {
	var in struct {
		Servers []struct {
			Name  string      `json:"name"`
			State tool.State  `json:"state"`
			Error string      `json:"error"`
			Tools []toolShown `json:"tools"`
		} `json:"servers"`
	}
	q := scopeQuery(o.Viewer)
	q.Set("server", o.Server)
	if err := c.get(ctx, "/tools", given(q), &in); err != nil {
		return tool.Listing{}, err
	}
	out := tool.Listing{Servers: make([]tool.ServerTools, len(in.Servers))}
	for i, s := range in.Servers {
		out.Servers[i] = tool.ServerTools{Name: s.Name, State: s.State, Error: s.Error, Tools: make([]tool.Tool, len(s.Tools))}
		for j, t := range s.Tools {
			out.Servers[i].Tools[j] = tool.Tool{
				ID: tool.ID{Server: s.Name, Name: t.Name}, Title: t.Title, Description: t.Description,
				Schema: t.Schema, Output: t.Output, Annotations: t.Annotations, Meta: t.Meta,
			}
		}
	}
	return out, nil
}

// toolShown is a tool.Tool as the listing shows it. The whole tool object of its
// server is only in the format mcp.
type toolShown struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Output      json.RawMessage `json:"output_schema"`
	Annotations json.RawMessage `json:"annotations"`
	Meta        tool.Meta       `json:"meta"`
}

// Rendered returns what the pool offers in a format.
func (c *Client) Rendered(ctx context.Context, o tenon.ListOptions, f Format) ([]byte, error) {
	q := scopeQuery(o.Viewer)
	q.Set("server", o.Server)
	q.Set("format", string(f))
	q.Set("lazy", string(o.Lazy))
	return c.do(ctx, 0, http.MethodGet, "/tools?"+given(q).Encode(), nil)
}

// Find returns the tools that fit words, best first.
func (c *Client) Find(ctx context.Context, o tenon.FindOptions) ([]tenon.Match, error) {
	var out matchList
	q := scopeQuery(o.Viewer)
	q.Set("q", o.Words)
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	err := c.get(ctx, "/tools/search", given(q), &out)
	return out.Matches, err
}

// scopeQuery says who looks, apart from the caller, who is that of the credential.
func scopeQuery(s tenon.Viewer) url.Values {
	return url.Values{"session": {s.Session}, "skill": {s.Skill}, "mode": {string(s.Mode)}}
}

// given returns the parameters that have a value.
func given(q url.Values) url.Values {
	maps.DeleteFunc(q, func(_ string, v []string) bool { return v[0] == "" })
	return q
}

// callBody is a tool.Call as the API takes it.
type callBody struct {
	tool.Call
	Timeout string `json:"timeout,omitempty"`
}

func bodyOf(c tool.Call) callBody {
	b := callBody{Call: c}
	if c.Timeout > 0 {
		b.Timeout = c.Timeout.String()
	}
	return b
}

// Call carries out one call on the gateway. It always returns a result, which
// holds an error where the gateway could not be asked.
func (c *Client) Call(ctx context.Context, call tool.Call) *tool.Result {
	begun := time.Now()
	look, stop := context.WithCancel(ctx)
	var looking sync.WaitGroup
	safe := false
	looking.Go(func() { safe = repeatable(look, c, call) })
	var res tool.Result
	err := c.post(ctx, call.Timeout, "/calls", bodyOf(call), &res)
	e, ok := errors.AsType[*tool.Error](err)
	lost := ok && e.Kind == tool.OutcomeUnknown
	if lost { // a gateway that is gone refuses the question at once, and another may be there by now
		defer time.AfterFunc(lookMost, stop).Stop()
	} else {
		stop()
	}
	looking.Wait()
	stop()
	if err == nil {
		return &res
	}
	if lost && safe {
		err = &tool.Error{
			Kind: tool.Unavailable, Err: e.Err,
			Text: "The connection to the gateway broke before its answer. The tool only reads, or may be repeated: it can be called again without harm.",
		}
	}
	return failure(call, begun, err)
}

// lookAfter is how long a call runs before it is asked what its tool does: only a call
// that takes time is likely to lose its gateway.
const (
	lookAfter = 200 * time.Millisecond
	lookMost  = 2 * time.Second // once the call is lost
)

// repeatable reports whether the tool of a call does no harm when it runs twice, as far
// as the gateway says so before ctx ends.
func repeatable(ctx context.Context, c *Client, call tool.Call) bool {
	t := time.NewTimer(lookAfter)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
	}
	list, err := c.Tools(ctx, tenon.ListOptions{Viewer: tenon.Viewer{Session: call.Session, Skill: call.Skill, Mode: call.Mode}, Server: call.Server})
	if err != nil {
		return false
	}
	for _, s := range list.Servers {
		for i := range s.Tools {
			if s.Tools[i].Server == call.Server && s.Tools[i].Name == call.Tool {
				return s.Tools[i].Meta.ReadOnly || s.Tools[i].Meta.Idempotent
			}
		}
	}
	return false
}

// CallBatch carries out many calls on the gateway and returns a result for each,
// in their order.
func (c *Client) CallBatch(ctx context.Context, calls []tool.Call) []*tool.Result {
	begun := time.Now()
	bodies := make([]callBody, len(calls))
	for i, call := range calls {
		bodies[i] = bodyOf(call)
	}
	var out batchResults
	err := c.post(ctx, inTurn(calls), "/calls/batch", map[string]any{"calls": bodies}, &out)
	if err == nil && len(out.Results) == len(calls) {
		return out.Results
	}
	if err == nil {
		err = fmt.Errorf("%d results for %d calls", len(out.Results), len(calls))
	}
	results := make([]*tool.Result, len(calls))
	for i, call := range calls {
		results[i] = failure(call, begun, err)
	}
	return results
}

// inTurn returns how long calls may take one after the other, or 0 where one of them has
// no timeout of its own.
func inTurn(calls []tool.Call) time.Duration {
	var sum time.Duration
	for _, call := range calls {
		if call.Timeout <= 0 {
			return 0
		}
		sum += call.Timeout
	}
	return sum
}

// failure is the result of a call that the gateway gave none for.
func failure(call tool.Call, begun time.Time, err error) *tool.Result {
	return &tool.Result{
		Server: call.Server, Tool: call.Tool, Kind: tool.KindOf(err), Message: err.Error(),
		Elapsed: time.Since(begun), Err: err,
	}
}

func one(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (c *Client) get(ctx context.Context, path string, q url.Values, out any) error {
	if enc := q.Encode(); enc != "" {
		path += "?" + enc
	}
	b, err := c.do(ctx, 0, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return c.decode(b, out)
}

// post posts what the gateway is to answer within own, or 0 where it may take as long as
// it lives.
func (c *Client) post(ctx context.Context, own time.Duration, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return &tool.Error{Kind: tool.Invalid, Text: "The call is no JSON: " + err.Error(), Err: err}
	}
	b, err := c.do(ctx, own, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	return c.decode(b, out)
}

func (c *Client) decode(b []byte, out any) error {
	if err := json.Unmarshal(b, out); err != nil {
		return &tool.Error{Kind: tool.Internal, Text: c.base + " answered something else than a gateway of this version does.", Err: err}
	}
	return nil
}

// do sends one request and returns the body of an answer of status 200. Own is as in post.
func (c *Client) do(ctx context.Context, own time.Duration, method, path string, body []byte) ([]byte, error) {
	ctx, end := vigil{c, own}.attend(ctx)
	defer end()
	res, err := c.send(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, c.lost(ctx, method, err)
	}
	return answer, nil
}

// send sends one request and returns an answer of status 200. Its body is to be
// closed.
func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", typeJSON)
	req.Header.Set("User-Agent", version.Agent("client"))
	if token := c.token.Reveal(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.lost(ctx, method, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, c.lost(ctx, method, err)
	}
	var e Error
	if json.Unmarshal(answer, &e) != nil || e.Text == "" {
		return nil, &tool.Error{Kind: tool.Unavailable, Text: fmt.Sprintf("%s answered %s, as no gateway does. Is it another server, or one that wants https://?", c.base, res.Status)}
	}
	e.status = res.StatusCode
	if e.status == http.StatusUnauthorized && c.token.Reveal() == "" {
		e.Text += "; the command line takes it from $TENON_TOKEN or --token-file"
	} else if e.status == http.StatusUnauthorized {
		e.Text += "; tenon keys list, on the machine of the gateway, shows which keys count"
	}
	return nil, &e
}

// lost says what it means that a request brought no answer.
func (c *Client) lost(ctx context.Context, method string, err error) error {
	var dial *net.OpError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errLate):
		return &tool.Error{Kind: tool.Timeout, Text: "The gateway at " + c.base + " did not answer in time. The call may have been carried out: look before you repeat it.", Err: err}
	case errors.Is(cause, errSilent) && method == http.MethodPost:
		return &tool.Error{Kind: tool.OutcomeUnknown, Text: silence(c.base) + " The call may have been carried out: look before you repeat it.", Err: err}
	case errors.Is(cause, errSilent):
		return &tool.Error{Kind: tool.Unavailable, Text: silence(c.base), Err: err}
	case errors.Is(err, context.Canceled):
		return &tool.Error{Kind: tool.Canceled, Text: "The call was canceled.", Err: err}
	case errors.As(err, &dial) && dial.Op == "dial":
		return &tool.Error{
			Kind: tool.Unavailable, Err: err,
			Text: "No gateway answers at " + c.base + ": " + dial.Error() + ". Is tenon serve running there?",
		}
	case errors.Is(err, http.ErrSchemeMismatch):
		return &tool.Error{Kind: tool.Unavailable, Text: "What answers at " + c.base + " speaks no TLS: write http:// in place of https://.", Err: err}
	case isCertificate(err):
		return &tool.Error{Kind: tool.Unavailable, Text: "The gateway at " + c.base + " is not trusted: " + err.Error() + ". $SSL_CERT_FILE names a file of certificates to trust.", Err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &tool.Error{Kind: tool.Timeout, Text: "The gateway did not answer in time.", Err: err}
	case method == http.MethodPost:
		return &tool.Error{
			Kind: tool.OutcomeUnknown, Err: err,
			Text: "The connection to the gateway broke before its answer. The call may have been carried out: look before you repeat it.",
		}
	}
	return &tool.Error{Kind: tool.Unavailable, Text: "The connection to the gateway broke: " + err.Error(), Err: err}
}

func isCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}
