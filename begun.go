package tenon

import (
	"context"
	"encoding/json"
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

// refuse returns what an agent is told that asks for a tool which it was not offered: that
// its entry, or what its caller may do, refuses it. The latter the way of a call decides. It
// is empty where there is no such tool, and for agents, which may wait for this one.
func (w *deputy) refuse(ctx context.Context, name string, arguments json.RawMessage) string {
	server, own, _ := strings.Cut(name, "__")
	id := tool.ID{Server: server, Name: own}
	if t, ok := w.catalog.Snapshot().Alias(name); ok {
		id = t.ID
	} else if !w.catalog.Snapshot().Blacklisted(id) {
		return ""
	}
	if w.isAgent(id.Server) {
		return ""
	}
	if !w.set.Allows(id) {
		return notCarriedOut("The tool " + name + " is not among those that the entry of this agent allows.")
	}
	res := w.do(ctx, id, arguments)
	if res.Kind == tool.Denied {
		return notCarriedOut(res.Text())
	}
	return res.Text()
}

func notCarriedOut(why string) string {
	return "Refused, and not carried out: " + why + " Go on without it, and say in your answer what you could not do."
}
