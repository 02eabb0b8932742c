package call

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// deadline bounds the whole call. Progress of the tool starts the time anew, up
// to a hard cap, unless the caller set the time: then it is what they said.
func deadline(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		c := &clock{fixed: r.Timeout > 0, limit: r.Timeout, cancel: cancel}
		if !c.fixed {
			c.limit = o.Timeout
			c.cap = r.Started.Add(o.MaxTimeout)
		}
		r.clock = c
		c.start()
		defer c.timer.Stop()
		return next(ctx, r)
	}
}

// clock is the deadline of one call.
type clock struct {
	fixed  bool      // the caller set it
	cap    time.Time // progress leads no further
	cancel context.CancelCauseFunc
	// passedOn is set once the caller has got progress.
	passedOn atomic.Bool

	// whole is the clock of the whole call, where this one is a part of it: the
	// share of one of several tools that are tried.
	whole *clock

	mu    sync.Mutex
	limit time.Duration
	end   time.Time
	timer *time.Timer
}

// Extend starts the time anew that a call has by default: somebody is asked who may
// take their time.
func (r *Request) Extend() { r.clock.extend() }

// Fixed returns how much time is left where the caller has set it, which no progress
// makes longer.
func (r *Request) Fixed() (left time.Duration, ok bool) {
	if r.clock == nil || !r.clock.fixed {
		return 0, false
	}
	return r.clock.left(), true
}

// start starts a clock whose limit is set.
func (c *clock) start() {
	c.end = time.Now().Add(c.limit)
	c.timer = time.AfterFunc(c.limit, c.expire)
}

// set makes the clock expire in d; called with the lock held.
func (c *clock) set(d time.Duration) {
	c.end = time.Now().Add(d)
	c.timer.Reset(d)
}

// left is how much time there is, that of the whole call too.
func (c *clock) left() time.Duration {
	c.mu.Lock()
	left := time.Until(c.end)
	c.mu.Unlock()
	if c.whole != nil {
		left = min(left, c.whole.left())
	}
	return left
}

// part returns a running clock for one of several tools that are tried one after
// the other, and share the time that is left. Stop it.
func (c *clock) part(share time.Duration, cancel context.CancelCauseFunc) *clock {
	p := &clock{fixed: c.fixed, cap: c.cap, limit: share, cancel: cancel, whole: c}
	p.start()
	return p
}

func (c *clock) expire() {
	c.mu.Lock()
	limit := c.limit.Round(time.Millisecond)
	c.mu.Unlock()
	text := fmt.Sprintf("The call did not end within %s and was canceled. "+
		"Ask for less at once, or call again with a longer timeout.", limit)
	if !c.fixed {
		text = fmt.Sprintf("The call gave no answer and no progress within %s and was canceled. "+
			"Ask for less at once, or call again with a longer timeout.", limit)
	}
	c.cancel(&tool.Error{Kind: tool.Timeout, Text: text})
}

// lower makes d the limit where the caller set none, as a tool's metadata asks.
func (c *clock) lower(d time.Duration) {
	if c.fixed || d <= 0 {
		return
	}
	c.mu.Lock()
	share := c.limit
	c.mu.Unlock()
	if c.whole != nil && d > c.whole.left() {
		c.whole.lower(d + share) // a tool that takes long by its nature gets its time, and leaves some
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = d
	c.set(d)
}

// extend starts the time anew.
func (c *clock) extend() {
	if c.fixed {
		return
	}
	if c.whole != nil {
		c.whole.extend()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set(min(c.limit, time.Until(c.cap)))
}
