package upstream

import (
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/tool"
)

// Backoff between starts that fail: doubled each time up to the longest.
const (
	firstBackoff   = time.Second
	longestBackoff = time.Minute
	// steady is how long a connection must live to count as a success.
	steady = 30 * time.Second
)

// status is where a server is in its life. The Server's lock guards it.
type status struct {
	state    tool.State
	since    time.Time
	reason   string    // why it failed
	nextTry  time.Time // no start before this one
	failures int       // starts that failed, one after the other
	restarts int
	started  time.Time // of the link that was started last
	era      era.Era   // found last: asked for first
	label    string    // of the transport
	listed   int       // tools
	stderr   string    // of the last process
}

func (s *status) show(name string) tool.ServerStatus {
	out := tool.ServerStatus{
		Name: name, State: s.state, Reason: s.reason, Since: s.since,
		Tools: s.listed, Restarts: s.restarts, Transport: s.label, Era: string(s.era), Stderr: s.stderr,
	}
	if s.state == tool.StateFailed {
		next := s.nextTry
		out.NextTry = &next
	}
	return out
}

func (s *status) set(state tool.State, reason string) {
	if s.state != state || s.reason != reason {
		s.since = time.Now()
	}
	s.state, s.reason = state, reason
}

// ready takes a link that works.
func (s *status) ready() {
	if !s.started.IsZero() {
		s.restarts++
	}
	s.started = time.Now()
	s.set(tool.StateReady, "")
}

// fail takes a failed start and returns how long to wait before the next.
func (s *status) fail(reason string) time.Duration {
	s.failures++
	s.era = era.Unknown // it may have been another one's fault: ask again
	wait := min(firstBackoff<<min(s.failures-1, 10), longestBackoff)
	s.nextTry = time.Now().Add(wait)
	s.set(tool.StateFailed, reason)
	return wait
}

// died takes the end of a link that worked, and returns how long to wait before
// a start that nobody asked for. One that somebody asks for need not wait.
func (s *status) died(reason string) time.Duration {
	if time.Since(s.started) > steady {
		s.failures = 0
	}
	wait := s.fail(reason)
	s.nextTry = time.Now()
	return wait
}

// met notes what a link turned out to be.
func (s *status) met(l *link, label string) {
	s.era, s.label = l.era, l.transport
	if label != "" {
		s.label = label
	}
}

// usage says how many calls run on something, and when one last began or ended.
type usage struct {
	mu    sync.Mutex
	users int
	last  time.Time
}

func (u *usage) add(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.users += n
	u.last = time.Now()
}

// idleSince reports whether nothing has run since limit.
func (u *usage) idleSince(limit time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.users == 0 && u.last.Before(limit)
}
