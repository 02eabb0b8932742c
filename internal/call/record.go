package call

import (
	"context"
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
