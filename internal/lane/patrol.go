package lane

import (
	"slices"
	"time"
)

// A connection's state is a number that grows with each change that the
// connection makes by itself, and below it the phase. The patrol acts only on a
// state that it has seen in an earlier round, and by compare-and-swap: so the
// connection notices with its next change, which is one compare-and-swap as well
// and all that a request costs here.
type phase uint64

const (
	idle    phase = iota // waits for a request
	reading              // has a part of a request
	serving              // runs the handler, or writes what it gave

	// What the patrol makes of it.
	watched // of serving: somebody reads the connection, and cancels if it ends
	cold    // of idle: the read was ended, for the connection to rest, and the patrol forgets it
	slow    // of reading: the read was ended, for net/http to go on
	closed  // of idle: the server stops

	phaseBits = 3
)

func (p phase) in(state uint64) bool { return phase(state&(1<<phaseBits-1)) == p }

// The patrol's rounds.
const (
	round     = 4 * time.Millisecond
	idleFor   = 16 // rounds until an idle connection is cold
	partsTime = 3  // rounds in which a request must be there, to be plain
)

// watch puts a connection on the patrol's way.
func (s *Server) watch(c *conn) {
	s.mu.Lock()
	s.warm = append(s.warm, c)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// patrol looks after the connections in use, until the server has stopped. It
// sleeps while there are none.
func (s *Server) patrol() {
	rounds := time.NewTicker(round)
	defer rounds.Stop()
	var hot []*conn
	for {
		if len(hot) == 0 {
			rounds.Stop()
			select {
			case <-s.wake:
			case <-s.drained:
				return
			}
			rounds.Reset(round)
		}
		select {
		case <-rounds.C:
		case <-s.drained:
			return
		}
		s.mu.Lock()
		hot = append(hot, s.warm...)
		clear(s.warm)
		s.warm = s.warm[:0]
		s.mu.Unlock()
		hot = slices.DeleteFunc(hot, func(c *conn) bool { return !c.look() })
	}
}

// look is the patrol's visit. It reports whether the connection stays on its way.
func (c *conn) look() bool {
	state := c.state.Load()
	if state != c.seen {
		c.seen, c.rounds = state, 0
		return !closed.in(state)
	}
	c.rounds++
	switch {
	case serving.in(state):
		return !c.mark(state, watched, c.startWatch)
	case reading.in(state) && c.rounds >= partsTime:
		return !c.mark(state, slow, func() { _ = c.rwc.SetReadDeadline(past) })
	case idle.in(state) && c.rounds >= idleFor:
		return !c.mark(state, cold, func() { _ = c.rwc.SetReadDeadline(past) })
	}
	return !closed.in(state)
}

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

// patience is until when the connection may wait for a request to begin.
func (c *conn) patience() time.Time {
	d := c.s.http.ReadHeaderTimeout
	if c.served {
		d = c.s.http.IdleTimeout
	}
	if d <= 0 {
		return time.Time{}
	}
	return time.Now().Add(d - idleFor*round)
}

// mark turns a state that the connection is still in into another phase, and does
// what belongs to it; the connection waits for that before it goes on.
func (c *conn) mark(state uint64, p phase, do func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.state.CompareAndSwap(state, state&^(1<<phaseBits-1)|uint64(p)) {
		return false
	}
	do()
	return true
}

// closeIdle closes the connection where it waits for a request, and ends an answer
// that would not end.
func (c *conn) closeIdle() {
	if endHeld(c) {
		return
	}
	if state := c.state.Load(); idle.in(state) || cold.in(state) {
		c.mark(state, closed, func() { _ = c.rwc.Close() })
	}
}

// enter moves the connection to its next phase, and returns what the patrol had
// made of the last.
func (c *conn) enter(p phase) phase {
	next := (c.now>>phaseBits+1)<<phaseBits | uint64(p)
	was := phase(c.now & (1<<phaseBits - 1))
	if !c.state.CompareAndSwap(c.now, next) {
		c.mu.Lock()
		was = phase(c.state.Load() & (1<<phaseBits - 1))
		if was == closed {
			next = c.now | uint64(closed) // for good
		}
		c.state.Store(next)
		c.mu.Unlock()
	}
	c.now = next
	return was
}

// startWatch begins to read the connection of a request that takes long, as the
// only way to notice that the client is gone. Called by the patrol.
func (c *conn) startWatch() {
	c.watcher.Go(func() {
		n, err := c.rwc.Read(c.early[:])
		c.mu.Lock()
		c.hasEarly = n > 0 // the next request; whether the client waits for this one is not seen then
		over := err != nil || c.lasting
		c.mu.Unlock()
		if over {
			c.gone() // or the request is over already
		}
	})
}

// endWatch ends that reading, and keeps what it has read.
func (c *conn) endWatch() {
	_ = c.rwc.SetReadDeadline(past)
	c.watcher.Wait()
	_ = c.rwc.SetReadDeadline(time.Time{})
	if c.hasEarly {
		c.hasEarly = false
		c.buf = append(c.buf, c.early[0])
	}
}
