package call

import (
	"context"
	"log/slog"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// record keeps every call, however it ended.
func record(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		res := next(ctx, r)
		res.Elapsed = time.Since(r.Started)
		res.Notes = r.Notes
		if res.Kind != "" {
			o.Logger.Info("call failed", "id", res.ID, "server", res.Server, "tool", res.Tool,
				"kind", string(res.Kind), "elapsed", res.Elapsed, "error", res.Err)
		}
		o.Record(r, res)
		return res
	}
}

// Refuser returns a function that answers for a call that is not carried out at
// all, and keeps it as the chain of New does.
func Refuser(o Options) func(ctx context.Context, c tool.Call, why *tool.Error, notes ...tool.Note) *tool.Result {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return func(ctx context.Context, c tool.Call, why *tool.Error, notes ...tool.Note) *tool.Result {
		r := &Request{Call: c, ID: o.NewID(), Started: time.Now(), Notes: notes}
		return record(&o, func(context.Context, *Request) *tool.Result { return failed(r, why) })(ctx, r)
	}
}
