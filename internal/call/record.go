package call

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// record keeps every call, however it ended. A place in the record is had before
// the call does anything, so that none that ran is left without one.
func record(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		if o.Reserve != nil {
			var err error
			if r.Place, err = o.Reserve(ctx, cmp.Or(r.Timeout, o.Timeout)); err != nil {
				return keep(o, r, failed(r, err))
			}
		}
		kept := false
		defer func() { // of a panic, which is caught elsewhere
			if !kept {
				o.Record(r, r.fail(tool.Internal, "Tenon itself failed on this call."))
			}
		}()
		res := next(ctx, r)
		if res.Kind == tool.Canceled && errors.Is(context.Cause(ctx), ErrEnding) {
			res = o.ended(r, res)
		}
		kept = true
		return keep(o, r, res)
	}
}

// keep records what came of a call.
func keep(o *Options, r *Request, res *tool.Result) *tool.Result {
	res.Elapsed = time.Since(r.Started)
	res.Notes = r.Notes
	if res.Kind != "" {
		about := []any{"id", res.ID, "server", brief(res.Server), "tool", brief(res.Tool), "kind", string(res.Kind), "elapsed", res.Elapsed, "text", brief(res.Text())}
		if res.Err != nil {
			about = append(about, "error", res.Err)
		}
		o.Logger.Info("call failed", about...)
	}
	o.Record(r, res)
	return res
}

// Refuser returns a function that answers for a call that is not carried out at
// all, and keeps it as the chain of New does.
func Refuser(o Options) func(ctx context.Context, c tool.Call, why *tool.Error, notes ...tool.Note) *tool.Result {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return func(ctx context.Context, c tool.Call, why *tool.Error, notes ...tool.Note) *tool.Result {
		r := &Request{Call: c, ID: o.NewID(), Started: time.Now(), Notes: notes, Spending: new(Spending)}
		return record(&o, func(context.Context, *Request) *tool.Result { return failed(r, why) })(ctx, r)
	}
}
