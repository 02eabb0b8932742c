package upstream

import (
	"context"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/tool"
)

// A Key names one agent's run at a session server: who calls, and what they call
// the session.
type Key struct{ Caller, Session string }

// A session is the link of one Key.
type session struct {
	ready chan struct{} // closed when link or err is set
	link  *link
	err   error
	users int // calls that run on it
	used  time.Time
}

// lease returns a link for one call, and the function that gives it back.
func (s *Server) lease(ctx context.Context, key Key, task string) (*link, func(), error) {
	switch s.o.Isolation {
	case PerSession:
		return s.leaseSession(ctx, key, task)
	case PerCall:
		l, err := s.openFor(ctx, task)
		if err != nil {
			return nil, nil, err
		}
		return l, func() { _ = l.close() }, nil
	}
	l, err := s.shared(ctx)
	if err != nil {
		return nil, nil, err
	}
	if s.o.IdleTimeout == 0 {
		return l, func() {}, nil
	}
	s.use(1)
	return l, func() { s.use(-1) }, nil
}

func (s *Server) use(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users += n
	s.used = time.Now()
}

// openFor opens a link of one session or call, within the deadline for a start.
func (s *Server) openFor(ctx context.Context, task string) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.StartTimeout, fmt.Errorf("not ready within %s", s.o.StartTimeout))
	defer cancel()
	s.mu.Lock()
	closed, hint := s.closed, s.era
	s.mu.Unlock()
	if closed {
		return nil, s.unavailable("it is stopped")
	}
	l, _, err := s.open(ctx, hint, task)
	if err != nil {
		s.mu.Lock()
		s.era = era.Unknown
		s.mu.Unlock()
		return nil, s.unavailable(tool.Flatten(err))
	}
	s.note(l)
	return l, nil
}

func (s *Server) leaseSession(ctx context.Context, key Key, task string) (*link, func(), error) {
	s.mu.Lock()
	ses := s.sessions[key]
	if ses == nil {
		if len(s.sessions) >= s.o.MaxSessions {
			s.mu.Unlock()
			return nil, nil, s.unavailable(fmt.Sprintf("all of its %d sessions are in use: end one, or try again later", s.o.MaxSessions))
		}
		ses = &session{ready: make(chan struct{})}
		s.sessions[key] = ses
		// In the background, so that a caller who gives up leaves it to the next.
		s.tasks.Go(func() { s.openSession(key, ses, task) })
	}
	ses.users++
	s.mu.Unlock()

	release := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		ses.users--
		ses.used = time.Now()
	}
	select {
	case <-ses.ready:
	case <-ctx.Done():
		release()
		return nil, nil, context.Cause(ctx)
	}
	if ses.err != nil {
		release()
		return nil, nil, ses.err
	}
	return ses.link, release, nil
}

func (s *Server) openSession(key Key, ses *session, task string) {
	l, err := s.openFor(s.ctx, task)
	s.mu.Lock()
	ses.link, ses.err, ses.used = l, err, time.Now()
	gone := s.sessions[key] != ses // closed meanwhile
	if err != nil && !gone {
		delete(s.sessions, key)
	}
	s.mu.Unlock()
	close(ses.ready)
	if err != nil {
		return
	}
	if !gone {
		select {
		case <-l.client.Done():
			s.log.Warn("session ended", "error", l.explain(l.client.Err()))
			s.mu.Lock()
			if s.sessions[key] == ses {
				delete(s.sessions, key)
			}
			s.mu.Unlock()
		case <-s.ctx.Done():
		}
	}
	_ = l.close()
}

// EndSession ends the link of a session, if there is one. It does not wait.
func (s *Server) EndSession(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ses := s.sessions[key]; ses != nil && !s.closed {
		s.endSession(key, ses)
	}
}

// endSession is called with the lock held.
func (s *Server) endSession(key Key, ses *session) {
	delete(s.sessions, key)
	s.tasks.Go(func() {
		<-ses.ready
		if ses.link != nil {
			_ = ses.link.close()
		}
	})
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
			s.endIdleAt(now.Add(-s.o.IdleTimeout))
		}
	}
}

func (s *Server) endIdleAt(limit time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for key, ses := range s.sessions {
		if ses.users == 0 && !ses.used.IsZero() && ses.used.Before(limit) {
			s.endSession(key, ses)
		}
	}
	if l := s.link; l != nil && s.users == 0 && s.used.Before(limit) && s.started.Before(limit) {
		s.link = nil
		s.setState(tool.StateIdle, "")
		s.tasks.Go(func() { _ = l.close() })
	}
}
