package tenon

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/tool"
)

// An unbegun is the error of an agent that cannot be had, so that nothing was begun: it is
// unavailable like a server that cannot be reached, and others may stand in for it.
type unbegun struct{ e *tool.Error }

func (u unbegun) Error() string { return u.e.Error() }

func (u unbegun) Unwrap() error { return u.e }

// HeldUntil says that another attempt within the same call is of no use: what there is to
// repeat was repeated.
func (unbegun) HeldUntil() time.Time { return time.Now().Add(time.Minute) }

// unbegun returns that error, with what the caller can do.
func (w *deputy) unbegun(why string, err error) error {
	return unbegun{&tool.Error{Kind: tool.Unavailable, Err: err, Text: "The agent " + w.entry.Name + " cannot be had: " +
		strings.TrimRight(why, ". ") + ". Nothing was begun: do the subtask yourself or with other tools, or call again later."}}
}

// isAway reports whether an error of a first question to a model says that it cannot be
// had. One that was asked and does not take what it was asked is there.
func isAway(err error) bool {
	if _, budget := errors.AsType[*tool.Error](err); budget {
		return false
	}
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return true // it cannot be reached, or broke off
	}
	switch e.Status {
	case 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return false
	}
	return true
}
