package tenon

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/glob"
	"github.com/tenon-mcp/tenon/tool"
)

// A Stop keeps tools from being used until it is lifted: one tool, all of a
// server, or all there are.
type Stop struct {
	Server string    `json:"server"` // a pattern; "*" is all
	Tool   string    `json:"tool"`   // a pattern; "*" is all
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"`
	Since  time.Time `json:"since"`
}

func (s *Stop) id() tool.ID { return tool.ID{Server: s.Server, Name: s.Tool} }

// maxStops bounds how many stops there are: to stop more, stop all.
const maxStops = 1000

// Stops are the stop switch of a gateway. It is safe for concurrent use.
type Stops struct {
	path    string // where they are kept; empty keeps them in memory alone
	changed func()

	mu      sync.Mutex // held while the set changes
	set     atomic.Pointer[[]Stop]
	running [16]runningCalls
}

// runningCalls are some of the calls that run, by where their request is.
type runningCalls struct {
	mu    sync.Mutex
	calls map[*call.Request]struct{}
}

// openStops reads the stops of the run before: what was stopped stays so. A file
// that cannot be read stops everything, since nobody knows what it said.
func openStops(path string, changed func()) (*Stops, error) {
	s := &Stops{path: path, changed: changed}
	for i := range s.running {
		s.running[i].calls = map[*call.Request]struct{}{}
	}
	s.set.Store(new([]Stop))
	if path == "" {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	var set []Stop
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		set = []Stop{{Server: "*", Tool: "*", Reason: "the file of stops cannot be read", By: "tenon", Since: time.Now().UTC()}}
	}
	s.set.Store(&set)
	return s, err
}

// List returns the stops that are in force, the oldest first.
func (s *Stops) List() []Stop { return slices.Clone(*s.set.Load()) }

// Stop stops tools, those that run included: their calls end with an error of kind
// denied. An empty Server or Tool means all. To stop what is stopped already
// changes its reason.
func (s *Stops) Stop(stop Stop) error {
	stop.Server, stop.Tool = cmp.Or(stop.Server, "*"), cmp.Or(stop.Tool, "*")
	for _, p := range []string{stop.Server, stop.Tool} {
		if glob.Check(p) != nil {
			return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("%q is no pattern: a [ is not closed.", p)}
		}
	}
	stop.Since = time.Now().UTC().Truncate(time.Millisecond)
	err := s.change(func(set []Stop) ([]Stop, error) {
		set = slices.DeleteFunc(set, func(o Stop) bool { return o.id() == stop.id() })
		if len(set) >= maxStops {
			return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("There are %d stops already. Stop whole servers, or all.", maxStops)}
		}
		return append(set, stop), nil
	})
	s.cancel(stop)
	return err
}

// Resume lifts the stop of exactly this server and tool. The error is of kind
// not_found where there is none.
func (s *Stops) Resume(server, name string) error {
	id := tool.ID{Server: cmp.Or(server, "*"), Name: cmp.Or(name, "*")}
	return s.change(func(set []Stop) ([]Stop, error) {
		rest := slices.DeleteFunc(slices.Clone(set), func(o Stop) bool { return o.id() == id })
		if len(rest) == len(set) {
			return nil, &tool.Error{Kind: tool.NotFound, Text: fmt.Sprintf("%s is not stopped as such.", id)}
		}
		return rest, nil
	})
}

// change swaps the set. In force it is at once; the error may be that it could not
// be kept for the next run.
func (s *Stops) change(edit func([]Stop) ([]Stop, error)) error {
	s.mu.Lock()
	set, err := edit(s.List())
	if err == nil {
		s.set.Store(&set)
		err = s.keep(set)
	}
	s.mu.Unlock()
	s.changed()
	return err
}

// keep writes the set for the next run.
func (s *Stops) keep(set []Stop) error {
	if s.path == "" {
		return nil
	}
	text, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return notKept(err)
	}
	f, err := os.CreateTemp(filepath.Dir(s.path), ".stops-*")
	if err != nil {
		return notKept(err)
	}
	_, werr := f.Write(append(text, '\n'))
	err = errors.Join(werr, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return notKept(errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

func notKept(err error) error {
	return &tool.Error{
		Kind: tool.Failed, Err: err,
		Text: fmt.Sprintf("It is in force now, but could not be kept for the next start of the gateway: %v.", err),
	}
}

// why says why a tool is stopped, or nothing.
func (s *Stops) why(id tool.ID) string {
	set := *s.set.Load()
	for i := range set {
		if glob.MatchID(set[i].id(), id) {
			return set[i].text()
		}
	}
	return ""
}

// text is the reason, for the model.
func (s *Stop) text() string {
	what := "It"
	switch {
	case s.Server == "*" && s.Tool == "*":
		what = "Every tool"
	case s.Tool == "*":
		what = "Server " + s.Server
	}
	return what + " was stopped by the operator" + reasonOf(s.Reason)
}

func reasonOf(reason string) string {
	if reason == "" {
		return "."
	}
	return ": " + reason + "."
}

func (s *Stops) shard(r *call.Request) *runningCalls {
	n := 0
	if len(r.ID) > 0 {
		n = int(r.ID[len(r.ID)-1])
	}
	return &s.running[n%len(s.running)]
}

// enter is told of a call that goes on. It looks for stops once more after the call
// can be found, so that none slips between.
func (s *Stops) enter(r *call.Request) *tool.Error {
	sh := s.shard(r)
	sh.mu.Lock()
	sh.calls[r] = struct{}{}
	sh.mu.Unlock()
	if why := s.why(r.Target.ID); why != "" {
		s.leave(r)
		return stoppedError(why)
	}
	return nil
}

func (s *Stops) leave(r *call.Request) {
	sh := s.shard(r)
	sh.mu.Lock()
	delete(sh.calls, r)
	sh.mu.Unlock()
}

func stoppedError(why string) *tool.Error {
	return &tool.Error{Kind: tool.Denied, Text: "The call was not carried out, or was ended. " + why + " Do not call it again; say that it was stopped."}
}

// cancel ends the calls that run and that a stop is for.
func (s *Stops) cancel(stop Stop) {
	for i := range s.running {
		sh := &s.running[i]
		sh.mu.Lock()
		for r := range sh.calls {
			if glob.MatchID(stop.id(), r.Target.ID) {
				r.Cancel(stoppedError(stop.text()))
			}
		}
		sh.mu.Unlock()
	}
}

// OpenStops returns the stops of the user, for pools that are opened later: what a
// gateway that runs has is in Gateway.Stops.
func OpenStops(o Options) (*Stops, error) {
	if o.StateDir == "" {
		return nil, &tool.Error{Kind: tool.Invalid, Text: "There is no place for stops: set $HOME or $XDG_STATE_HOME."}
	}
	return openStops(filepath.Join(o.StateDir, stopsFile), func() {})
}

// stopsFile is where stops are kept, in the state folder.
const stopsFile = "stops.json"

// Stops returns the stop switch.
func (g *Gateway) Stops() *Stops { return g.stops }

// openStops opens the stop switch.
func (g *Gateway) openStops(o Options) {
	path := ""
	if o.StateDir != "" {
		path = filepath.Join(o.StateDir, stopsFile)
	}
	var err error
	g.stops, err = openStops(path, func() { g.events.send(Event{Kind: ToolsChanged}) })
	if err != nil {
		g.log.Error("the file of stops cannot be read: every tool is stopped until the stop is lifted", "file", path, "error", err)
	}
}
