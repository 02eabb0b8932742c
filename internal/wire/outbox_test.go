package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/wire"
)

// A tube is a pipe with room for a few bytes, which can be written as far as they
// go.
type tube struct {
	mu     sync.Mutex
	moved  *sync.Cond
	data   []byte
	room   int
	closed bool
	tried  int // writes that did not wait
}

func newTube(room int) *tube {
	t := &tube{room: room}
	t.moved = sync.NewCond(&t.mu)
	return t
}

func (t *tube) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.data) == 0 {
		if t.closed {
			return 0, io.EOF
		}
		t.moved.Wait()
	}
	n := copy(p, t.data)
	t.data = t.data[n:]
	t.moved.Broadcast()
	return n, nil
}

func (t *tube) Write(p []byte) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for n < len(p) {
		if t.closed {
			return n, io.ErrClosedPipe
		}
		some := min(len(p)-n, t.room-len(t.data))
		t.data = append(t.data, p[n:n+some]...)
		n += some
		t.moved.Broadcast()
		if some == 0 {
			t.moved.Wait()
		}
	}
	return n, nil
}

// TryWrite writes what fits.
func (t *tube) TryWrite(p []byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tried++
	n := min(len(p), t.room-len(t.data))
	t.data = append(t.data, p[:n]...)
	t.moved.Broadcast()
	return n
}

func (t *tube) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.moved.Broadcast()
	return nil
}

// TestSendersThatWrite: whoever writes, the writer or the caller, frames are whole and none is lost, also
// where only a part of one fits.
func TestSendersThatWrite(t *testing.T) {
	for _, room := range []int{1, 50, 300, 5000, 1 << 20} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			up, down := newTube(room), newTube(room)
			c := wire.NewStream(wire.StreamOptions{R: down, W: up})
			s := wire.NewStream(wire.StreamOptions{R: up, W: down, Handler: &echo{}})
			var callers sync.WaitGroup
			for i := range 3 {
				callers.Go(func() {
					for n := range 50 {
						text := fmt.Sprintf("%d-%d-%s", i, n, strings.Repeat("x", n*n))
						answer, err := c.Call(t.Context(), &wire.Request{Method: "echo", Params: fmt.Appendf(nil, `{"text":%q}`, text)})
						if err != nil || !strings.Contains(string(answer.Join()), text) {
							t.Errorf("%s: %.100s, %v", text, answer.Join(), err)
						}
					}
				})
			}
			callers.Wait()
			for range 5 {
				if _, err := c.Call(t.Context(), &wire.Request{Method: "echo"}); err != nil {
					t.Error(err)
				}
			}
			if up.tried == 0 {
				t.Error("no sender has written by itself")
			}
			if err := errors.Join(c.Close(), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSenderIsNotHeldUp: a caller gives up in time though the other side reads
// nothing.
func TestSenderIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, down := newTube(10), newTube(10)
		c := wire.NewStream(wire.StreamOptions{R: down, W: up})
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, err := c.Call(ctx, &wire.Request{Method: "echo", Params: []byte(`{}`)})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
