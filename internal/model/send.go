package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// address returns the address of an endpoint: base with path behind it, where it does
// not end so already. A query of the base, such as an api-version, is kept.
func address(base, version, path string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("the base URL of the model is no URL")
	}
	p := strings.TrimRight(u.Path, "/")
	if !strings.HasSuffix(p, path) {
		if version != "" && !strings.HasSuffix(p, version) {
			p += version
		}
		p += path
	}
	u.Path, u.RawPath = p, ""
	return u.String(), nil
}

// A message is a request, ready to be sent.
type message struct {
	url    string
	header http.Header
	body   []byte
	// read reads an answer of success. What it returns as an error with again set makes
	// the request be repeated.
	read func(kind string, body io.Reader) error
}

// header returns the header of a request with JSON.
func header(stream bool) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	if stream {
		h.Set("Accept", "text/event-stream, application/json")
	}
	return h
}

// send sends a message until it is answered, or may not be sent again.
func (c *Client) send(ctx context.Context, m message) error {
	waits := c.Waits
	if waits == nil {
		waits = egress.Seconds(1, 2, 4)
	}
	for attempt := 1; ; attempt++ {
		wait, err := c.once(ctx, m, attempt)
		if err == nil {
			return nil
		}
		if gone := over(ctx); gone != nil {
			return fmt.Errorf("%s: %w", c.where(), gone)
		}
		if wait < 0 || attempt > len(waits) {
			return err
		}
		wait = max(wait, apart(waits[attempt-1]))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
			return err // the time that is left is too short for another one
		}
		if err := pause(ctx, wait); err != nil {
			return fmt.Errorf("%s: %w", c.where(), err)
		}
	}
}

// apart returns a wait of 0.8 to 1.2 of d, so that those who were refused together do not
// come back together.
func apart(d time.Duration) time.Duration {
	part := float64(time.Now().Nanosecond()%1999)/999 - 1 // chance enough for that
	return time.Duration(float64(d) * (1 + 0.2*part))
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return over(ctx)
	case <-t.C:
		return nil
	}
}

// once sends a message once. After an error, wait is how long the endpoint wants to be
// left alone before it is asked again, and less than 0 where asking again is of no use.
func (c *Client) once(ctx context.Context, m message, attempt int) (wait time.Duration, err error) {
	resp, body, err := c.HTTP.Open(ctx, egress.Request{Method: http.MethodPost, URL: m.url, Header: m.header.Clone(), Body: m.body, MaxBody: maxAnswer})
	if err != nil {
		if !lasting(err) {
			return 0, fmt.Errorf("%s cannot be reached: %w", c.Provider(), err)
		}
		return -1, fmt.Errorf("%s cannot be reached: %w", c.Provider(), err)
	}
	defer body.Close()
	if !resp.OK() {
		said, err := io.ReadAll(io.LimitReader(body, 64<<10))
		if err != nil {
			said = nil
		}
		e := c.refusal(resp.Status, said, attempt)
		return patience(resp, e, time.Now()), e
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	err = m.read(strings.ToLower(strings.TrimSpace(kind)), body)
	if err == nil {
		return 0, nil
	}
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok: // the connection broke
		return 0, fmt.Errorf("%s ended its answer too early: %w", c.where(), err)
	case e.again:
		return 0, err
	}
	return -1, err
}

// lasting reports whether a failure to connect will be there again at once.
func lasting(err error) bool {
	_, refused := errors.AsType[*egress.Refusal](err)
	_, url := errors.AsType[*egress.URLError](err)
	_, host := errors.AsType[*egress.HostError](err)
	return refused || url || host || strings.Contains(err.Error(), "certificate")
}

// patience returns how long to wait after a refusal, and less than 0 for ever.
func patience(resp *egress.Response, e *Error, now time.Time) time.Duration {
	again := resp.Status == http.StatusRequestTimeout || resp.Status == http.StatusConflict || resp.Status == http.StatusTooManyRequests || resp.Status >= 500
	switch resp.Header.Get("X-Should-Retry") {
	case "true":
		again = true
	case "false":
		again = false
	}
	if !again || e.Type == "insufficient_quota" {
		return -1
	}
	if ms, err := strconv.ParseUint(resp.Header.Get("Retry-After-Ms"), 10, 31); err == nil {
		return time.Duration(ms) * time.Millisecond
	}
	after := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if s, err := strconv.ParseFloat(after, 64); err == nil && s >= 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(after); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// decode reads an answer in one piece into v.
func (c *Client) decode(body io.Reader, v any) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		e := c.fault("gave an answer that is no JSON of the form that was expected: %q. The operator should check the base URL", cmp.Or(c.quote(string(b)), "nothing"))
		e.again = true
		return e
	}
	return nil
}

func withQuery(to, query string) string {
	if strings.Contains(to, "?") {
		return to + "&" + query
	}
	return to + "?" + query
}
