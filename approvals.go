package tenon

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/tool"
)

// approve has a person decide about a call. Nil lets it go on.
func (a authority) approve(_ context.Context, r *call.Request, d *tool.Decision) *tool.Error {
	return &tool.Error{
		Kind: tool.Denied,
		Text: "The call of " + r.Target.String() + " needs the approval of a person, and nobody can be asked here: " + d.Reason,
	}
}
