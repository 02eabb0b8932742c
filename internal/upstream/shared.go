package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// shared returns the one link of a shared server, started where it is not.
func (s *Server) shared(ctx context.Context) (*link, error) {
	for {
		s.mu.Lock()
		if l := s.link; l != nil {
			s.mu.Unlock()
			return l, nil
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
	if s.closed {
		return nil, unavailable(s.o.Name, "it is stopped")
	}
	if s.starting == nil {
		if wait := time.Until(s.status.nextTry); wait > 0 {
			return nil, unavailable(s.o.Name, fmt.Sprintf("%s; it is tried again in %s", s.status.reason, wait.Round(time.Second)))
		}
		s.begin()
	}
	return s.starting, nil
}

func unavailable(server, reason string) *tool.Error {
	return &tool.Error{
		Kind: tool.Unavailable,
		Text: fmt.Sprintf("server %s is unavailable: %s", server, reason),
	}
}

// begin starts the server in the background; called with the lock held.
func (s *Server) begin() {
	st := &start{done: make(chan struct{})}
	s.starting = st
	s.status.set(tool.StateStarting, s.status.reason) // why it failed before stays to be seen
	hint := s.status.era
	s.tasks.Go(func() {
		l, tools, err := s.dialer.bring(s.ctx, hint)
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
		s.fail(s.status.fail(s.o.Mask(tool.Flatten(err))))
	default:
		s.up(l, len(tools))
	}
	s.mu.Unlock()
	if err == nil {
		s.o.Listed(tools)
		s.log.Info("server is ready", "tools", len(tools), "era", l.era, "transport", l.transport)
	} else {
		s.log.Warn("server did not start", "error", err)
	}
	st.err = err
	close(st.done)
	s.o.Changed()
}

// up takes a link that works; called with the lock held.
func (s *Server) up(l *link, tools int) {
	s.status.failures, s.status.nextTry, s.status.listed = 0, time.Time{}, tools
	s.status.met(l, s.o.Label)
	if s.o.Isolation != Shared {
		s.status.set(tool.StateIdle, "")
		return
	}
	s.link = l
	s.use.add(0)
	s.status.ready()
	s.tasks.Go(func() { s.watch(l) })
}

// fail plans the next start after a failure, in a gateway; called with the lock held.
func (s *Server) fail(wait time.Duration) {
	if s.o.Keep && !s.closed {
		s.retry = time.AfterFunc(wait, s.Ensure)
	}
}

// watch waits for the end of a shared server's link.
func (s *Server) watch(l *link) {
	<-l.client.Done()
	why := l.explain(l.client.Err())
	_ = l.close()
	s.mu.Lock()
	if s.link != l { // stopped or replaced on purpose
		s.mu.Unlock()
		return
	}
	s.link = nil
	s.status.stderr = l.stderr()
	s.fail(s.status.died(s.o.Mask(tool.Flatten(why))))
	s.mu.Unlock()
	s.log.Warn("server ended", "error", why)
	s.o.Changed()
}

// drop forgets a shared link that turned out to be of no use.
func (s *Server) drop(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == l && !s.closed {
		s.letGo()
	}
}

// letGo closes the shared link on purpose; called with the lock held.
func (s *Server) letGo() {
	l := s.link
	s.link = nil
	s.status.set(tool.StateIdle, "")
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
			limit := now.Add(-s.o.IdleTimeout)
			s.sessions.endIdle(limit)
			s.mu.Lock()
			if s.link != nil && !s.closed && s.use.idleSince(limit) {
				s.letGo()
			}
			s.mu.Unlock()
		}
	}
}
