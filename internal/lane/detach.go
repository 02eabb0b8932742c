package lane

import "context"

// A Held is an answer that goes on without its handler, a stream that does not end by
// itself. It has the response, may write to it from Begin to Release, and starts its
// goroutines with Go.
type Held = interface {
	// Begin is called once, when the handler has returned.
	Begin()
	// Gone says that the client is gone or the server stops, at any time and maybe more
	// than once: the answer must end. It must not wait.
	Gone()
}

// leaving is what becomes of a response when its handler returns.
type leaving struct {
	over  bool // the answer is, for whoever still writes
	apart bool // nothing of the request is in the response
	left  Held
}

// Detach leaves the answer of the request to h. Once the handler has returned no
// goroutine is kept for it but the one that reads the connection: nothing of the
// request, of its context or of the handler's frames stays in memory.
//
// It reports false, and the answer stays with its handler, where the request does not
// allow it. A handler that panics afterwards has ended the connection, and h hears nothing.
//
// Either way the client has to be silent from here on: what it sends would wait for an
// answer that does not end, and hide that the client has gone. So the answer ends with
// it, as if the client had gone, and what was sent is served after it.
func (w *response) Detach(h Held) bool {
	if w.over {
		return false
	}
	c := w.c
	c.mu.Lock()
	c.lasting = true
	early := c.hasEarly
	c.mu.Unlock()
	if early {
		c.gone()
	}
	if !w.apart {
		return false
	}
	w.left = h
	return true
}

// detach leaves the goroutine of a request whose handler has returned. Until the answer
// is held, whoever ends it ends the context of the request.
func detach(request context.Context, w *response) {
	c := w.c
	w.header = nil // in the output
	c.out.flush()
	c.out.b, c.out.lean = nil, true
	c.mu.Lock()
	c.cancel, c.held = func() {}, w.left // the connection may go on
	c.mu.Unlock()
	if request.Err() != nil || c.s.ctx.Err() != nil || c.s.closing.Load() {
		c.gone()
	}
	w.left.Begin() // with which the connection is another's
}

// Go runs f on a goroutine of its own, for which a stop of the server waits. It must
// not be called after Release.
func (w *response) Go(f func()) {
	w.c.s.tasks.Go(func() {
		defer caught(w.c)
		f()
	})
}

// Release ends an answer that was left, and goes on with the connection.
func (w *response) Release() {
	c := w.c
	c.mu.Lock()
	c.held = nil
	c.mu.Unlock()
	c.out.lean = false
	if keep := c.finish(w); !keep || c.common.Context().Err() != nil {
		c.over(true)
		return
	}
	c.slack = false
	c.s.tasks.Go(c.run)
}

// finish ends an answer, and reports whether the connection can go on.
func (c *conn) finish(w *response) bool {
	keep := w.finish()
	c.equip()
	if c.enter(idle) == watched {
		c.endWatch()
		c.s.watch(c)
	}
	c.lasting = false // nobody watches now
	return keep && !c.s.closing.Load()
}

// gone ends the request that runs, or the answer that was left: nobody waits for it.
func (c *conn) gone() {
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	cancel()
	endHeld(c)
}

// endHeld ends an answer that was left, and reports whether there is one.
func endHeld(c *conn) bool {
	c.mu.Lock()
	held := c.held
	c.mu.Unlock()
	if held == nil {
		return false
	}
	held.Gone()
	return true
}

// endAllHeld is called when the context of all requests is done.
func (s *Server) endAllHeld() {
	for _, c := range s.all() {
		endHeld(c)
	}
}
