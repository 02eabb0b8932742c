package record

import (
	"context"
	"slices"
)

// watchBuffer is how many entries a watcher may be behind.
const watchBuffer = 256

type watcher struct{ entries chan Entry }

// Watch returns a channel of the entries that are added from now on. It is
// closed when ctx ends. A call never waits for a watcher: one that is 256
// entries behind loses those that come, and Lost counts them.
func (r *Record) Watch(ctx context.Context) <-chan Entry {
	w := &watcher{make(chan Entry, watchBuffer)}
	r.mu.Lock()
	r.watchers = append(r.watchers, w)
	r.mu.Unlock()
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.watchers = slices.DeleteFunc(r.watchers, func(other *watcher) bool { return other == w })
		close(w.entries) // under the lock, so that Add cannot send any more
	})
	return w.entries
}

// Lost returns how many entries watchers have lost, all of them together.
func (r *Record) Lost() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}
