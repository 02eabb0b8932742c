package model

import (
	"context"
	"sync"
)

// A Bill is what has been spent in a context, by calls that failed in the end too. It is
// safe for concurrent use.
type Bill struct {
	mu    sync.Mutex
	usage Usage
}

type billKey struct{}

// WithBill returns a context whose calls of models are added to a bill.
func WithBill(ctx context.Context) (context.Context, *Bill) {
	b := &Bill{}
	return context.WithValue(ctx, billKey{}, b), b
}

// note adds to the bill of a context, where it has one.
func note(ctx context.Context, u Usage) {
	b, ok := ctx.Value(billKey{}).(*Bill)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usage.Add(u)
}

// Usage returns what has been spent so far; its Requests are 0 where nothing was.
func (b *Bill) Usage() Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usage
}
