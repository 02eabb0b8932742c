// Package taint keeps track of what a session has read, so that what is private
// does not leave by way of what is untrusted.
//
// An agent that has private data in its context, and text that a stranger wrote,
// may be talked into sending the one away with the next tool that can. None of
// the three is a fault by itself; all of them in one session are worth a question
// (S. Willison, "The lethal trifecta for AI agents", 2025).
//
//	t := taint.New()
//	t.Read(key, meta.Labels, taint.Source{Tool: id, Call: callID})   // after an answer
//	…
//	if trail := t.Trail(key); trail.Complete() {                     // before a call that can send
//		… trail.Text() names what was read, and when …
//	}
//
// What counts is what was really read: a call that failed or was refused leaves
// no trace, and a long result that one session left behind a handle marks each
// session that opens it. A session that is not known any more counts as clean
// only after a day without a call.
package taint

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// Bounds of what is kept.
const (
	maxSessions = 20_000
	maxHandles  = 50_000
	forgetAfter = 24 * time.Hour
	sweepEvery  = time.Minute
)

// A Key names a session of a caller. Calls that name no session share one.
type Key struct{ Caller, Session string }

// A Source is where something was read.
type Source struct {
	Tool tool.ID
	Call string // id
	At   time.Time
}

// A Trail is what a session has read that matters. The zero value is clean.
type Trail struct {
	Private, Untrusted Source // zero where it has read none
	// Lost is set where too many sessions are tracked to know: then it counts as
	// both.
	Lost bool
}

// Complete reports whether the session has read both.
func (t Trail) Complete() bool {
	return t.Lost || t.Private != Source{} && t.Untrusted != Source{}
}

// Text says what was read, for a model and a person.
func (t Trail) Text() string {
	if t.Lost {
		return "there are too many sessions to know what this one has read"
	}
	said := func(s Source) string {
		return fmt.Sprintf("%s (call %s, %s)", s.Tool, s.Call, s.At.UTC().Format("15:04:05Z"))
	}
	return "this session has read private data with " + said(t.Private) + " and untrusted content with " + said(t.Untrusted)
}

// A Tracker tracks sessions. It is safe for concurrent use.
type Tracker struct {
	mu       sync.Mutex
	sessions map[Key]*session
	handles  map[string]kept
	overflow bool // there were more handles than can be kept
	swept    time.Time
}

type session struct {
	trail Trail
	last  time.Time
}

// kept is what is behind a handle.
type kept struct {
	labels  []tool.Label
	from    Source
	expires time.Time
}

// New returns a tracker that has seen nothing.
func New() *Tracker {
	return &Tracker{sessions: map[Key]*session{}, handles: map[string]kept{}}
}

func matters(labels []tool.Label) bool {
	return slices.Contains(labels, tool.LabelPrivate) || slices.Contains(labels, tool.LabelUntrusted)
}

// Read marks a session with what an answer has given it.
func (t *Tracker) Read(k Key, labels []tool.Label, from Source) {
	if !matters(labels) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.read(k, labels, from)
}

func (t *Tracker) read(k Key, labels []tool.Label, from Source) {
	now := time.Now()
	t.sweep(now)
	s := t.sessions[k]
	if s == nil {
		if len(t.sessions) >= maxSessions {
			return // Trail says that it is lost
		}
		s = &session{}
		t.sessions[k] = s
	}
	s.last = now
	if from.At.IsZero() {
		from.At = now
	}
	for _, l := range labels {
		switch {
		case l == tool.LabelPrivate && s.trail.Private == Source{}:
			s.trail.Private = from
		case l == tool.LabelUntrusted && s.trail.Untrusted == Source{}:
			s.trail.Untrusted = from
		}
	}
}

// Kept remembers what a long result holds that is kept behind a handle.
func (t *Tracker) Kept(handle string, labels []tool.Label, from Source, expires time.Time) {
	if !matters(labels) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.sweep(now)
	if from.At.IsZero() {
		from.At = now
	}
	if len(t.handles) >= maxHandles {
		t.overflow = true // from now on a handle that is not known counts as both
		return
	}
	t.handles[handle] = kept{slices.Clone(labels), from, expires}
}

// Opened marks a session with what is behind a handle that it reads or passes on.
func (t *Tracker) Opened(k Key, handle string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok := t.handles[handle]
	switch {
	case ok:
		t.read(k, h.labels, h.from)
	case t.overflow:
		unknown := Source{Tool: tool.ID{Server: "a handle", Name: handle}}
		t.read(k, []tool.Label{tool.LabelPrivate, tool.LabelUntrusted}, unknown)
	}
}

// Untrusted reports whether strangers wrote what is behind a handle, as far as is known.
func (t *Tracker) Untrusted(handle string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok := t.handles[handle]
	return ok && slices.Contains(h.labels, tool.LabelUntrusted) || !ok && t.overflow
}

// Trail returns what a session has read.
func (t *Tracker) Trail(k Key) Trail {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.sessions[k]; s != nil {
		s.last = time.Now()
		return s.trail
	}
	return Trail{Lost: len(t.sessions) >= maxSessions}
}

// sweep forgets sessions that have done nothing for long, and handles that have
// expired.
func (t *Tracker) sweep(now time.Time) {
	if now.Sub(t.swept) < sweepEvery {
		return
	}
	t.swept = now
	for k, s := range t.sessions {
		if now.Sub(s.last) > forgetAfter {
			delete(t.sessions, k)
		}
	}
	for id, h := range t.handles {
		if now.After(h.expires) {
			delete(t.handles, id)
		}
	}
}
