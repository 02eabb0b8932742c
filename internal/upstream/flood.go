package upstream

import (
	"log/slog"
	"sync"
	"time"
)

// What a server says by itself is too much from so many notifications on in that time.
// It costs the gateway a processor then, and helps nobody.
const (
	floodMost = 10_000
	floodTime = 10 * time.Second
)

// A flood notices a server that says too much by itself. The zero value is ready; it may
// be used concurrently.
type flood struct {
	mu    sync.Mutex
	since time.Time // when it was begun to count
	n     int
}

// heard counts a notification, and tells the log of too many, once in that time.
func (f *flood) heard(log *slog.Logger) {
	f.mu.Lock()
	now := time.Now()
	if now.Sub(f.since) > floodTime {
		f.since, f.n = now, 0
	}
	f.n++
	over := f.n == floodMost
	f.mu.Unlock()
	if over {
		log.Warn("the server sends notifications without a pause, which takes the gateway's time; stop it if it does not end", "notifications", floodMost, "within", floodTime)
	}
}
