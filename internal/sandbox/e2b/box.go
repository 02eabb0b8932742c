package e2b

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// A box is one machine.
type box struct {
	b  *Backend
	id string
	w  *wire

	python interpreter

	// last is the time for its end, whoever asks for that.
	last func() (context.Context, context.CancelFunc)

	tasks sync.WaitGroup
	life
}

// A life is the end of a machine.
type life struct {
	quit chan struct{} // it has begun to end
	done chan struct{}

	mu  sync.Mutex
	why string
	err error // of the end
}

func (b *Backend) newBox(ctx context.Context, m *machine) (*box, error) {
	w, err := b.dial(m)
	if err != nil {
		return nil, err
	}
	x := &box{
		b: b, id: m.SandboxID, w: w,
		last: func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.WithoutCancel(ctx), askLimit)
		},
		life: life{quit: make(chan struct{}), done: make(chan struct{})},
	}
	x.python = interpreter{x: x, turn: make(chan struct{}, 1)}
	return x, nil
}

// Done is closed at its end.
func (l *life) Done() <-chan struct{} { return l.done }

// Why says what has ended it.
func (l *life) Why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// gone is the error of what is asked after the end, or in it; nil before.
func (l *life) gone() error {
	why := l.Why()
	if why == "" {
		return nil
	}
	return &sandbox.Error{Kind: sandbox.Gone, Text: "the sandbox has ended: " + why + ". Create another one; files and variables of this one are lost"}
}

// Memory is not known from here.
func (x *box) Memory() int64 { return 0 }

// Kill ends it.
func (x *box) Kill(context.Context) error { return x.finish("it was killed", true) }

// finish ends it and waits for that. Where the machine is there still, it is killed.
func (x *box) finish(why string, kill bool) error {
	x.mu.Lock()
	first := x.why == ""
	if first {
		x.why = why
		close(x.quit)
	}
	x.mu.Unlock()
	if !first {
		<-x.done
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.err
	}
	x.tasks.Wait()
	var err error
	if kill {
		ctx, cancel := x.last()
		defer cancel()
		if err = x.b.control.kill(ctx, x.id); err != nil {
			err = fmt.Errorf("E2B did not end the sandbox, which ends by itself in %s: %w", x.b.o.TTL, err)
		}
	}
	x.w.close()
	x.b.remove(x)
	x.mu.Lock()
	x.err = err
	x.mu.Unlock()
	close(x.done)
	return err
}

const lost = "E2B does not know it any more: its time was over, or it was ended there"

// keep prolongs the time of the machine until it ends.
func (x *box) keep(ctx context.Context) {
	asked, stop := x.within(ctx)
	defer stop()
	tick := time.NewTicker(x.b.o.TTL / 4)
	defer tick.Stop()
	for {
		select {
		case <-x.quit:
			return
		case <-tick.C:
		}
		if err := x.b.control.prolong(asked, x.id, x.b.o.TTL); isGone(err) {
			x.b.ends.Go(func() { _ = x.finish(lost, false) }) // there is nothing to end
			return
		}
	}
}

// within returns a context that ends with the box too. The caller stops it.
func (x *box) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-x.quit:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); watch.Wait() }
}

// renewed lets a machine that was made before live as long as a new one, and reports
// whether that can be.
func (x *box) renewed(ctx context.Context) bool {
	if x.gone() != nil {
		return false
	}
	err := x.b.control.prolong(ctx, x.id, x.b.o.TTL)
	if err != nil {
		_ = x.finish(lost, !isGone(err)) // else it ends by its own time
	}
	return err == nil
}

// here asks whether the machine is there still, and ends the box where it is not.
func (x *box) here(ctx context.Context) bool {
	if x.gone() != nil {
		return false
	}
	if _, err := x.b.control.detail(ctx, x.id); isGone(err) {
		_ = x.finish(lost, false)
		return false
	}
	return true
}

// trouble makes of what went wrong with the machine an error that says what to do. May
// is said where something may have run.
func (x *box) trouble(ctx context.Context, doing string, err error, may string) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case x.gone() != nil:
		return x.gone()
	}
	if e, ok := errors.AsType[*sandbox.Error](err); ok {
		return e
	}
	status := 0
	if e, ok := errors.AsType[*statusError](err); ok {
		status = e.status
	}
	code := connect.CodeOf(err)
	switch {
	case status == http.StatusTooManyRequests, code == connect.CodeResourceExhausted && connect.IsWireError(err):
		return &sandbox.Error{Kind: sandbox.Limit, Text: "E2B was asked too often to " + doing + ": try again in a minute"}
	case status == http.StatusUnauthorized, status == http.StatusForbidden, code == connect.CodeUnauthenticated, code == connect.CodePermissionDenied:
		return &sandbox.Error{Kind: sandbox.Unavailable, Text: "the machine does not take the token that E2B gave for it, so it cannot " + doing + ": create another sandbox"}
	}
	if !x.here(ctx) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return x.gone()
	}
	return &sandbox.Error{Kind: sandbox.Unavailable, Text: fmt.Sprintf("the machine at E2B could not %s: %s. %sThe sandbox is still there", doing, x.plain(err), may)}
}

// plain returns an error in short words, without tokens.
func (x *box) plain(err error) string {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*connect.Error](err); ok {
		if connect.IsWireError(err) {
			return said([]byte(`{"message":`+quoted(e.Message())+`}`), x.w.secrets...)
		}
		if cause := e.Unwrap(); cause != nil {
			err = cause
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "the connection has broken"
	}
	return egress.Reason("it", err).Error()
}
