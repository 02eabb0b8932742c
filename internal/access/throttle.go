package access

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	burst      = 30          // refusals of one address that are told apart
	refill     = time.Second // until one more is
	retryAfter = 5 * time.Second
	slots      = 512
)

// A throttle counts refused credentials by address, in a table of fixed size:
// addresses that share a place share its count. It never holds up a credential
// that is right.
type throttle struct {
	once sync.Once
	seed maphash.Seed // of chance, so that nobody can pick who shares a place with whom

	mu    sync.Mutex
	slots [slots]struct {
		spent  float64
		last   time.Time
		silent bool
	}
}

type count int

const (
	tolerated count = iota
	firstTooMany
	tooMany
)

func (t *throttle) count(addr string, now time.Time) count {
	t.once.Do(func() { t.seed = maphash.MakeSeed() })
	n := maphash.String(t.seed, addr) % slots
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.slots[n]
	s.spent = max(0, s.spent-float64(now.Sub(s.last))/float64(refill))
	s.last = now
	if s.spent+1 <= burst {
		if s.spent < burst/2 {
			s.silent = false
		}
		s.spent++
		return tolerated
	}
	if s.silent {
		return tooMany
	}
	s.silent = true
	return firstTooMany
}
