package rest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/version"
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

// silence says that the gateway at base does not answer, and what to do.
func silence(base string) string {
	return fmt.Sprintf("Nothing at %s has answered for %s: if tenon serve runs there, it hangs (see its log, and start it again); else the address is that of something else.", base, silentAfter)
}

// A vigil is kept over one request.
type vigil struct {
	c   *Client
	own time.Duration // in which the gateway is to answer; 0 is no bound
}

// attend returns ctx for the request, which ends where the gateway is silent, and soon after
// its own time. Call end when the answer was read.
func (v vigil) attend(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { cancel(v.watch(ctx)) })
	return ctx, func() {
		cancel(nil)
		watching.Wait()
	}
}

// watch returns why the request of ctx is not to be waited for any more.
func (v vigil) watch(ctx context.Context) error {
	pulse := time.NewTicker(pulseEvery)
	defer pulse.Stop()
	var over, grace <-chan time.Time
	begun := time.Now()
	if v.own > 0 {
		over = time.After(v.own)
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-grace:
			return errLate
		case <-over:
			if !v.lives(ctx, lateAfter) {
				return errLate
			}
			over, grace = nil, time.After(answerGrace)
		case <-pulse.C:
			most, why := silentAfter, errSilent
			if left := v.own - time.Since(begun) + lateAfter; over != nil && left < most {
				most, why = left, errLate
			}
			if grace == nil && !v.lives(ctx, most) {
				return why
			}
		}
	}
}

// lives reports whether anything at the gateway's address answers within that time, be it
// with a refusal.
func (v vigil) lives(ctx context.Context, within time.Duration) bool {
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(asking, http.MethodHead, v.c.base+"/openapi.json", nil)
	if err != nil {
		return true
	}
	req.Header.Set("User-Agent", version.Agent("client"))
	res, err := v.c.http.Do(req)
	if err == nil {
		_ = res.Body.Close() // it is empty
		return true
	}
	slow, ok := errors.AsType[net.Error](err)
	return ctx.Err() != nil || !ok || !slow.Timeout()
}
