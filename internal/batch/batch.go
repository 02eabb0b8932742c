// Package batch carries out many calls, side by side where that is safe, and gives
// a result for each, in their order.
//
//	run := batch.New(batch.Options{Catalog: view, Run: call, Refuse: refuse, MaxParallel: 6, MaxCalls: 10})
//	results := run(ctx, calls)
//
// Neighbours whose tools are concurrency-safe run side by side; every other call
// runs alone, so what it relies on has ended before it. Plan is that rule, and
// nothing else. A call that fails touches no other. The package knows nothing of
// how one call is carried out.
package batch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// A Catalog knows the tools of the pool. Its methods are called concurrently.
type Catalog interface {
	HasServer(server string) bool
	// Await waits until the tools of the server are known, of all servers where it
	// is empty. The error says why they will not be.
	Await(ctx context.Context, server string) error
	// Find returns the tool of this name, or the decision that nobody may use it, or
	// neither.
	Find(id tool.ID) (*tool.Tool, *tool.Decision)
	WithName(name string) []*tool.Tool
}

// Options are what a batch needs.
type Options struct {
	Catalog Catalog
	// Run carries out one call. It never returns nil.
	Run func(ctx context.Context, c tool.Call) *tool.Result
	// Refuse answers for a call that is not run.
	Refuse func(ctx context.Context, c tool.Call, why *tool.Error, notes ...tool.Note) *tool.Result
	// MaxParallel is how many calls run side by side; less than 1 is 1.
	MaxParallel int
	// MaxCalls is how many calls are carried out; 0 is no limit.
	MaxCalls int
}

// Stage marks the notes that say something of a whole batch.
const Stage = "batch"

// listingWait is how long a batch waits for the tools of servers that have not
// been listed yet, to know which calls may run side by side. A single call waits
// as long before it is corrected.
const listingWait = 15 * time.Second

// New returns a function that carries out a batch and returns a result for each
// call. Calls over the limit are not run: their results are of kind denied and have
// a note. Once ctx has ended, the calls that have not begun are canceled. The
// function may be called concurrently.
func New(o Options) func(ctx context.Context, calls []tool.Call) []*tool.Result {
	return func(ctx context.Context, calls []tool.Call) []*tool.Result {
		results := make([]*tool.Result, len(calls))
		n := len(calls)
		if o.MaxCalls > 0 {
			n = min(n, o.MaxCalls)
		}
		begin := 0
		for _, size := range Plan(safe(ctx, o.Catalog, calls[:n]), o.MaxParallel) {
			group := calls[begin : begin+size]
			if ctx.Err() == nil {
				sideBySide(ctx, group, results[begin:], o.Run)
			} else {
				for i, c := range group {
					results[begin+i] = o.Refuse(ctx, c, unbegun(ctx))
				}
			}
			begin += size
		}
		for i := n; i < len(calls); i++ {
			results[i] = o.Refuse(ctx, calls[i], &tool.Error{
				Kind: tool.Denied,
				Text: fmt.Sprintf("This call was not run: it is number %d of its batch, and a batch carries out at most %d calls. Send it again in another batch.", i+1, n),
			}, tool.Note{Stage: Stage, Text: fmt.Sprintf("a batch carries out at most %d calls, and this one holds %d: the rest were not run", n, len(calls))})
		}
		return results
	}
}

func unbegun(ctx context.Context) *tool.Error {
	return &tool.Error{
		Kind: tool.Canceled, Text: "The batch was canceled before this call began: it was not sent.",
		Err: context.Cause(ctx),
	}
}

// sideBySide carries out the calls of one group.
func sideBySide(ctx context.Context, group []tool.Call, results []*tool.Result, run func(context.Context, tool.Call) *tool.Result) {
	if len(group) == 1 {
		results[0] = run(ctx, group[0])
		return
	}
	var wg sync.WaitGroup
	for i, c := range group {
		wg.Go(func() { results[i] = run(ctx, c) })
	}
	wg.Wait()
}

// Plan splits calls into groups that run one after the other, and returns their
// sizes. safe says of each call whether it may run beside others. Those neighbours
// that may are a group of at most parallel calls; every other call is one of its
// own. Neighbours keep their order, so what a call relies on has ended before it.
func Plan(safe []bool, parallel int) []int {
	var sizes []int
	open := false // whether the last group takes one more
	for _, s := range safe {
		if !open || !s || sizes[len(sizes)-1] >= parallel {
			sizes = append(sizes, 1)
		} else {
			sizes[len(sizes)-1]++
		}
		open = s
	}
	return sizes
}

// safe tells of each call whether its tool may run beside others. The tool is the
// one that would run, after a correction of its server; where that is not known,
// the call is not safe.
func safe(ctx context.Context, c Catalog, calls []tool.Call) []bool {
	out := make([]bool, len(calls))
	if len(calls) == 1 {
		return out // it makes no difference
	}
	limit := listingWait
	missing := map[string]bool{} // servers that are to be asked, and whether they have answered
	for _, one := range calls {
		if t, refused := c.Find(idOf(one)); t != nil || refused != nil {
			continue
		}
		if one.Timeout > 0 {
			limit = min(limit, one.Timeout)
		}
		if c.HasServer(one.Server) {
			missing[one.Server] = false
		} else if len(c.WithName(one.Tool)) == 0 {
			missing[""] = false // it may be on any
		}
	}
	if len(missing) > 0 {
		missing = await(ctx, c, missing, limit)
	}
	for i, one := range calls {
		t := meant(c, one, missing)
		out[i] = t != nil && t.Meta.ConcurrencySafe
	}
	return out
}

func idOf(c tool.Call) tool.ID { return tool.ID{Server: c.Server, Name: c.Tool} }

// await waits until the tools of the servers are known, of all at once, and
// returns of which they are. What is wrong with the others, their calls tell.
func await(ctx context.Context, c Catalog, servers map[string]bool, limit time.Duration) map[string]bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var mu sync.Mutex
	listed := map[string]bool{}
	var wg sync.WaitGroup
	for server := range servers {
		wg.Go(func() {
			err := c.Await(ctx, server)
			mu.Lock()
			defer mu.Unlock()
			listed[server] = err == nil
		})
	}
	wg.Wait()
	return listed
}

// meant returns the tool that resolve will find, or nil where that is not sure. A
// server that has not listed its tools may have one of this name yet.
func meant(c Catalog, one tool.Call, listed map[string]bool) *tool.Tool {
	known := c.HasServer(one.Server)
	t, refused := c.Find(idOf(one))
	if known && (t != nil || refused != nil) {
		return t
	}
	if known && !listed[one.Server] {
		return nil
	}
	if there := c.WithName(one.Tool); len(there) == 1 {
		return there[0]
	}
	return nil
}
