package tool

import (
	"errors"
	"strings"
)

// Kind says what went wrong with a call, so that a caller can decide what to do.
// The empty kind is success.
type Kind string

// The kinds of error.
const (
	Invalid        Kind = "invalid"         // the call itself is wrong
	NotFound       Kind = "not_found"       // no such server or tool
	Denied         Kind = "denied"          // not allowed
	Unavailable    Kind = "unavailable"     // the server cannot be reached now
	Timeout        Kind = "timeout"         // the deadline passed
	Canceled       Kind = "canceled"        // the caller gave up
	Failed         Kind = "failed"          // the tool said so
	OutcomeUnknown Kind = "outcome_unknown" // a write was sent and its answer lost
	Internal       Kind = "internal"        // a fault of Tenon
)

// An Error is a failure that callers decide on by its Kind. Text is for the
// model or the person: what happened and what to do next. Err is the chain for
// the log; it is nil where there is nothing more to say.
type Error struct {
	Kind Kind
	Text string
	Err  error
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err: that of the first *Error in its chain, or
// Internal.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// Flatten returns the leaves of a tree of joined errors on one line, separated
// by " | ". A tree without joins is its own text, with line ends folded.
func Flatten(err error) string {
	if err == nil {
		return ""
	}
	var leaves []string
	var walk func(error)
	walk = func(err error) {
		if j, ok := findJoin(err); ok {
			for _, e := range j.Unwrap() {
				walk(e)
			}
			return
		}
		leaves = append(leaves, strings.Join(strings.Fields(err.Error()), " "))
	}
	walk(err)
	return strings.Join(leaves, " | ")
}

type joined interface{ Unwrap() []error }

// findJoin returns the first join in err's chain that has more than one leaf.
func findJoin(err error) (joined, bool) {
	for err != nil {
		if j, ok := err.(joined); ok {
			return j, true
		}
		err = errors.Unwrap(err)
	}
	return nil, false
}
