package upstream

import (
	"sync/atomic"
	"time"
)

// usage says how many calls run on something, and when one last began or ended.
type usage struct {
	users atomic.Int64
	last  atomic.Int64 // nanoseconds of the wall clock
}

func (u *usage) add(n int64) {
	u.last.Store(time.Now().UnixNano())
	u.users.Add(n)
}

// lastUse returns when something last began or ended.
func (u *usage) lastUse() time.Time { return time.Unix(0, u.last.Load()) }

func (u *usage) busy() bool { return u.users.Load() > 0 }

// idleSince reports whether nothing has run since limit.
func (u *usage) idleSince(limit time.Time) bool { return !u.busy() && u.lastUse().Before(limit) }
