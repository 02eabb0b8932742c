package call

import (
	"bytes"
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// preparing are the stages that make of a call what authorize decides on.
var preparing = []stage{deadline, view, resolve, repair, rules}

// Ahead returns a function that decides on a call before its turn comes, and does
// nothing else with it. Where a person will be asked, it calls ask, and returns what
// that returned. So those who wait for one after the other are asked about together;
// each is decided on again when its turn comes. A call whose arguments refer to
// results is left to its turn: they may not be there yet.
func Ahead(o Options, ask func(ctx context.Context, r *Request, d *tool.Decision) (release func())) func(ctx context.Context, c tool.Call) (release func()) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return func(ctx context.Context, c tool.Call) (release func()) {
		if o.Authority == nil || bytes.Contains(c.Arguments, handleBytes) {
			return nil
		}
		defer func() {
			if p := recover(); p != nil {
				o.Logger.Error("looking ahead at a call panicked", "panic", p, "stack", string(debug.Stack()))
			}
		}()
		next := func(ctx context.Context, r *Request) *tool.Result {
			if d := o.Authority.Decide(r); d.Behavior == tool.Ask && !o.knows(r) {
				release = ask(ctx, r, d)
			}
			return r.result()
		}
		for _, s := range slices.Backward(preparing) {
			next = s(&o, next)
		}
		next(ctx, &Request{Call: c, Started: time.Now()})
		return release
	}
}

// knows reports whether the ledger has what came of a call with the key of this one.
func (o *Options) knows(r *Request) bool {
	return r.IdempotencyKey != "" && o.Ledger != nil && o.Ledger.Has(keyOf(r, r.Target.ID))
}
