package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Key names one agent's run at a session server: who calls, and what they call
// the session.
type Key struct{ Caller, Session string }

// sessions are the links of a session server, one for each Key.
type sessions struct {
	limit int
	ctx   context.Context // ends them all
	tasks *sync.WaitGroup
	open  func(ctx context.Context, task string) (*link, error)

	mu  sync.Mutex
	all map[Key]*session
}

// A session is the link of one Key.
type session struct {
	ended context.Context // ends when the session is to end
	end   context.CancelFunc
	ready chan struct{} // closed when link or err is set
	link  *link
	err   error
	use   usage
}

var errTooManySessions = errors.New("all of its sessions are in use: end one, or try again later")

// lease returns the link of a session, opened where it is not, and the function
// that gives it back.
func (p *sessions) lease(ctx context.Context, key Key, task string) (*link, func(), error) {
	p.mu.Lock()
	ses := p.all[key]
	if ses == nil {
		if len(p.all) >= p.limit {
			p.mu.Unlock()
			return nil, nil, fmt.Errorf("%w (limit %d)", errTooManySessions, p.limit)
		}
		ses = &session{ready: make(chan struct{})}
		ses.ended, ses.end = context.WithCancel(p.ctx)
		p.all[key] = ses
		// In the background, so that a caller who gives up leaves it to the next.
		p.tasks.Go(func() { p.run(key, ses, task) })
	}
	ses.use.add(1)
	p.mu.Unlock()

	release := func() { ses.use.add(-1) }
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

// run is the life of one session.
func (p *sessions) run(key Key, ses *session, task string) {
	ses.link, ses.err = p.open(ses.ended, task)
	if ses.err != nil {
		p.forget(key, ses)
		close(ses.ready)
		return
	}
	close(ses.ready)
	select {
	case <-ses.link.client.Done():
	case <-ses.ended.Done():
	}
	p.forget(key, ses)
	_ = ses.link.close()
}

// forget takes a session out, so that the next call with its key opens a new one.
func (p *sessions) forget(key Key, ses *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[key] == ses {
		delete(p.all, key)
	}
	ses.end()
}

// endOne ends the session of a key, if there is one. It does not wait.
func (p *sessions) endOne(key Key) {
	p.mu.Lock()
	ses := p.all[key]
	p.mu.Unlock()
	if ses != nil {
		p.forget(key, ses)
	}
}

// endIdle ends the sessions that have not been used since limit.
func (p *sessions) endIdle(limit time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, ses := range p.all {
		if ses.use.idleSince(limit) {
			delete(p.all, key)
			ses.end()
		}
	}
}

// EndSession ends the link of a session, if there is one. It does not wait.
func (s *Server) EndSession(key Key) { s.sessions.endOne(key) }

// lease returns a link for one call, and the function that gives it back.
func (s *Server) lease(ctx context.Context, key Key, task string) (*link, func(), error) {
	switch s.o.Isolation {
	case PerSession:
		l, release, err := s.sessions.lease(ctx, key, task)
		if errors.Is(err, errTooManySessions) {
			err = unavailable(s.o.Name, err.Error())
		}
		return l, release, err
	case PerCall:
		l, err := s.openFor(ctx, task)
		if err != nil {
			return nil, nil, err
		}
		return l, func() { _ = l.close() }, nil
	case Shared:
	}
	l, err := s.shared(ctx)
	if err != nil || s.o.IdleTimeout == 0 {
		return l, func() {}, err
	}
	s.use.add(1)
	return l, func() { s.use.add(-1) }, nil
}
