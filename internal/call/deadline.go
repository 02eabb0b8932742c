package call

import (
	"context"
	"fmt"
	"sync"
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
		c.timer = time.AfterFunc(c.limit, c.expire)
		defer c.timer.Stop()
		return next(ctx, r)
	}
}

// clock is the deadline of one call.
type clock struct {
	fixed  bool      // the caller set it
	cap    time.Time // progress leads no further
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	limit time.Duration
	timer *time.Timer
}

func (c *clock) expire() {
	c.mu.Lock()
	limit := c.limit
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
	defer c.mu.Unlock()
	c.limit = d
	c.timer.Reset(d)
}

// extend starts the time anew.
func (c *clock) extend() {
	if c.fixed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Reset(min(c.limit, time.Until(c.cap)))
}
