package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// The spinner appears only where a person has waited for some time.
const (
	spinnerDelay = 500 * time.Millisecond
	spinnerStep  = 100 * time.Millisecond
)

// A spinner shows on one line of a terminal that something goes on, and for how
// long. The zero value shows nothing.
type spinner struct {
	mu    sync.Mutex
	label string

	end  chan struct{}
	once sync.Once
	wg   sync.WaitGroup
}

// progress starts a spinner on standard error if that is a terminal. Stop it
// before anything else is written there.
func (s screen) progress(label string) *spinner {
	if !s.watched {
		return &spinner{}
	}
	return spin(s.stderr, label)
}

func spin(w io.Writer, label string) *spinner {
	s := &spinner{label: label, end: make(chan struct{})}
	s.wg.Go(func() { s.run(w, time.Now()) })
	return s
}

// say changes what the spinner says.
func (s *spinner) say(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.label = label
}

// stop ends the spinner and clears its line. It may be called more than once.
func (s *spinner) stop() {
	s.once.Do(func() {
		if s.end != nil {
			close(s.end)
		}
	})
	s.wg.Wait()
}

func (s *spinner) run(w io.Writer, begun time.Time) {
	select {
	case <-s.end:
		return
	case <-time.After(spinnerDelay):
	}
	tick := time.NewTicker(spinnerStep)
	defer tick.Stop()
	defer fmt.Fprint(w, "\r\x1b[K")
	for i := 0; ; i++ {
		s.mu.Lock()
		label := s.label
		s.mu.Unlock()
		fmt.Fprintf(w, "\r\x1b[K%c %s %s", []rune("|/-\\")[i%4], label, time.Since(begun).Round(time.Second/10))
		select {
		case <-s.end:
			return
		case <-tick.C:
		}
	}
}
