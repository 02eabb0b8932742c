package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/kernel"
)

const (
	// interrupted is how long a process has to end once it was killed.
	interrupted = 2 * time.Second
	// ending is how long the end of a container may take.
	ending = 30 * time.Second

	sigint, sigkill = 2, 9 // on Linux, wherever this runs
)

// A Box is a sandbox.
type Box struct {
	o      Options
	l      *link
	python string
	cells  *kernel.Session
	met    atomic.Pointer[limits] // when that was last asked
	glance func()                 // asks it, until the end
	life
}

var _ sandbox.Sandbox = (*Box)(nil)

// A life is the end of a sandbox.
type life struct {
	done  chan struct{}
	tasks sync.WaitGroup
	mu    sync.Mutex
	why   string
	err   error
}

// Open waits until the program is there, and returns the sandbox. Where it fails, or
// ctx ends before, the way is closed and End called.
func Open(ctx context.Context, w Way, o Options) (*Box, error) {
	rest := context.WithoutCancel(ctx)
	serving, stop := context.WithCancel(rest)
	out := outlet{last: fromInside - 1}
	if o.Spec.Network != nil {
		out.serve = func(conn io.ReadWriteCloser) { o.Spec.Network(serving, conn) }
	}
	l := newLink(w, out)
	x := &Box{o: o, l: l, life: life{done: make(chan struct{})}}
	x.glance = func() { x.look(serving) }
	x.cells = kernel.NewSession(x.interpreter)
	x.met.Store(&limits{})
	x.tasks.Go(func() {
		<-l.quit
		stop()
		x.finish(rest)
	})
	r, err := x.l.channels[0].reply(ctx)
	if err == nil && o.Spec.Network != nil {
		err = x.listen(ctx)
	}
	if err != nil {
		_ = x.Kill(rest) // why it did not start is what counts
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the sandbox did not start: %s", x.Why())
	}
	x.python = clean(r.Python, 40)
	return x, nil
}

// Python is the version of the interpreter, as the program has said.
func (x *Box) Python() string { return x.python }

// Done is closed at the end of the sandbox.
func (l *life) Done() <-chan struct{} { return l.done }

// Why says what has ended it.
func (l *life) Why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// Kill ends the sandbox, and waits for that.
func (x *Box) Kill(context.Context) error { return x.End("it was killed") }

// End is Kill with a reason.
func (x *Box) End(why string) error {
	x.l.end(errors.New(why))
	x.tasks.Wait()
	return x.err
}

// finish ends what the link has left.
func (x *Box) finish(ctx context.Context) {
	x.l.close()
	ctx, cancel := context.WithTimeout(ctx, ending)
	defer cancel()
	why := x.l.why.Error()
	if x.o.End != nil {
		known, err := x.o.End(ctx)
		if known != "" {
			why = known
		}
		x.err = err
	}
	x.mu.Lock()
	x.why = why
	x.mu.Unlock()
	x.cells.Close(ending) // its cell has seen the end
	close(x.done)
}

// gone is the error of what is asked after the end, or in it.
func (x *Box) gone() error {
	select {
	case <-x.done: // so that the reason is known
	case <-time.After(interrupted):
	}
	why := x.Why()
	if why == "" {
		why = x.l.why.Error()
	}
	return &sandbox.Error{Kind: sandbox.Gone, Text: "the sandbox has ended: " + why + ". Create another one; files and variables of this one are lost"}
}

// failed returns an error of a channel as the caller's.
func (x *Box) failed(err error) error {
	if errors.Is(err, errLink) {
		return x.gone()
	}
	return err
}

// Memory is what it uses now.
func (x *Box) Memory() int64 {
	x.glance()
	return max(0, x.met.Load().Memory)
}

// look asks for what is used.
func (x *Box) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, interrupted)
	defer cancel()
	c, r, err := x.l.open(ctx, toLimits, order{})
	if err != nil || r.Limits == nil {
		return // what was known stays
	}
	c.forget()
	x.met.Store(r.Limits)
}

// note says which limits were met since before.
func (x *Box) note(ctx context.Context, before *limits) string {
	x.look(context.WithoutCancel(ctx))
	now := x.met.Load()
	var notes []string
	if now.OOM > before.OOM {
		notes = append(notes, fmt.Sprintf("the sandbox has used up its memory (%d MiB), and a process was killed for that", x.o.Spec.Memory>>20))
	}
	if now.Full > before.Full {
		notes = append(notes, fmt.Sprintf("the sandbox had as many processes and threads as it may (%d)", x.o.Spec.Processes))
	}
	return strings.Join(notes, "; ")
}

// Command runs a line of the shell, once.
func (x *Box) Command(ctx context.Context, c sandbox.Command) (*sandbox.Output, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	before := x.met.Load()
	p, _, err := x.l.open(ctx, toStart, order{Argv: []string{"/bin/sh", "-c", c.Line}, Env: x.environ()}, 1, 2)
	if err != nil {
		return nil, x.failed(err)
	}
	var code int
	var late bool
	o := sandbox.Collect(c.Keep, p.streams[1], p.streams[2], func() { code, late, err = x.await(ctx, p, c.Timeout) }, p.drop)
	o.ExitCode, o.TimedOut = code, late
	if err == nil {
		o.Note = x.note(ctx, before)
	}
	return o, err
}

// await waits for the end of a process, and ends it where it takes too long.
func (x *Box) await(ctx context.Context, p *channel, limit time.Duration) (code int, late bool, err error) {
	var timeout <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case code := <-p.exit:
		return code, false, nil
	case <-x.l.quit:
		return 0, false, x.gone()
	case <-timeout:
		late = true
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.signal(sigkill)
	t := time.NewTimer(interrupted)
	defer t.Stop()
	select {
	case <-p.exit:
	case <-x.l.quit:
	case <-t.C:
	}
	return 128 + sigkill, late, err
}
