package stops

import (
	"context"
	"fmt"
	"slices"

	"github.com/tenon-mcp/tenon/tool"
)

// UnkeptError is the error, of kind failed, of a change that is in force in this process
// alone, because it could not be written. Whoever is about to end has changed nothing.
type UnkeptError struct{ Cause error }

// Error says it of a gateway.
func (u *UnkeptError) Error() string {
	return "It is in force in this gateway until that ends, unless it can be kept before, which the gateway goes on trying: " + u.Cause.Error() + "."
}

// Unwrap gives the kind, and the cause.
func (u *UnkeptError) Unwrap() []error {
	return []error{&tool.Error{Kind: tool.Failed, Text: u.Error()}, u.Cause}
}

// A change makes a stop or lifts one.
type change struct {
	stop  Stop
	lifts bool
}

// String names it in the log.
func (c change) String() string {
	if c.lifts {
		return "resume " + c.stop.id().String()
	}
	return "stop " + c.stop.id().String()
}

// names reports whether this is a stop of the same server and tool.
func (c change) names(o Stop) bool { return o.id() == c.stop.id() }

// of returns the set with the change. What is lifted goes by its name.
func (c change) of(set []Stop) ([]Stop, error) {
	rest := slices.DeleteFunc(slices.Clone(set), c.names)
	switch {
	case c.lifts && len(rest) == len(set):
		return nil, &tool.Error{Kind: tool.NotFound, Text: fmt.Sprintf("%s is not stopped as such.", c.stop.id())}
	case c.lifts:
		return rest, nil
	case len(rest) >= maxStops:
		return nil, &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf("There are %d stops already. Stop whole servers, or all.", maxStops)}
	}
	return append(rest, c.stop), nil
}

// keepLater remembers a change that could not be written, and reports whether there is
// anything of it to write. What it lifts is exactly the stop that the file holds: one
// that somebody makes later is another one.
func (s *Stops) keepLater(c change) bool {
	s.unkept = slices.DeleteFunc(s.unkept, func(o change) bool { return c.names(o.stop) })
	if c.lifts {
		i := slices.IndexFunc(s.kept, c.names)
		if i < 0 {
			return false // it was not kept either
		}
		c.stop = s.kept[i]
	}
	s.unkept = append(s.unkept, c)
	return true
}

// inForce returns what the file says with what was changed here.
func (s *Stops) inForce() []Stop {
	set := slices.Clone(s.kept)
	for _, c := range s.unkept {
		set = slices.DeleteFunc(set, func(o Stop) bool { return c.names(o) && (o == c.stop || !c.lifts) })
		if !c.lifts {
			set = append(set, c.stop)
		}
	}
	slices.SortStableFunc(set, func(a, b Stop) int { return a.Since.Compare(b.Since) })
	return set
}

// overtake lets go of what was changed here and what the file, which is another one now,
// has later news of. While it cannot be read there are none.
func (s *Stops) overtake() {
	s.unkept = slices.DeleteFunc(s.unkept, func(c change) bool {
		switch i := slices.IndexFunc(s.kept, c.names); {
		case c.stop.unread:
			return !slices.Contains(s.kept, c.stop) // it was lifted, and is over
		case s.broken != nil || i >= 0 && s.kept[i] == c.stop:
			return false
		case !c.lifts:
			return i >= 0 && s.kept[i].Since.After(c.stop.Since)
		case i >= 0:
			s.o.Log.Error("what was resumed here, which could not be kept, is stopped: somebody has stopped it again", "change", c)
		}
		return true // somebody else has resumed it too
	})
}

// keep tries to write what could not be written; called with mu held.
func (s *Stops) keep(ctx context.Context) {
	if len(s.unkept) == 0 {
		return
	}
	unlock, err := lock(ctx, s.o.Path, period)
	if err != nil {
		return
	}
	defer unlock()
	if err := s.reread(); err != nil {
		resumed := slices.ContainsFunc(s.unkept, func(c change) bool { return c.stop.unread })
		if !isLost(err) || !resumed {
			return // what the file said may come back, and until then everything is stopped
		}
	}
	unkept := s.unkept
	if s.write(s.inForce()) != nil {
		return
	}
	for _, c := range unkept {
		s.o.Log.Info("a change of the stops that could not be kept is kept now", "change", c)
	}
}
