package agent

import (
	"context"
	"encoding/json"
)

// DepthKey is the member of _meta that carries how deep a call is: 0, or left out, is
// one that no agent has made.
const DepthKey = "tenon/depth"

type depthKey struct{}

// at is where a call is: how deep, and whose work it belongs to.
type at struct {
	depth  int
	agent  string
	caller *at
}

// WithDepth returns a context for what an agent of that name and depth does.
func WithDepth(ctx context.Context, agent string, depth int) context.Context {
	caller, _ := ctx.Value(depthKey{}).(*at)
	return context.WithValue(ctx, depthKey{}, &at{depth: depth, agent: agent, caller: caller})
}

// Working reports whether the agent of that name waits for what is done in ctx. To call
// it again would be to wait for itself: its calls may not run side by side.
func Working(ctx context.Context, agent string) bool {
	a, _ := ctx.Value(depthKey{}).(*at)
	for ; a != nil; a = a.caller {
		if a.agent == agent {
			return true
		}
	}
	return false
}

// Depth returns how deep the call is that ctx and the params of a tools/call belong to:
// whichever says more, for a client may leave out what it was told.
func Depth(ctx context.Context, params []byte) int {
	depth := 0
	if a, ok := ctx.Value(depthKey{}).(*at); ok {
		depth = a.depth
	}
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
