package inside

import (
	"context"

	"github.com/tenon-mcp/tenon/internal/sandbox"
	"github.com/tenon-mcp/tenon/internal/sandbox/kernel"
)

// Code runs a cell.
func (x *Box) Code(ctx context.Context, c sandbox.Cell) (*sandbox.Outcome, error) {
	before := x.met.Load()
	o, err := x.cells.Run(ctx, c, x.l.quit)
	select {
	case <-x.l.quit:
		if o == nil || o.Restarted {
			return o, x.gone()
		}
	default:
	}
	if o == nil || err != nil {
		return o, err
	}
	o.Note = x.note(ctx, before)
	return o, nil
}

// interpreter starts one.
func (x *Box) interpreter(ctx context.Context) (*kernel.Process, error) {
	c, _, err := x.l.open(ctx, toStart, order{Argv: []string{"", "-c", kernel.Source}, Env: x.environ(), Talks: true}, 1, 2, 4)
	if err != nil {
		return nil, err
	}
	return &kernel.Process{
		Pipes:     kernel.Pipes{Requests: input{c}, Answers: c.streams[4], Stdout: c.streams[1], Stderr: c.streams[2]},
		Interrupt: func(context.Context) { c.signal(sigint) },
		Kill:      func(context.Context) { c.signal(sigkill) },
	}, nil
}

// An input is that of an interpreter.
type input struct{ c *channel }

// Write sends it.
func (i input) Write(b []byte) (int, error) { return i.c.feed(nil, b) }

// Close ends the channel with it.
func (i input) Close() error {
	i.c.drop()
	return nil
}
