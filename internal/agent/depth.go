package agent

import (
	"context"
	"encoding/json"
)

// DepthKey is the member of _meta that carries how deep a call is: 0, or left out, is
// one that no agent has made.
const DepthKey = "tenon/depth"

type depthKey struct{}

// WithDepth returns a context for what an agent of that depth does.
func WithDepth(ctx context.Context, depth int) context.Context {
	return context.WithValue(ctx, depthKey{}, depth)
}

// Depth returns how deep the call is that ctx and the params of a tools/call belong to:
// whichever says more, for a client may leave out what it was told.
func Depth(ctx context.Context, params []byte) int {
	depth, _ := ctx.Value(depthKey{}).(int)
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return depth
	}
	var told int
	if json.Unmarshal(p.Meta[DepthKey], &told) != nil {
		return depth
	}
	return max(depth, told)
}
