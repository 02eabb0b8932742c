package mcp

import "sync"

// maxEarly bounds the notifications that come before their stream has begun.
const maxEarly = 100

// An afterwards keeps notifications back until the one that must be first is sent.
type afterwards struct {
	tell func(method string, params []byte)

	mu    sync.Mutex
	begun bool
	early []func()
}

func (a *afterwards) say(method string, params []byte) {
	a.mu.Lock()
	begun := a.begun
	if !begun && len(a.early) < maxEarly {
		a.early = append(a.early, func() { a.tell(method, params) })
	}
	a.mu.Unlock()
	if begun {
		a.tell(method, params)
	}
}

// begin sends what has come, and from now on all at once.
func (a *afterwards) begin() {
	a.mu.Lock()
	early := a.early
	a.begun, a.early = true, nil
	a.mu.Unlock()
	for _, send := range early {
		send()
	}
}
