package upstream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/internal/era"
	"github.com/tenon-mcp/tenon/tool"
)

// An event is what happens to a server.
type event string

// The life of a server: where each event leads, and from where. It is the whole
// state machine; an event that a state does not know changes nothing. A breaker is
// part of it: failed is open until nextTry, a start is the one probe of a breaker
// that is half open, and ready is closed.
var transitions = map[event]struct {
	from []tool.State
	to   tool.State
}{
	begins:   {[]tool.State{tool.StateIdle, tool.StateFailed}, tool.StateStarting},   // somebody wants it, or it is time to try again
	installs: {[]tool.State{tool.StateIdle, tool.StateFailed}, tool.StateInstalling}, // the same, and it may have to be downloaded first
	serves:   {[]tool.State{tool.StateStarting, tool.StateInstalling}, tool.StateReady},
	rests:    {[]tool.State{tool.StateStarting, tool.StateInstalling, tool.StateReady, tool.StateFailed}, tool.StateIdle}, // it works, and nobody needs it now
	fails:    {[]tool.State{tool.StateStarting, tool.StateInstalling, tool.StateIdle}, tool.StateFailed},                  // a start came to nothing
	dies:     {[]tool.State{tool.StateReady}, tool.StateFailed},                                                           // its link ended, hung, or broke too often
	stops:    {[]tool.State{tool.StateIdle, tool.StateStarting, tool.StateInstalling, tool.StateReady, tool.StateFailed}, tool.StateStopped},
}

const (
	begins   event = "begins"
	installs event = "installs"
	serves   event = "serves"
	rests    event = "rests"
	fails    event = "fails"
	dies     event = "dies"
	stops    event = "stops"
)

const (
	// Backoff between starts that fail: doubled each time up to the longest, and
	// then between half of it and all of it, so that what failed together does not
	// come back together.
	firstBackoff   = time.Second
	longestBackoff = time.Minute
	// steady is how long a link must live to count as one that served.
	steady = 30 * time.Second
)

// status is where a server is in its life. The Server's lock guards it.
type status struct {
	state    tool.State
	since    time.Time
	reason   string    // why it failed last; empty once it works
	nextTry  time.Time // no start before this one
	failures int       // one after the other: starts, and links that died before they had served
	restarts int
	ran      bool // it was ready before
	// installed says that it has worked, so that it need not be downloaded.
	installed bool
	era       era.Era
	label     string // of the transport
	listed    int    // tools
	stderr    string // of the last process
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

// on takes an event. It is the only place where the state changes.
func (s *status) on(e event) {
	t := transitions[e]
	if slices.Contains(t.from, s.state) {
		s.state, s.since = t.to, time.Now()
	}
}

// mayStart says why no start may begin now.
func (s *status) mayStart(server string) error {
	if s.state == tool.StateStopped {
		return unavailable(server, "it is stopped")
	}
	if wait := time.Until(s.nextTry); wait > 0 {
		err := unavailable(server, fmt.Sprintf("%s; it is tried again in %d s", s.reason, int(math.Ceil(wait.Seconds()))))
		err.Err = &heldError{s.nextTry}
		return err
	}
	return nil
}

// held reports whether the next start has to wait for its time.
func (s *status) held() bool {
	return s.state == tool.StateFailed && time.Until(s.nextTry) > 0
}

// A failedError is why a server is failed, and until when.
type failedError struct {
	reason string
	until  time.Time
}

// Error implements error.
func (e *failedError) Error() string { return e.reason }

// HeldUntil returns when the server is started again.
func (e *failedError) HeldUntil() time.Time { return e.until }

// A heldError says that a call was held back, since its server is started again
// only later.
type heldError struct{ until time.Time }

// Error says until when.
func (e *heldError) Error() string { return "held back until " + e.until.Format(time.RFC3339) }

// HeldUntil returns when it is worth to try again.
func (e *heldError) HeldUntil() time.Time { return e.until }

// startLimit is how long a start may take, and whether that is so because it may
// have to download the server first.
func (s *status) startLimit(o *Options) (limit time.Duration, installs bool) {
	if !s.installed && o.InstallTimeout > 0 && isRunner(o.Command) {
		return max(o.InstallTimeout, o.StartTimeout), true
	}
	return o.StartTimeout, false
}

// begin notes that a start begins. Why it failed before stays to be seen.
func (s *status) begin(mayInstall bool) {
	if mayInstall {
		s.on(installs)
		return
	}
	s.on(begins)
}

// serve takes a link that works and is kept.
func (s *status) serve() {
	if s.ran {
		s.restarts++
	}
	s.ran, s.reason, s.nextTry = true, "", time.Time{}
	s.on(serves)
}

// rest notes that the server works, and that no link is kept.
func (s *status) rest() {
	s.reason, s.nextTry, s.failures = "", time.Time{}, 0
	s.on(rests)
}

// fail takes a failed start and returns how long to wait before the next.
func (s *status) fail(reason string) time.Duration {
	s.era = era.Unknown // it may have been another one's fault: ask again
	s.failures++
	return s.wait(fails, reason, s.failures)
}

// die takes the end of a link that worked, and returns how long to wait before
// the next start. A link that had served is replaced at once, and so is the first
// that had not: only those that die again and again have to wait.
func (s *status) die(reason string, served bool) time.Duration {
	if served {
		s.failures = 0
		return s.wait(dies, reason, 0)
	}
	s.failures++
	return s.wait(dies, reason, s.failures-1)
}

// trip takes the end of a link that failed too often in a row, and returns how
// long its breaker stays open.
func (s *status) trip(reason string, served bool) time.Duration {
	if served {
		s.failures = 0
	}
	s.failures++
	return s.wait(dies, reason, s.failures)
}

// spurn takes a link for one session or call that could not be opened. One
// session's failure is no reason to keep the others waiting, several are.
func (s *status) spurn(reason string) time.Duration {
	s.era = era.Unknown
	s.failures++
	if s.failures < 3 {
		return 0
	}
	return s.wait(fails, reason, s.failures-2)
}

func (s *status) wait(e event, reason string, failures int) time.Duration {
	wait := backoff(failures)
	s.reason, s.nextTry = reason, time.Now().Add(wait)
	s.on(e)
	return wait
}

// backoff returns how long to wait after so many failures, none after 0.
func backoff(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	most := min(firstBackoff<<min(failures-1, 10), longestBackoff)
	return most/2 + rand.N(most/2+1)
}

// met notes what a link turned out to be.
func (s *status) met(l *link, label string) {
	s.installed = true
	s.era, s.label = l.era, l.transport
	if label != "" {
		s.label = label
	}
}
