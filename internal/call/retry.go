package call

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Retry says how calls are repeated that failed on their way.
type Retry struct {
	Attempts int           // in all; 0 is 3, 1 repeats nothing
	Delay    time.Duration // at most this before the second attempt, twice as much before each further; 0 is 200 ms
	MaxDelay time.Duration // no wait is longer; 0 is 5 s
}

func (o Retry) withDefaults() Retry {
	if o.Attempts <= 0 {
		o.Attempts = 3
	}
	if o.Delay <= 0 {
		o.Delay = 200 * time.Millisecond
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = 5 * time.Second
	}
	return o
}

// Health is what is known of a server without asking it.
type Health struct {
	Down    bool // calls fail now
	Reason  string
	NextTry time.Time // when that may change; zero where it will not by itself
}

// answeredHTTP is an error of Send for an HTTP answer that is no result.
type answeredHTTP interface {
	error
	HTTPStatus() int
	// RetryAfter is how long the server asks to wait, or 0.
	RetryAfter() time.Duration
}

// heldBack is an error of Send, or of Await, for a call that was not let through to its
// server, which is started again only later.
type heldBack interface {
	error
	HeldUntil() time.Time
}

// A deathError is an error of Send for a call whose server may have ended while it worked
// on it.
type deathError interface {
	error
	Died() bool
}

// retry repeats a call that its server provably has not carried out, or that does
// no harm when it runs twice. Within this stage that is what the kind unavailable
// means: see reason. It waits between attempts, so that a server in trouble is
// not hit by all its callers at once (exponential backoff with full jitter), and
// never beyond the deadline of the call: where the next attempt would be too late
// the error is the answer now.
func retry(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		res := next(ctx, r)
		if res.Kind != tool.Unavailable || o.Retry.Attempts < 2 {
			return res
		}
		return o.again(ctx, r, next, res)
	}
}

// again repeats a call that failed with res.
func (o *Options) again(ctx context.Context, r *Request, next Handler, res *tool.Result) *tool.Result {
	began, made, held, why := time.Now(), 1, 0, ""
	deaths := died(res)
	for res.Kind == tool.Unavailable && made < o.Retry.Attempts {
		wait, ok := o.pause(ctx, r, res, made, began)
		if !ok {
			break
		}
		if !sleep(ctx, wait) {
			return failed(r, context.Cause(ctx))
		}
		why = brief(res.Text())
		res = next(ctx, r)
		if _, back := errors.AsType[heldBack](res.Err); back && held < o.Retry.Attempts {
			held++ // the death of the server was known only just now: that was no attempt
			r.Attempts--
			res.Attempts = r.Attempts
			continue
		}
		made++
		deaths += died(res)
	}
	switch {
	case deaths > 1 && res.Kind == tool.Unavailable: // then the call is the likely cause
		r.Note("retry", "tried %d times", made)
		res.Message += fmt.Sprintf(" It has ended %d times in this call, which may be the cause: do not repeat it as it is; ask for less, or for something else.", deaths)
	case made == 1:
	case res.Kind == tool.Unavailable:
		r.Note("retry", "tried %d times", made)
	default:
		r.Note("retry", "tried %d times, which is safe here; the attempt before failed: %s", made, why)
	}
	return res
}

// died counts the process that ended in an attempt.
func died(res *tool.Result) int {
	if e, ok := errors.AsType[deathError](res.Err); ok && e.Died() {
		return 1
	}
	return 0
}

// pause returns how long to wait before the next attempt when so many were made,
// or false where there is to be none.
func (o *Options) pause(ctx context.Context, r *Request, res *tool.Result, made int, began time.Time) (time.Duration, bool) {
	longest := o.Retry.MaxDelay
	wait := rand.N(min(o.Retry.Delay<<min(made-1, 16), longest))
	if e, ok := errors.AsType[answeredHTTP](res.Err); ok && refuses(e.HTTPStatus()) && e.HTTPStatus() != http.StatusTooManyRequests {
		return 0, false // the same request is refused again
	}
	asked := retryAfter(res.Err)
	if e, ok := errors.AsType[heldBack](res.Err); ok {
		if r.spare || time.Since(began) > longest {
			return 0, false
		}
		asked = max(asked, time.Until(e.HeldUntil()))
	}
	if h := o.health(r.Target.Server); h.Down {
		// A start that takes long and fails is not repeated while the model waits,
		// and where another tool can answer nobody waits for this one.
		if h.NextTry.IsZero() || r.spare || time.Since(began) > longest {
			return 0, false
		}
		asked = max(asked, time.Until(h.NextTry))
	}
	if asked > longest {
		return 0, false
	}
	left := r.clock.left()
	if end, ok := ctx.Deadline(); ok { // of the caller's own
		left = min(left, time.Until(end))
	}
	wait = max(wait, asked)
	return wait, wait < left
}

// retryAfter returns how long the server asked to wait, or 0.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[answeredHTTP](err); ok {
		return e.RetryAfter()
	}
	return 0
}

func (o *Options) health(server string) Health {
	if o.Health == nil {
		return Health{}
	}
	return o.Health(server)
}

// sleep waits, and reports whether ctx lived through it.
func sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
