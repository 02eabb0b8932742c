package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
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
		st, err := s.join()
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
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

// join returns the start that is under way, or begins one; called with the lock
// held. It fails where it is too early to try again.
func (s *Server) join() (*start, error) {
	if s.starting != nil {
		return s.starting, nil
	}
	if err := s.mayStart(); err != nil {
		return nil, err
	}
	s.begin()
	return s.starting, nil
}

// mayStart says why no start may begin now; called with the lock held.
func (s *Server) mayStart() error {
	if s.closed {
		return unavailable(s.o.Name, "it is stopped")
	}
	if wait := time.Until(s.status.nextTry); wait > 0 {
		return unavailable(s.o.Name, fmt.Sprintf("%s; it is tried again in %d s", s.status.reason, int(math.Ceil(wait.Seconds()))))
	}
	return nil
}

func unavailable(server, reason string) *tool.Error {
	return &tool.Error{
		Kind: tool.Unavailable,
		Text: fmt.Sprintf("server %s is unavailable: %s", server, reason),
	}
}

// startLimit is how long a start may take; called with the lock held.
func (s *Server) startLimit() time.Duration {
	if s.mayInstall() {
		return max(s.o.InstallTimeout, s.o.StartTimeout)
	}
	return s.o.StartTimeout
}

// mayInstall reports whether a start may have to download the server first;
// called with the lock held.
func (s *Server) mayInstall() bool {
	return !s.status.installed && s.o.InstallTimeout > 0 && isRunner(s.o.Command)
}

// begin starts the server in the background; called with the lock held.
func (s *Server) begin() {
	st := &start{done: make(chan struct{})}
	s.starting = st
	// Where the tools are known from before, calls need not wait for the new list.
	w := want{limit: s.startLimit(), hint: s.status.era, list: !s.status.ran || s.o.Isolation != Shared}
	s.status.begin(s.mayInstall())
	s.tasks.Go(func() {
		l, tools, err := s.dialer.bring(s.ctx, w)
		s.brought(st, l, tools, err)
	})
	s.o.Changed()
}

// brought takes the outcome of a start.
func (s *Server) brought(st *start, l *link, tools []json.RawMessage, err error) {
	if err == nil && s.o.Isolation != Shared {
		_ = l.close() // only the list was wanted: each session or call gets a link of its own
	}
	s.mu.Lock()
	s.starting = nil
	switch {
	case s.closed:
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
		s.up(l, tools)
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
	st.err = err
	close(st.done)
	s.o.Changed()
}

// up takes a link that works; called with the lock held.
func (s *Server) up(l *link, tools []json.RawMessage) {
	s.status.installed = true
	if tools != nil {
		s.status.listed = len(tools)
	}
	s.status.met(l, s.o.Label)
	if s.o.Isolation != Shared {
		s.status.rest()
		return
	}
	s.link = l
	l.use.add(0)
	s.status.serve()
	s.tasks.Go(func() { s.watch(l) })
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
	s.retire(l)
	s.o.Changed()
}

// watch waits for the end of a shared server's link.
func (s *Server) watch(l *link) {
	why := s.tend(s.ctx, l)
	if why == nil {
		return // Close sees to the rest
	}
	s.lose(l, ended, why) // at once: the next call does not wait for what follows
	why = l.explain(why)
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

// letGo closes the shared link on purpose; called with the lock held.
func (s *Server) letGo() {
	l := s.link
	s.link = nil
	s.status.rest()
	s.tasks.Go(func() { _ = l.close() }) // nobody waits for what is of no use
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
			if s.link != nil && !s.closed && s.link.use.idleSince(now.Add(-s.o.IdleTimeout)) {
				s.letGo()
			}
			s.mu.Unlock()
		}
	}
}
