package rest

import (
	"iter"
	"net/http"

	"github.com/tenon-mcp/tenon/tool"
)

// A need is what an operation demands of a caller.
type need string

const (
	needsApprover need = "approver" // a credential that decides approvals, on loopback too
	needsAny      need = "any"      // who may call tools, or decides on calls
	needsNothing  need = "nothing"  // whoever may send requests at all
)

// allowed returns the operation behind a door that lets through who may use it.
func (a *api) allowed(op operation) serveFunc {
	return func(r *http.Request, caller tool.Caller) (response, error) {
		who := a.gw.Access()
		switch {
		case op.who == needsNothing:
		case op.who == needsApprover && caller.Grant == nil:
			return response{}, who.NeedsApprover(r)
		case op.who == needsApprover && !caller.Grant.Approver:
			return response{}, who.Forbidden(r, "this credential does not decide on calls: that needs an approver's")
		case op.who == "" && caller.Grant != nil && !caller.Grant.Caller:
			return response{}, who.Forbidden(r, "this credential decides on calls and makes none: use that of a caller")
		}
		return op.serve(r, caller)
	}
}

// whileKnown gives events for as long as who asked for them would still be let in.
func whileKnown(a *api, r *http.Request, events iter.Seq[event]) iter.Seq[event] {
	return func(yield func(event) bool) {
		for e := range events {
			if _, err := a.gw.Access().Caller(r); err != nil || !yield(e) {
				return
			}
		}
	}
}
