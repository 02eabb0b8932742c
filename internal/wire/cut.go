package wire

import (
	"context"
	"errors"

	"github.com/tenon-mcp/tenon/tool"
)

// cutOff returns a context of a call that outlives the connection of its client, and not
// what the process itself ends: the cause of that is an error of ours. The function lets
// go of both.
func cutOff(ctx, request context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(request, func() {
		cause := context.Cause(request)
		if _, ours := errors.AsType[*tool.Error](cause); ours {
			cancel(cause)
		}
	})
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
