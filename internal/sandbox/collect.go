package sandbox

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// lingering is how long output is read after a command has ended: what it has
	// started in the background may keep the stream open.
	lingering = 300 * time.Millisecond

	// MaxLine is how many bytes the line of a command may have.
	MaxLine = 100_000
)

// Check says what is wrong with the line.
func (c Command) Check() error {
	if len(c.Line) > MaxLine || strings.ContainsRune(c.Line, 0) {
		return &Error{Kind: Invalid, Text: fmt.Sprintf("the command must have at most %d bytes and no zero byte: write a script into a file and run that", MaxLine)}
	}
	return nil
}

// EndAll ends sandboxes side by side, and waits for all of them.
func EndAll[T any](all []T, end func(T) error) error {
	var ends sync.WaitGroup
	errs := make([]error, len(all))
	for i, x := range all {
		ends.Go(func() { errs[i] = end(x) })
	}
	ends.Wait()
	return errors.Join(errs...)
}

// Collect returns what a command prints until await, which waits for its end, has
// returned, and for a moment longer. Drop then closes the streams. Keep is as in
// [Command].
func Collect(keep int, stdout, stderr io.Reader, await, drop func()) *Output {
	out, errs := NewClip(keep), NewClip(keep)
	var readers, closer sync.WaitGroup
	read := make(chan struct{})
	readers.Go(func() { _, _ = io.Copy(out, stdout) })  // until it is closed
	readers.Go(func() { _, _ = io.Copy(errs, stderr) }) // until it is closed
	closer.Go(func() { readers.Wait(); close(read) })
	await()
	late := time.NewTimer(lingering)
	defer late.Stop()
	select {
	case <-read:
	case <-late.C:
	}
	drop()
	closer.Wait()
	o := &Output{}
	var left int64
	o.Stdout, o.Left = out.Text()
	o.Stderr, left = errs.Text()
	o.Left += left
	return o
}
