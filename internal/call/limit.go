package call

import (
	"context"
	"time"

	"github.com/tenon-mcp/tenon/internal/quota"
	"github.com/tenon-mcp/tenon/tool"
)

// limit counts what calls use, and refuses those that are over a limit. It is
// inside once, since an answer that is known uses nothing.
func limit(o *Options, next Handler) Handler {
	if o.Quota == nil {
		return next
	}
	return func(ctx context.Context, r *Request) *tool.Result {
		u := quota.Use{Caller: r.Caller.Name, Session: r.SessionName(), Tool: r.Target.ID, Spend: r.Target.Meta.Spend}
		if o.Authority != nil {
			u.Names, u.Models = o.Authority.Limits(r)
		}
		taken, over := o.Quota.Take(u)
		if over != nil {
			r.Decision = &tool.Decision{Behavior: tool.Deny, ReasonType: "limit", Reason: over.Text()}
			why := refusal(over)
			return r.fail(why.Kind, "%s", why.Text)
		}
		r.against(taken)
		began := time.Now()
		res := next(ctx, r)
		r.against(quota.Taken{})
		taken.Done(int64(res.Raw.Len()+len(res.Message)), time.Since(began))
		return res
	}
}
