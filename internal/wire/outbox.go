package wire

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	maxQueued  = 8 << 20  // bytes that wait for a slow reader before senders wait too
	inlineSize = 64 << 10 // longer parts are queued as they are, not copied
	spareSize  = 1 << 20  // a larger buffer is not kept for the next frames
)

// outbox is a queue of frames before one writer: senders that come while it
// writes share its next write. Frames never mix.
//
// A lone call writes by itself, where that can be done without waiting. It saves
// waking the writer, and another thread with it. Calls that come together are
// better off with the writer, which takes many frames at once.
type outbox struct {
	serving bool        // answers are written after the other side has ended its output too
	lone    atomic.Bool // the next frame is that of the only call

	mu     sync.Mutex
	try    func([]byte) int // of the stream below; nil where it has none
	busy   bool             // somebody writes what was taken from the queue
	parts  [][]byte         // whole frames, in order, but for tail
	tail   []byte           // the last of the queue, still growing
	spare  []byte           // the buffer that the writer gave back
	size   int
	queued int64         // bytes, since the beginning
	left   int64         // of them, at most so many have left
	err    error         // why nothing can be sent any more
	wake   chan struct{} // has a token when there is something to write
	room   chan struct{} // closed when the writer has taken the queue
	failed chan struct{} // closed with err
}

func newOutbox(serving bool) *outbox {
	return &outbox{serving: serving, wake: make(chan struct{}, 1), room: make(chan struct{}), failed: make(chan struct{})}
}

// send queues one frame made of parts; the parts may be used again only where
// they are short. It waits while the queue is full, until stop is closed. It
// returns where the frame begins among all bytes; see neverLeft.
func (o *outbox) send(stop <-chan struct{}, parts ...[]byte) (at int64, err error) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	for {
		o.mu.Lock()
		if o.err != nil {
			o.mu.Unlock()
			return 0, o.err
		}
		if o.size == 0 || o.size+n <= maxQueued {
			o.add(parts)
			o.size += n
			at = o.queued
			o.queued += int64(n)
			alone := o.lone.Load() && o.size == n && len(o.parts) == 0 && !o.busy
			if !alone || o.try == nil || !o.attempt() {
				o.wakeWriter()
			}
			o.mu.Unlock()
			return at, nil
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-o.failed:
		case <-stop:
			return 0, errStopped
		}
	}
}

// attempt writes the queue, a tail alone, as far as that needs no waiting. It
// reports whether there is nothing left to write. Called with the lock held, which
// it gives up meanwhile.
func (o *outbox) attempt() bool {
	tail, left := o.tail, o.left
	o.tail, o.spare, o.size = o.spare[:0], nil, 0
	o.left, o.busy = o.queued, true
	o.mu.Unlock()
	n := o.try(tail)
	o.mu.Lock()
	o.busy = false
	if rest := tail[n:]; len(rest) > 0 {
		o.left = left + int64(n)
		o.parts = append([][]byte{rest}, o.parts...)
		o.size += len(rest)
	} else if cap(tail) <= spareSize {
		o.spare = tail
	}
	return o.size == 0
}

// wakeWriter tells the writer that there is something to write.
func (o *outbox) wakeWriter() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// neverLeft reports whether nothing of the frame that begins at the offset has
// left, nor will.
func (o *outbox) neverLeft(at int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.stays() && at >= o.left
}

// stays reports whether what is in the queue stays there. Called with the lock held.
func (o *outbox) stays() bool {
	return o.err != nil && !o.serving && !errors.Is(o.err, ErrClosed)
}

func (o *outbox) add(parts [][]byte) {
	for _, p := range parts {
		if len(p) <= inlineSize {
			o.tail = append(o.tail, p...)
			continue
		}
		if len(o.tail) > 0 {
			o.parts = append(o.parts, o.tail)
			o.tail = nil
		}
		o.parts = append(o.parts, p)
	}
}

// run writes to w what is sent, until stop is closed or w fails. What was sent
// before stop is still written.
func (o *outbox) run(w io.Writer, stop <-chan struct{}) error {
	if t, ok := w.(interface{ TryWrite(b []byte) int }); ok {
		o.mu.Lock()
		o.try = t.TryWrite
		o.mu.Unlock()
	}
	for {
		var stopped bool
		select {
		case <-o.wake:
		case <-stop:
			stopped = true
		}
		// Let those run first that are about to send: they share this write then.
		runtime.Gosched()
		for stopped && o.isBusy() {
			runtime.Gosched() // a sender that writes does not wait, so this is short
		}
		if err := o.write(w); err != nil {
			return err
		}
		if stopped {
			return ErrClosed
		}
	}
}

func (o *outbox) isBusy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.busy
}

// write writes all that is in the queue, but for what a sender is writing: that
// one wakes the writer again if something is left.
func (o *outbox) write(w io.Writer) error {
	o.mu.Lock()
	switch {
	case o.stays():
		defer o.mu.Unlock()
		return o.err // what is in the queue stays here: its senders were told so
	case o.busy:
		o.mu.Unlock()
		return nil
	}
	parts, tail := o.parts, o.tail
	before := o.left
	o.left, o.busy = o.queued, true
	o.parts, o.tail, o.spare, o.size = nil, o.spare[:0], nil, 0
	close(o.room)
	o.room = make(chan struct{})
	o.mu.Unlock()
	for _, p := range append(parts, tail) {
		if len(p) == 0 {
			continue
		}
		n, err := w.Write(p)
		before += int64(n)
		if err != nil {
			o.mu.Lock()
			o.left = before
			o.mu.Unlock()
			return err
		}
	}
	o.mu.Lock()
	o.busy = false
	if cap(tail) <= spareSize {
		o.spare = tail
	}
	o.mu.Unlock()
	return nil
}

// fail makes every send return err.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		close(o.failed)
	}
}
