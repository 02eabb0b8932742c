package lane

// leaving is what becomes of a response when its handler returns.
type leaving struct {
	over  bool // the answer is, for whoever still writes
	apart bool // nothing of the request is in the response
	hold  func(gone <-chan struct{})
}

// Detach gives the answer of the request, a stream that never ends by itself, to
// hold. Once the handler has returned, hold runs in its place, on a goroutine of its
// own with a small stack: nothing of the request, of its context or of the handler's
// frames stays in memory. hold may write to the response until it returns, with which
// the answer is over. gone is closed when the client is gone or the server stops.
//
// It reports false, and does nothing, where the request does not allow it. A handler
// that panics afterwards has ended the connection, and hold is not called.
func (w *response) Detach(hold func(gone <-chan struct{})) bool {
	if !w.apart || w.over {
		return false
	}
	w.hold = hold
	return true
}

// detach leaves the goroutine of a request whose handler has returned.
func (w *response) detach(gone bool) {
	c := w.c
	w.header = nil // in the output
	c.out.flush()
	c.out.b, c.out.lean = nil, true
	c.mu.Lock()
	c.cancel = c.end
	c.mu.Unlock()
	c.detached.Store(true)
	if gone || c.s.closing.Load() {
		c.end()
	}
	c.s.tasks.Go(func() { carryOn(w) })
}

// carryOn runs what a handler has left, and goes on with the connection.
func carryOn(w *response) {
	c := w.c
	ctx := c.common.Context()
	done := runHold(w, ctx.Done())
	c.detached.Store(false)
	c.out.lean = false
	if !done {
		w.over = true
		c.over(true)
		return
	}
	if keep := c.finish(w); !keep || ctx.Err() != nil {
		c.over(true)
		return
	}
	c.slack = false
	c.run()
}

// runHold reports whether it has returned.
func runHold(w *response, gone <-chan struct{}) (done bool) {
	defer caught(w.c)
	w.hold(gone)
	return true
}

// finish ends an answer, and reports whether the connection can go on.
func (c *conn) finish(w *response) bool {
	keep := w.finish()
	c.equip()
	if c.enter(idle) == watched {
		c.endWatch()
		c.s.watch(c)
	}
	return keep && !c.s.closing.Load()
}

// gone ends the request that runs: nobody waits for its answer.
func (c *conn) gone() {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	cancel()
}
