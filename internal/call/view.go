package call

import (
	"context"

	"github.com/tenon-mcp/tenon/tool"
)

// An Authority says what callers may do. Its methods are called concurrently.
type Authority interface {
	// View returns the pool as the caller of this call sees it. The error is a
	// *tool.Error, where the caller may do nothing like this at all.
	View(c *tool.Call) (Catalog, error)
	// Decide decides on r.Target with the final arguments.
	Decide(r *Request) *tool.Decision
	// Approve has a person decide. Nil lets the call go on.
	Approve(ctx context.Context, r *Request, d *tool.Decision) *tool.Error
	// Enter is told of a call that may go on, unless it returns why not; Leave then
	// of its end, with what came of it.
	Enter(r *Request) *tool.Error
	Leave(r *Request, res *tool.Result)
	// Limits returns the names of the limits that the caller of r is given, which must
	// not be changed, and whether models may be asked for r.Target, so that budgets of
	// these hold for it.
	Limits(r *Request) (names []string, models bool)
}

// view finds out what of the pool the caller sees. It is outside every stage that
// looks for a tool, so that what is hidden is hidden from substitutes and near
// names as well.
func view(o *Options, next Handler) Handler {
	if o.Authority == nil {
		return func(ctx context.Context, r *Request) *tool.Result {
			r.View = o.Catalog
			return next(ctx, r)
		}
	}
	return func(ctx context.Context, r *Request) *tool.Result {
		v, err := o.Authority.View(&r.Call)
		if err != nil {
			return failed(r, err)
		}
		r.View = v
		return next(ctx, r)
	}
}
