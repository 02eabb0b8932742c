package upstream

import (
	"slices"
	"sync"
)

// Running are the calls that run on a link. What the server asks on it is for the newest,
// where it does not say for which. The zero value has none.
type Running[C any] struct {
	mu  sync.Mutex
	all []*C // the newest last
}

// Begin notes that a call runs, until end is called.
func (r *Running[C]) Begin(c C) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, &c)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = slices.DeleteFunc(r.all, func(other *C) bool { return other == &c })
	}
}

// Newest returns the newest call, where one runs.
func (r *Running[C]) Newest() (c C, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		return c, false
	}
	return *r.all[len(r.all)-1], true
}
