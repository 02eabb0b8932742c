package results

import (
	"context"
	"sync"
)

// turns are those of the queries. A caller's own run one after the other, and so does
// their waiting: whoever sends many is before others once at most.
type turns struct {
	all chan struct{} // holds one for each query that runs

	mu    sync.Mutex
	lines map[string]*line // of callers who have queries
}

// A line is that of one caller.
type line struct {
	first chan struct{} // holds one for the query that runs, or is next
	users int           // queries in the line
}

// wait waits for the turn of a query; done ends it.
func (t *turns) wait(ctx context.Context, caller string) (done func(), err error) {
	own := t.enter(caller)
	select {
	case own.first <- struct{}{}:
	case <-ctx.Done():
		t.leave(caller, own)
		return nil, context.Cause(ctx)
	}
	end := func() {
		<-own.first
		t.leave(caller, own)
	}
	select {
	case t.all <- struct{}{}:
		return func() { <-t.all; end() }, nil
	case <-ctx.Done():
		end()
		return nil, context.Cause(ctx)
	}
}

func (t *turns) enter(caller string) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.lines[caller]
	if own == nil {
		own = &line{first: make(chan struct{}, 1)}
		if t.lines == nil {
			t.lines = map[string]*line{}
		}
		t.lines[caller] = own
	}
	own.users++
	return own
}

func (t *turns) leave(caller string, own *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.lines, caller)
	}
}
