// Package stops is the stop switch: it keeps tools from being used until somebody
// lifts the stop, and ends the calls that run.
//
//	s, err := stops.Open(stops.Options{Path: path, Changed: changed})
//	…
//	if why := s.Why(id); why != "" { … the tool is stopped … }
//	if err := s.Enter(call); err != nil { return err }
//	defer s.Leave(call)
//
// What is stopped is kept in a file, which is the truth for every process that
// opens it: a change is made under a lock to what the file says at that moment, and
// Watch takes what others have changed. A file that cannot be read stops
// everything, since nobody knows what it said. A change that cannot be written is in
// force in this process beside what the file says, and Watch writes it once that can
// be done.
package stops

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// A Stop is one tool, all of a server, or all there are.
type Stop struct {
	Server string    `json:"server"` // a pattern; "*" is all
	Tool   string    `json:"tool"`   // a pattern; "*" is all
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since"`

	unread bool // it holds because the file cannot be read
}

func (s *Stop) id() tool.ID { return tool.ID{Server: s.Server, Name: s.Tool} }

// text is the reason, for the model.
func (s *Stop) text() string {
	if s.unread {
		return "Every tool is stopped: " + unreadable + "."
	}
	what := "It"
	switch {
	case s.Server == "*" && s.Tool == "*":
		what = "Every tool"
	case s.Tool == "*":
		what = "Server " + s.Server
	}
	text := what + " was stopped by the operator"
	if reason := strings.TrimRight(s.Reason, ". "); reason != "" {
		text += ": " + reason
	}
	return text + "."
}

// Bounds.
const (
	maxStops = 1000    // to stop more, stop all
	maxText  = 2000    // bytes of each text of a stop
	maxFile  = 8 << 20 // bytes
	lockWait = 5 * time.Second
	period   = 250 * time.Millisecond // of Watch
)

// Followed is how long it takes until those who Watch have taken a change.
const Followed = 2 * period

// Options configures Stops.
type Options struct {
	Path    string       // where they are kept; empty keeps them in memory alone
	Changed func()       // is told after each change; nil is not
	Log     *slog.Logger // nil is none
}

// Stops are the stops in force. They are safe for concurrent use.
type Stops struct {
	o   Options
	set atomic.Pointer[[]Stop]

	mu     sync.Mutex // held while the set changes
	seen   stamp      // of the file that was read last
	broken error      // why that file could not be read
	kept   []Stop     // what it says; unreadable is one stop of all
	unkept []change   // what was changed here and is not in it, one for each server and tool

	running [16]running
}

// Open reads the stops. The error says that the file cannot be read: everything is
// stopped then. It is in the log too.
func Open(o Options) (*Stops, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Stops{o: o}
	s.set.Store(new([]Stop))
	if o.Path == "" {
		return s, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.reread()
}

// List returns the stops that are in force, the oldest first.
func (s *Stops) List() []Stop { return slices.Clone(*s.set.Load()) }

// Version changes with the set, and is comparable.
func (s *Stops) Version() any { return s.set.Load() }

// Why says why a tool is stopped, or nothing.
func (s *Stops) Why(id tool.ID) string {
	set := *s.set.Load()
	for i := range set {
		if glob.MatchID(set[i].id(), id) {
			return set[i].text()
		}
	}
	return ""
}

// Stop stops tools, those whose calls run included: these end with an error of kind
// denied. An empty Server or Tool means all. To stop what is stopped already
// changes its reason.
//
// The error is an *UnkeptError where the stop is in force in this process alone.
func (s *Stops) Stop(ctx context.Context, stop Stop) error {
	stop.Server, stop.Tool = cmp.Or(stop.Server, "*"), cmp.Or(stop.Tool, "*")
	for _, p := range []string{stop.Server, stop.Tool} {
		if glob.Check(p) != nil {
			return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("%q is no pattern: a [ is not closed.", p)}
		}
	}
	if max(len(stop.Server), len(stop.Tool), len(stop.Reason)) > maxText {
		return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("The names and the reason of a stop have at most %d bytes each.", maxText)}
	}
	stop.Since = time.Now().UTC().Truncate(time.Millisecond)
	return s.change(ctx, change{stop: stop})
}

// Resume lifts the stop of exactly this server and tool. The error is of kind
// not_found where there is none, and an *UnkeptError where it is lifted in this process
// alone.
func (s *Stops) Resume(ctx context.Context, server, name string) error {
	return s.change(ctx, change{stop: Stop{Server: cmp.Or(server, "*"), Tool: cmp.Or(name, "*")}, lifts: true})
}

// change makes a change, under the lock of the file where there is one.
func (s *Stops) change(ctx context.Context, c change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error // what keeps it from being written
	if s.o.Path != "" {
		var unlock func()
		if unlock, failed = lock(ctx, s.o.Path, lockWait); failed == nil {
			defer unlock()
			if failed = s.reread(); isLost(failed) {
				failed = nil // it is written anew
			}
		}
	}
	set, err := c.of(s.List()) // where the file cannot be had, of what is known
	if err != nil {
		return err
	}
	if failed == nil {
		failed = s.write(set)
	}
	unkept := failed != nil && s.keepLater(c)
	s.take(s.inForce())
	if !unkept {
		return nil
	}
	s.o.Log.Error("a change of the stops cannot be kept: it is in force in this process alone until it can be", "change", c, "error", failed)
	return &UnkeptError{failed}
}

// take makes set the one that is in force; called with mu held.
func (s *Stops) take(set []Stop) {
	before := *s.set.Load()
	if slices.Equal(before, set) {
		return
	}
	s.set.Store(&set)
	for i := range set {
		if !slices.Contains(before, set[i]) {
			s.end(&set[i])
		}
	}
	if s.o.Changed != nil {
		s.o.Changed()
	}
}

// Watch takes what other processes change, and writes what could not be written, until
// ctx ends. What cannot be written then is lost.
func (s *Stops) Watch(ctx context.Context) {
	if s.o.Path == "" {
		return
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-tick.C:
		}
		s.mu.Lock()
		_ = s.reread() // it is in the log
		s.keep(context.WithoutCancel(ctx))
		s.mu.Unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.unkept {
		s.o.Log.Error("a change of the stops could not be kept and ends with this process", "change", c)
	}
}
