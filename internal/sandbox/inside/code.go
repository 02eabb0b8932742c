package inside

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/kernel"
)

// kernels is the interpreter of a sandbox.
type kernels struct {
	turn chan struct{} // held by the cell that runs
	now  *kernel.Kernel
	p    process
}

// Code runs a cell.
func (x *Box) Code(ctx context.Context, c sandbox.Cell) (*sandbox.Outcome, error) {
	if len(c.Source) > kernel.MaxSource {
		return nil, &sandbox.Error{Kind: sandbox.Invalid, Text: fmt.Sprintf("a cell has at most %d bytes: write data into a file instead", kernel.MaxSource)}
	}
	select {
	case x.kernels.turn <- struct{}{}:
	case <-x.l.quit:
		return nil, x.gone()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	o, err := x.cell(ctx, c)
	<-x.kernels.turn
	if errors.Is(err, errLink) { // the end waits for the turn
		err = x.gone()
	}
	return o, err
}

// cell runs one. The caller holds the turn.
func (x *Box) cell(ctx context.Context, c sandbox.Cell) (*sandbox.Outcome, error) {
	if err := x.kernels.ensure(ctx, x); err != nil {
		return nil, err
	}
	before := x.met.Load()
	run, err := x.kernels.now.Start(c.Source, c.Keep)
	if err != nil && run == nil {
		return nil, err
	}
	limit, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		limit, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	defer cancel()
	o, err := run.Wait(limit)
	switch {
	case err == nil:
	case errors.Is(err, kernel.ErrEnded):
		o.Restarted = true
		x.kernels.p.signal(sigkill) // it may have closed its answers only
		x.kernels.drop()
		select {
		case <-x.l.quit:
			return o, errLink
		default:
		}
	default:
		o = x.kernels.interrupt(ctx, run)
		o.TimedOut = true
	}
	o.Note = x.note(ctx, before)
	return o, ctx.Err()
}

// interrupt stops a cell, gently first: so what it has computed stays.
func (k *kernels) interrupt(ctx context.Context, run *kernel.Run) *sandbox.Outcome {
	k.p.signal(sigint)
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), interrupted)
	defer cancel()
	o, err := run.Wait(wait)
	if err != nil {
		o.Restarted = true
		k.p.signal(sigkill)
		k.drop()
	}
	return o
}

// ensure starts the interpreter where none runs. The caller holds the turn.
func (k *kernels) ensure(ctx context.Context, x *Box) error {
	if k.now != nil {
		select {
		case <-k.now.Ended():
			k.drop()
		default:
			return nil
		}
	}
	c, _, err := x.l.open(ctx, toStart, order{Argv: []string{"", "-c", kernel.Source}, Env: environ(x.o.Env), Talks: true}, 1, 2, 4)
	if err != nil {
		return err
	}
	k.p = process{c}
	k.now = kernel.New(kernel.Pipes{Requests: input{c}, Answers: c.streams[4], Stdout: c.streams[1], Stderr: c.streams[2]})
	return nil
}

func (k *kernels) drop() {
	if k.now != nil {
		k.now.Close()
		k.p.drop()
		k.now = nil
	}
}
