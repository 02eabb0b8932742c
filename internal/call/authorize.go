package call

import (
	"context"

	"github.com/tenon-mcp/tenon/tool"
)

// authorize decides whether the caller may make this call. In this version that
// is the blacklist, which resolve has asked already; it is asked again here for
// whatever the call has become since.
func authorize(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		if o.Catalog.Blacklisted(r.Target.ID) {
			return denied(r, r.Target.ID)
		}
		return next(ctx, r)
	}
}

func denied(r *Request, id tool.ID) *tool.Result {
	res := r.fail(tool.Denied, "Tool %s of server %s is blacklisted by the operator. Do not call it again; use another tool, or say that it is not allowed.", id.Name, id.Server)
	res.Server, res.Tool = id.Server, id.Name
	return res
}
