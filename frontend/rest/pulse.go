package rest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// A gateway may take its time, for a call takes as long as its tool does. So while an
// answer is waited for, the gateway is asked for something that costs it nothing: one that
// answers that lives.
const (
	pulseEvery  = 10 * time.Second // between two questions whether it lives
	silentAfter = 30 * time.Second // so long it may leave one unanswered
	// lateAfter is the same once the timeout of a call has passed, and answerGrace how long
	// a gateway that lives may take then to say that it has.
	lateAfter   = 2 * time.Second
	answerGrace = 10 * time.Second
)

// The causes of a request that was given up.
var (
	errLate   = errors.New("the timeout has passed")
	errSilent = errors.New("the gateway is silent")
)

// silence says that a gateway does not answer, and what to do.
func (c *Client) silence() string {
	return fmt.Sprintf("Nothing at %s has answered for %s: if tenon serve runs there, it hangs (see its log, and start it again); else the address is that of something else.", c.base, silentAfter)
}

// attend returns ctx for one request, which ends where the gateway is silent, and soon
// after own, if that is not 0. Call end when the answer was read.
func (c *Client) attend(ctx context.Context, own time.Duration) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { cancel(c.watch(ctx, own)) })
	return ctx, func() {
		cancel(nil)
		watching.Wait()
	}
}

// watch returns why the request of ctx is not to be waited for any more.
func (c *Client) watch(ctx context.Context, own time.Duration) error {
	pulse := time.NewTicker(pulseEvery)
	defer pulse.Stop()
	var over, grace <-chan time.Time
	begun := time.Now()
	if own > 0 {
		over = time.After(own)
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-grace:
			return errLate
		case <-over:
			if !c.lives(ctx, lateAfter) {
				return errLate
			}
			over, grace = nil, time.After(answerGrace)
		case <-pulse.C:
			most, why := silentAfter, errSilent
			if left := own - time.Since(begun) + lateAfter; over != nil && left < most {
				most, why = left, errLate
			}
			if grace == nil && !c.lives(ctx, most) {
				return why
			}
		}
	}
}

// lives reports whether anything at the gateway's address answers within that time, be it
// with a refusal.
func (c *Client) lives(ctx context.Context, within time.Duration) bool {
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(asking, http.MethodHead, c.base+"/openapi.json", nil)
	if err != nil {
		return true
	}
	res, err := c.http.Do(req)
	if err == nil {
		_ = res.Body.Close() // it is empty
		return true
	}
	slow, ok := errors.AsType[net.Error](err)
	return ctx.Err() != nil || !ok || !slow.Timeout()
}
