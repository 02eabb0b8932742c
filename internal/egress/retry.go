package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Retry says when a request is repeated: after a failure of the connection and
// after the statuses 408, 429, 500, 502, 503 and 504. The zero value repeats
// nothing.
type Retry struct {
	Waits   []time.Duration // before the second attempt, the third and so on
	Jitter  float64         // 0.2 makes each wait 0.8 to 1.2 of what it is
	Unsafe  bool            // repeat POST and PATCH too, which may then take effect twice
	Longest time.Duration   // the most that a Retry-After is obeyed; default 30 s. Beyond, the answer is returned
}

// Seconds returns waits: Seconds(2, 4, 8) repeats three times.
func Seconds(n ...float64) []time.Duration {
	waits := make([]time.Duration, len(n))
	for i, s := range n {
		waits[i] = time.Duration(s * float64(time.Second))
	}
	return waits
}

// retry makes attempts until one succeeds, none is left, or none can end in time.
func (c *Client) retry(ctx context.Context, r Request, u *url.URL) (*http.Response, int, error) {
	var slept time.Duration
	before := "" // what became of the attempt before
	for attempt := 1; ; attempt++ {
		resp, err := c.once(ctx, r, u)
		if err != nil && before != "" && ctx.Err() != nil {
			err = &lateError{err, before}
		}
		if attempt > len(r.Retry.Waits) || !r.Retry.repeats(r.Method, resp, err) {
			return resp, attempt, err
		}
		wait, ok := r.Retry.wait(attempt, resp)
		if deadline, has := ctx.Deadline(); !ok || has && time.Until(deadline) <= wait || slept+wait > patience && isSteady(resp) {
			return resp, attempt, err
		}
		if err == nil {
			resp.Body.Close()
			before = fmt.Sprintf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
		} else {
			before = c.reason(u.String(), err).Error()
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, attempt, &lateError{err, before}
		}
		slept += wait
	}
}

// patience is how long a host is waited for that says too many requests were made, and
// not when there will be room: that is rarely soon, and who asks can do something else.
const patience = 5 * time.Second

func isSteady(resp *http.Response) bool {
	return resp != nil && resp.StatusCode == http.StatusTooManyRequests && retryAfter(resp.Header.Get("Retry-After"), time.Now()) == 0
}

// A lateError is the error for a time that is over, after an attempt that failed by
// something else.
type lateError struct {
	error

	before string
}

func (e *lateError) Unwrap() error { return e.error }

func (r Retry) repeats(method string, resp *http.Response, err error) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete:
	default:
		if !r.Unsafe {
			return false
		}
	}
	if err != nil {
		return passing(err)
	}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// passing reports whether a failure may be another one next time.
func passing(err error) bool {
	if l, ok := errors.AsType[*LookupError](err); ok {
		d, ok := errors.AsType[*net.DNSError](l.err)
		return ok && !d.IsNotFound
	}
	var cert *tls.CertificateVerificationError
	var refused *refusedError
	return said(err) == nil && !errors.As(err, &cert) && !errors.As(err, &refused) && !errors.Is(err, context.Canceled)
}

// wait returns how long to wait before the next attempt, and whether it is worth
// waiting.
func (r Retry) wait(attempt int, resp *http.Response) (time.Duration, bool) {
	wait := r.Waits[attempt-1]
	if r.Jitter > 0 {
		part := float64(time.Now().Nanosecond()%1999)/999 - 1 // chance enough to keep callers apart
		wait = time.Duration(float64(wait) * (1 + r.Jitter*part))
	}
	if resp == nil {
		return wait, true
	}
	after := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return max(wait, after), after <= first(r.Longest, 30*time.Second)
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(s); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
