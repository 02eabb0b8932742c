package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// A start is one attempt to get the server up, that any number of callers wait for.
type start struct {
	done chan struct{}
	err  error // set before done is closed
}

// shared returns the one link of a shared server, started where it is not.
func (s *Server) shared(ctx context.Context) (*link, error) {
	for {
		s.mu.Lock()
		if l := s.link; l != nil && !l.ended() {
			s.mu.Unlock()
			return l, nil
		}
		dead := s.link
		if dead != nil {
			s.mu.Unlock()
			s.lose(dead, ended, dead.client.Err()) // before its own goroutine has seen it
			continue
		}
		st := s.starting // one at a time, for all that want it
		if st == nil {
			if err := s.status.mayStart(s.o.Name); err != nil {
				s.mu.Unlock()
				if mended(s) {
					continue
				}
				return nil, err
			}
			st = s.begin()
		}
		s.mu.Unlock()
		select {
		case <-st.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if st.err != nil {
			return nil, unavailable(s.o.Name, s.o.Mask(st.err.Error()))
		}
	}
}

// mended reports whether a start that would have to wait may begin now, since what made
// the last one fail is another than it was.
func mended(s *Server) bool {
	if s.o.Mended == nil {
		return false
	}
	s.mu.Lock()
	held := s.status.held()
	s.mu.Unlock()
	if !held || !s.o.Mended() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if held = s.status.held(); held {
		s.status.nextTry = time.Time{}
	}
	return held
}

func unavailable(server, reason string) *tool.Error {
	return &tool.Error{
		Kind: tool.Unavailable,
		Text: fmt.Sprintf("server %s is unavailable: %s", server, reason),
	}
}

// begin starts the server in the background; called with the lock held.
func (s *Server) begin() *start {
	st := &start{done: make(chan struct{})}
	s.starting = st
	limit, mayInstall := s.status.startLimit(&s.o)
	// Where the tools are known from before, calls need not wait for the new list.
	w := want{limit: limit, hint: s.status.era, list: !s.status.ran || s.o.Isolation != Shared}
	s.status.begin(mayInstall)
	s.tasks.Go(func() {
		l, tools, err := s.dialer.bring(s.ctx, w)
		s.brought(st, l, tools, err)
	})
	s.o.Changed()
	return st
}

// brought takes the outcome of a start.
func (s *Server) brought(st *start, l *link, tools []json.RawMessage, err error) {
	if err == nil && s.o.Isolation != Shared {
		_ = l.close() // only the list was wanted: each session or call gets a link of its own
	}
	s.mu.Lock()
	switch {
	case s.closed:
		s.starting = nil
		s.mu.Unlock()
		if l != nil {
			_ = l.close()
		}
		st.err = unavailable(s.o.Name, "it is stopped")
		close(st.done)
		return
	case err != nil:
		s.plan(s.status.fail(s.o.Mask(tool.Flatten(err))))
	default:
		s.status.met(l, s.o.Label)
		if tools != nil {
			s.status.listed = len(tools)
		}
		if s.o.Isolation != Shared {
			s.status.rest()
			break
		}
		s.link = l
		l.use.add(0)
		s.status.serve()
		s.tasks.Go(func() { s.watch(l) })
		if params := l.heeds(); params != nil {
			s.tasks.Go(func() { l.heed(s.ctx, params) })
		}
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		s.log.Warn("server did not start", "error", err)
	case tools == nil:
		s.relist.ask()
		s.log.Info("server is ready again", "era", l.era, "transport", l.transport)
	default:
		s.o.Listed(tools)
		s.log.Info("server is ready", "tools", len(tools), "era", l.era, "transport", l.transport)
	}
	// Only now, so that whoever waits for the tools finds them.
	s.mu.Lock()
	s.starting = nil
	s.mu.Unlock()
	st.err = err
	close(st.done)
	s.o.Changed()
}

// plan has a gateway try again by itself after a failure; called with the lock
// held.
func (s *Server) plan(wait time.Duration) {
	if s.o.Keep && !s.closed {
		if s.retry != nil {
			s.retry.Stop()
		}
		s.retry = time.AfterFunc(wait, s.Ensure)
	}
}

// A loss is how a link was lost.
type loss int

const (
	ended loss = iota // it ended, or does not answer any more
	broke             // too many calls failed on it
)

// lose takes a link out of use, so that the next call gets another one. It need
// not have ended. Nothing happens where it is out of use already.
func (s *Server) lose(l *link, how loss, why error) {
	reason := s.o.Mask(tool.Flatten(why))
	switch {
	case l.session != nil:
		bye := &farewell{why: reason}
		if l.process != nil && l.ended() {
			bye = &farewell{link: l} // its exit status says more
		}
		s.sessions.drop(l.session, bye)
		return
	case s.o.Isolation != Shared:
		return
	}
	s.mu.Lock()
	if s.link != l || s.closed {
		s.mu.Unlock()
		return
	}
	s.link, l.lostFor = nil, reason
	if how == broke {
		s.plan(s.status.trip(reason, l.hasServed()))
	} else {
		s.plan(s.status.die(reason, l.hasServed()))
	}
	s.mu.Unlock()
	s.dialer.retire(l)
	s.o.Changed()
}

// watch waits for the end of a shared server's link.
func (s *Server) watch(l *link) {
	why := l.tend(s.ctx)
	if why == nil {
		return // Close sees to the rest
	}
	s.lose(l, ended, why) // at once: the next call does not wait for what follows
	why = l.explain(s.ctx, why)
	s.mu.Lock()
	wanted := l.lostFor == "" // it was let go on purpose
	if !wanted {
		s.status.stderr = l.stderr()
		if l.process != nil && s.status.reason == l.lostFor {
			s.status.reason = s.o.Mask(tool.Flatten(why))
		}
	}
	s.mu.Unlock()
	if wanted {
		return
	}
	s.log.Warn("server ended", "error", why)
	s.o.Changed()
}

// endIdle ends what nobody has used for the idle timeout.
func (s *Server) endIdle() {
	t := time.NewTicker(max(s.o.IdleTimeout/4, 10*time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-t.C:
			s.sessions.endIdle(now, s.o.IdleTimeout)
			s.mu.Lock()
			l := s.link
			idle := l != nil && !s.closed && l.use.idleSince(now.Add(-s.o.IdleTimeout))
			if idle {
				s.link = nil
				s.status.rest()
			}
			s.mu.Unlock()
			if idle {
				s.dialer.retire(l)
				s.o.Changed()
			}
		}
	}
}
