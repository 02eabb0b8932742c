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
// everything, since nobody knows what it said.
package stops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/flock"
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
}

func (s *Stop) id() tool.ID { return tool.ID{Server: s.Server, Name: s.Tool} }

// text is the reason, for the model.
func (s *Stop) text() string {
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
	maxFile  = 4 << 20 // bytes
	lockWait = 5 * time.Second
	period   = 250 * time.Millisecond // of Watch
)

// Followed is how long it takes until those who Watch have taken a change.
const Followed = 2 * period

// Options configures Stops.
type Options struct {
	Path    string // where they are kept; empty keeps them in memory alone
	Changed func() // is told after each change; nil is not
}

// Stops are the stops in force. They are safe for concurrent use.
type Stops struct {
	o   Options
	set atomic.Pointer[[]Stop]

	mu     sync.Mutex // held while the set changes
	seen   stamp      // of the file that the set is from
	broken error      // why that file could not be read

	running [16]running
}

// Open reads the stops. The error says that the file cannot be read: everything is
// stopped then.
func Open(o Options) (*Stops, error) {
	s := &Stops{o: o}
	s.set.Store(new([]Stop))
	if o.Path == "" {
		return s, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.reread()
	return s, err
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
	stop.Since = time.Now().UTC().Truncate(time.Millisecond)
	return s.change(ctx, func(set []Stop) ([]Stop, error) {
		set = slices.DeleteFunc(set, func(o Stop) bool { return o.id() == stop.id() })
		if len(set) >= maxStops {
			return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("There are %d stops already. Stop whole servers, or all.", maxStops)}
		}
		return append(set, stop), nil
	})
}

// Resume lifts the stop of exactly this server and tool. The error is of kind
// not_found where there is none.
func (s *Stops) Resume(ctx context.Context, server, name string) error {
	id := tool.ID{Server: cmp.Or(server, "*"), Name: cmp.Or(name, "*")}
	return s.change(ctx, func(set []Stop) ([]Stop, error) {
		rest := slices.DeleteFunc(slices.Clone(set), func(o Stop) bool { return o.id() == id })
		if len(rest) == len(set) {
			return nil, &tool.Error{Kind: tool.NotFound, Text: fmt.Sprintf("%s is not stopped as such.", id)}
		}
		return rest, nil
	})
}

// UnkeptError is the error, of kind failed, of a change that is in force in this process
// alone and ends with it, because it could not be written. Whoever is about to end has
// changed nothing.
type UnkeptError struct{ Cause error }

// Error says it of a gateway.
func (u *UnkeptError) Error() string {
	return "It is in force in this gateway until that ends, and no longer, for it could not be kept: " + u.Cause.Error() + "."
}

// Unwrap gives the kind, and the cause.
func (u *UnkeptError) Unwrap() []error {
	return []error{&tool.Error{Kind: tool.Failed, Text: u.Error()}, u.Cause}
}

// change edits the set, under the lock of the file where there is one.
func (s *Stops) change(ctx context.Context, edit func([]Stop) ([]Stop, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept error
	if s.o.Path != "" {
		lock, err := s.lock(ctx)
		if err == nil {
			defer lock.Close()
			if _, err = s.reread(); s.broken != nil {
				err = nil // what it said is lost: it is written anew
			}
		}
		kept = err // what the file says cannot be known: the change is made to what is known
	}
	set, err := edit(s.List())
	if err != nil {
		return err
	}
	if s.o.Path != "" && kept == nil {
		kept = s.write(set)
	}
	s.take(set)
	if kept != nil {
		return &UnkeptError{kept}
	}
	return nil
}

func (s *Stops) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(s.o.Path), 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	return flock.Wait(ctx, s.o.Path+".lock")
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

// A stamp tells one state of a file from another.
type stamp struct {
	at   time.Time
	size int64
	info fs.FileInfo
}

// unread is what holds while the file cannot be read.
var unread = Stop{Server: "*", Tool: "*", Reason: "the file of stops cannot be read", By: "tenon"}

// reread takes what the file says, if it is another one than before, and reports
// whether other tools are stopped since; called with mu held.
func (s *Stops) reread() (changed bool, err error) {
	before := s.set.Load()
	defer func() { changed = s.set.Load() != before }()
	info, err := os.Stat(s.o.Path)
	now := stamp{}
	switch {
	case err == nil:
		now = stamp{info.ModTime(), info.Size(), info}
	case !errors.Is(err, fs.ErrNotExist):
		s.take([]Stop{unread})
		return false, err
	}
	if now.same(s.seen) && s.broken == nil {
		return false, nil
	}
	set, err := s.read(now)
	if err != nil {
		set = []Stop{unread}
	}
	s.seen, s.broken = now, err
	s.take(set)
	return false, err
}

func (a stamp) same(b stamp) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil
	}
	return a.at.Equal(b.at) && a.size == b.size && os.SameFile(a.info, b.info)
}

func (s *Stops) read(now stamp) ([]Stop, error) {
	switch {
	case now.info == nil:
		return []Stop{}, nil
	case !now.info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", s.o.Path)
	case now.size > maxFile:
		return nil, fmt.Errorf("%s is larger than %d bytes", s.o.Path, maxFile)
	}
	text, err := os.ReadFile(s.o.Path)
	if err != nil {
		return nil, err
	}
	var set []Stop
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("%s: %w", s.o.Path, err)
	}
	return set, nil
}

// write writes the set, whole or not at all.
func (s *Stops) write(set []Stop) error {
	text, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(s.o.Path), ".stops-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.o.Path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if info, err := os.Stat(s.o.Path); err == nil {
		s.seen = stamp{info.ModTime(), info.Size(), info}
	}
	return nil
}

// Watch takes what other processes change, until ctx ends. failed is told of a file
// that cannot be read, once for each state of it.
func (s *Stops) Watch(ctx context.Context, failed func(error)) {
	if s.o.Path == "" {
		return
	}
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		changed, err := s.reread()
		s.mu.Unlock()
		if changed && err != nil {
			failed(err)
		}
	}
}
