package proc

import (
	"context"
	"errors"
	"io"
	"sync"
)

// Filter runs a program that takes one input and gives one output, as between two pipes of
// a shell: it is fed the whole of in while read reads its output. Ended says that the
// output has ended, and so will the program, whose end is waited for then; else, and when
// ctx ends, it is killed with all that it has started. Nothing of it runs any more when
// Filter returns. How it has ended, and what it has said, p knows; the error is that of a
// program which cannot be started.
func (s *Spawner) Filter(ctx context.Context, c Command, in io.Reader, read func(p *Process) (ended bool)) (p *Process, err error) {
	c.StdinGrace, c.TermGrace = -1, -1
	if p, err = s.Start(ctx, c); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Kill() }) // what even the kernel cannot end is not ours to end either
	var feeding sync.WaitGroup
	feeding.Go(func() {
		_, err := io.Copy(p.Stdin(), in)
		_ = errors.Join(err, p.Stdin().Close()) // a program that reads no further says why itself
	})
	if read(p) {
		<-p.Done()
	}
	stop()
	_ = p.Kill()
	feeding.Wait()
	return p, nil
}
