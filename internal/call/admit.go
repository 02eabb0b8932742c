package call

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/admission"
	"github.com/tenon-mcp/tenon/tool"
)

// admit lets the call through when its server and the gateway have a place for it,
// and sends it away where too many wait already. It is inside authorize, so that
// what is refused takes no place, and outside retry, so that a call keeps its own.
func admit(o *Options, next Handler) Handler {
	if o.Admission == nil {
		return next
	}
	return func(ctx context.Context, r *Request) *tool.Result {
		place, err := o.Admission.Enter(ctx, admission.Ask{
			Server: r.Target.Server, Tool: r.Target.Name, Bytes: max(len(r.Arguments), len(r.Params)),
			Exclusive: r.Target.Meta.Exclusive, Caller: r.Caller.Name, Session: r.SessionName(),
		})
		if err != nil {
			return failed(r, err)
		}
		defer place.Leave()
		return next(ctx, r)
	}
}
