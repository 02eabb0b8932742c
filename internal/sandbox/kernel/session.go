package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenon-mcp/tenon/internal/sandbox"
)

// interrupted is how long a cell has to end after it was interrupted.
const interrupted = 2 * time.Second

// A Process is a running program of Source.
type Process struct {
	Pipes
	// Interrupt and Kill signal it and its group.
	Interrupt, Kill func(ctx context.Context)
}

// A Session runs cells one after the other, in an interpreter that is started when it
// is needed. Whatever ends that one, an answer says so, once.
type Session struct {
	start func(ctx context.Context) (*Process, error)
	turn  chan struct{} // held by the cell that runs
	now   *Kernel
	p     *Process
	lost  string // what has ended the one before, until that is told
}

// NewSession returns one whose interpreters are started in this way.
func NewSession(start func(ctx context.Context) (*Process, error)) *Session {
	return &Session{start: start, turn: make(chan struct{}, 1)}
}

// Run runs a cell. It waits for those before, until gone is closed. With an error that
// is not the one of ctx, the cell has not begun.
func (s *Session) Run(ctx context.Context, c sandbox.Cell, gone <-chan struct{}) (*sandbox.Outcome, error) {
	if len(c.Source) > MaxSource {
		return nil, &sandbox.Error{Kind: sandbox.Invalid, Text: fmt.Sprintf("a cell has at most %d bytes: write data into a file instead", MaxSource)}
	}
	select {
	case s.turn <- struct{}{}:
	case <-gone:
		return nil, ErrEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.turn }()
	if err := s.ensure(ctx); err != nil {
		return nil, err
	}
	run, err := s.now.Start(c.Source, c.Keep)
	if run == nil {
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
	case errors.Is(err, ErrEnded):
		o.Restarted = true
		s.p.Kill(ctx) // it may have closed its answers alone
		s.drop("it ended while a cell ran whose answer nobody has read")
	default:
		o = s.stop(ctx, run)
		o.TimedOut = true
	}
	if ctx.Err() != nil {
		return o, ctx.Err() // nobody reads it: what was lost is for the next one
	}
	o.Lost, s.lost = s.lost, ""
	if o.Restarted { // this answer says so itself
		o.Lost = ""
	}
	return o, nil
}

// stop ends a cell, gently first: so what it has computed stays.
func (s *Session) stop(ctx context.Context, run *Run) *sandbox.Outcome {
	s.p.Interrupt(ctx)
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), interrupted)
	defer cancel()
	o, err := run.Wait(wait)
	if err != nil {
		o.Restarted = true
		s.p.Kill(ctx)
		why := "the cell before took too long and did not heed its interruption"
		if ctx.Err() != nil {
			why = "the call before was canceled, and its cell did not heed the interruption"
		}
		s.drop(why)
	}
	return o
}

// ensure starts the interpreter where none runs. The caller holds the turn.
func (s *Session) ensure(ctx context.Context) error {
	if s.now != nil {
		select {
		case <-s.now.Ended():
			s.p.Kill(ctx)
			s.drop("it ended between two cells: something in it has ended it, or it was killed")
		default:
			return nil
		}
	}
	p, err := s.start(ctx)
	if err != nil {
		return err
	}
	s.now, s.p = New(p.Pipes), p
	return nil
}

// drop lets go of an interpreter that has ended.
func (s *Session) drop(why string) {
	if s.now == nil {
		return
	}
	s.now.Close()
	s.now, s.lost = nil, why
}

// Close lets go of the interpreter once its cell has seen the end, or after so long.
func (s *Session) Close(most time.Duration) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case s.turn <- struct{}{}:
		s.drop("the sandbox has ended")
		<-s.turn
	case <-late.C:
	}
}
