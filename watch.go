package tenon

import (
	"context"
	"sync"
)

// An Event says that something about the pool changed.
type Event struct {
	Kind   EventKind
	Server string
}

// EventKind says what changed.
type EventKind string

// The kinds of events.
const (
	ToolsChanged  EventKind = "tools_changed"  // a server's tools are others than before
	ServerChanged EventKind = "server_changed" // a server's state

	PromptsChanged   EventKind = "prompts_changed"   // a server's prompts
	ResourcesChanged EventKind = "resources_changed" // a server's resources, or their templates
)

// Watch returns the events from now on; the channel is closed when ctx ends or
// the gateway closes. A watcher that is 256 events behind loses those that come:
// an event is a reason to look, not a thing to count.
func (g *Gateway) Watch(ctx context.Context) <-chan Event { return g.events.watch(ctx) }

// broadcast hands events to watchers. The zero value is ready.
type broadcast[T any] struct {
	mu       sync.Mutex
	closed   bool
	watchers map[chan T]func() bool // the function takes back the wait for ctx
}

func (b *broadcast[T]) watch(ctx context.Context) <-chan T {
	ch := make(chan T, 256)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || ctx.Err() != nil {
		close(ch)
		return ch
	}
	if b.watchers == nil {
		b.watchers = map[chan T]func() bool{}
	}
	b.watchers[ch] = context.AfterFunc(ctx, func() { b.remove(ch) })
	return ch
}

func (b *broadcast[T]) remove(ch chan T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.watchers[ch]; ok {
		delete(b.watchers, ch)
		close(ch)
	}
}

func (b *broadcast[T]) send(e T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ch := range b.watchers {
		select {
		case ch <- e:
		default:
		}
	}
}

func (b *broadcast[T]) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for ch, stop := range b.watchers {
		stop()
		delete(b.watchers, ch)
		close(ch)
	}
}
