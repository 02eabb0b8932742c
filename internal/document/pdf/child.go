package pdf

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/document/draft"
	"github.com/tenon-mcp/tenon/internal/proc"
)

// Bounds on the time in which a child is silent.
const (
	openTime = 2 * time.Minute  // until it knows its pages; the first compiles its code
	onePage  = 20 * time.Second // for a page
)

// Bounds on memory. A small file gets little: what it wants more for is to do harm.
const (
	engineLeast = 256 << 20 // of PDFium, and twice the size of the file
	engineMost  = 640 << 20
	besides     = 384 << 20 // of the child
)

// readers are the files that are read at once; others wait.
var readers = make(chan struct{}, 2)

// enter waits for a place among the readers.
func enter(ctx context.Context) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	select {
	case readers <- struct{}{}:
		return func() { <-readers }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// engine returns how much memory PDFium may use for a file.
func engine(size int64) int64 { return min(engineLeast+2*size, engineMost) }

// child converts in a process of its own.
func (c Converter) child(ctx context.Context, req request, src draft.Source, w *writer) error {
	var said, late bool
	var readErr error
	command := proc.Command{Path: c.Command[0], Args: c.Command[1:], Env: c.Env, Limits: limits(src.Size)}
	p, err := c.Spawner.Filter(ctx, command, input(req, src), func(p *proc.Process) bool {
		patience := &patience{Reader: p.Stdout(), most: func() time.Duration { return c.patience(w) }, give: func() { _ = p.Kill() }}
		readErr = w.read(patience)
		late = patience.over.Load()
		said = readErr == nil && (w.child.ended || w.child.broken != "")
		return said
	})
	if err != nil {
		return fmt.Errorf("convert a PDF: %w", err)
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case said:
	case late:
		w.child.broken = fmt.Sprintf("it took longer than %s", c.patience(w))
	case readErr != nil:
		return readErr
	default:
		w.child.broken = p.Exit()
	}
	return nil
}

// patience returns how long the child may be silent.
func (c Converter) patience(w *writer) time.Duration {
	switch {
	case !w.child.open:
		return openTime
	case c.PageTime > 0:
		return c.PageTime
	}
	return onePage
}

// A patience is a reader that gives up one who says nothing for long.
type patience struct {
	io.Reader
	most func() time.Duration
	give func()
	over atomic.Bool
}

func (p *patience) Read(b []byte) (int, error) {
	t := time.AfterFunc(p.most(), func() {
		p.over.Store(true)
		p.give()
	})
	defer t.Stop()
	return p.Reader.Read(b)
}

// limits bound the child, where the system can.
func limits(size int64) proc.Limits {
	if runtime.GOOS != "linux" {
		return proc.Limits{}
	}
	return proc.Limits{Memory: engine(size) + besides}
}
