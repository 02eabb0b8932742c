// Package ends keeps what is to be done when a server ends, for whoever runs it.
//
//	var last ends.Ends
//	srv, err := s.New(options, tool.Place{AtEnd: last.Add})
//	…                       // it serves
//	err = last.Run()        // machines that it has rented are given back
//
// All is done side by side and within [Limit]: whoever waits for the end of a server, or
// ends its process, waits no longer either. What has not ended by then is left to what
// holds without us: times to live, and what the next start clears up.
package ends

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limit is how long all of it may take. The gateway gives its children a second more before
// it kills them.
const Limit = 5 * time.Second

// Ends are what is to be done. The zero value is nothing.
type Ends struct {
	mu  sync.Mutex
	all []func() error
}

// Add notes one more.
func (e *Ends) Add(end func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, end)
}

// Run does what was added, each once.
func (e *Ends) Run() error {
	e.mu.Lock()
	all := e.all
	e.all = nil
	e.mu.Unlock()
	if len(all) == 0 {
		return nil
	}
	var each, closer sync.WaitGroup
	done := make(chan struct{})
	errs := make([]error, len(all))
	for i, end := range all {
		each.Go(func() { errs[i] = end() })
	}
	closer.Go(func() { each.Wait(); close(done) })
	late := time.NewTimer(Limit)
	defer late.Stop()
	select {
	case <-done:
		return errors.Join(errs...)
	case <-late.C:
		return fmt.Errorf("what the server holds has not ended in %s: what is left ends by its own time, or at the next start", Limit)
	}
}
