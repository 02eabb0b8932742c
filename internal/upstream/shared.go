package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
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
			return nil, s.unavailable(st.err.Error())
		}
	}
}

// join returns the start that is under way, or begins one; called with the lock
// held. It fails where it is too early to try again.
func (s *Server) join() (*start, error) {
	if s.closed {
		return nil, &tool.Error{Kind: tool.Unavailable, Text: fmt.Sprintf("server %s is stopped", s.o.Name)}
	}
	if s.starting == nil {
		if wait := time.Until(s.nextTry); wait > 0 {
			return nil, s.unavailable(fmt.Sprintf("%s; it is tried again in %s", s.reason, wait.Round(time.Second)))
		}
		s.begin()
	}
	return s.starting, nil
}

func (s *Server) unavailable(reason string) *tool.Error {
	return &tool.Error{
		Kind: tool.Unavailable,
		Text: fmt.Sprintf("server %s is unavailable: %s", s.o.Name, reason),
	}
}

// begin starts the server in the background; called with the lock held.
func (s *Server) begin() {
	st := &start{done: make(chan struct{})}
	s.starting = st
	s.setState(tool.StateStarting, "")
	s.tasks.Go(func() {
		l, tools, err := s.bring()
		s.brought(st, l, tools, err)
	})
	s.o.Changed()
}

// bring gets the server up and its tools listed, within the deadline for a start.
func (s *Server) bring() (l *link, tools []json.RawMessage, err error) {
	ctx, cancel := context.WithTimeoutCause(s.ctx, s.o.StartTimeout,
		fmt.Errorf("not ready within %s", s.o.StartTimeout))
	defer cancel()
	s.mu.Lock()
	hint := s.era
	s.mu.Unlock()
	for attempt := 0; ; attempt++ {
		var next era.Era
		l, next, err = s.open(ctx, hint, "")
		if err == nil {
			tools, err = s.list(ctx, l)
		}
		if err == nil {
			return l, tools, nil
		}
		if l != nil {
			_ = l.close() // the error that matters is the one before
		}
		if attempt >= s.o.Retries || ctx.Err() != nil {
			return nil, nil, err
		}
		hint = next
		s.log.Debug("start attempt", "attempt", attempt+1, "error", err)
		select {
		case <-time.After(s.o.RetryDelay):
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}

// brought takes the outcome of a start.
func (s *Server) brought(st *start, l *link, tools []json.RawMessage, err error) {
	if err == nil && s.o.Isolation != Shared {
		// Only the list was wanted: each session or call gets a link of its own.
		_ = l.close()
		s.note(l)
	}
	s.mu.Lock()
	s.starting = nil
	switch {
	case s.closed:
		defer func() {
			if l != nil {
				_ = l.close()
			}
		}()
		err = fmt.Errorf("server %s is stopped", s.o.Name)
	case err != nil:
		s.fail(tool.Flatten(err))
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
	s.failures, s.nextTry = 0, time.Time{}
	s.listed = tools
	if s.o.Isolation != Shared {
		s.setState(tool.StateIdle, "")
		return
	}
	if !s.started.IsZero() {
		s.restarts++
	}
	s.started = time.Now()
	s.link = l
	s.era, s.label = l.era, s.labelOf(l)
	s.setState(tool.StateReady, "")
	s.tasks.Go(func() { s.watch(l) })
}

func (s *Server) note(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.era, s.label = l.era, s.labelOf(l)
}

func (s *Server) labelOf(l *link) string {
	if s.o.Label != "" {
		return s.o.Label
	}
	return l.transport
}

// fail takes a failure; called with the lock held.
func (s *Server) fail(reason string) {
	s.failures++
	s.era = era.Unknown // it may have been another one's fault: ask again
	wait := min(firstBackoff<<min(s.failures-1, 10), longestBackoff)
	s.nextTry = time.Now().Add(wait)
	s.setState(tool.StateFailed, reason)
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
	s.stderr = l.stderr()
	if time.Since(s.started) > steady {
		s.failures = 0
	}
	s.fail(tool.Flatten(why))
	s.nextTry = time.Now() // it worked before: the next use may start it at once
	s.mu.Unlock()
	s.log.Warn("server ended", "error", why)
	s.o.Changed()
}

// drop forgets a shared link that turned out to be of no use.
func (s *Server) drop(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l || s.closed {
		return
	}
	s.link = nil
	s.setState(tool.StateIdle, "")
	s.tasks.Go(func() { _ = l.close() }) // nobody waits for what is of no use
}
