package proc

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	defaultTail = 4 << 10
	maxLine     = 8 << 10 // of a line given to OnStderr
	// drainBound is how long the last words of a child that has ended are
	// waited for. A helper that has inherited stderr may hold it open for ever.
	drainBound = 50 * time.Millisecond
)

// A tail reads a child's standard error as fast as it comes, keeps the last
// bytes of it and hands on its lines. Its memory does not grow.
type tail struct {
	file    *os.File
	keep    int
	onLine  func(string)
	drained chan struct{} // closed when read has returned

	line []byte // read's own: the line that has no end yet, at most maxLine

	mu  sync.Mutex
	buf []byte    // at most 2*keep
	cut bool      // bytes were dropped, so buf may start within a line
	at  time.Time // when the last of it came
}

func newTail(file *os.File, keep int, onLine func(string)) *tail {
	return &tail{file: file, keep: keep, onLine: onLine, drained: make(chan struct{})}
}

// read reads until the last writer is gone or close is called.
func (t *tail) read() {
	defer close(t.drained)
	chunk := make([]byte, 32<<10)
	for {
		n, err := t.file.Read(chunk)
		t.append(chunk[:n])
		if err != nil {
			t.flush()
			return
		}
	}
}

// drain waits until everything is read, but not for long.
func (t *tail) drain() {
	select {
	case <-t.drained:
	case <-time.After(drainBound):
	}
}

// close ends read.
func (t *tail) close() {
	t.drain()
	_ = t.file.Close() // a pipe that is only read: nothing is lost
}

func (t *tail) append(p []byte) {
	t.store(p)
	if t.onLine == nil {
		return
	}
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		t.line = append(t.line, part[:min(len(part), maxLine-len(t.line))]...)
		if !ended {
			return
		}
		t.emit()
		p = rest
	}
}

// flush hands on a last line without an end.
func (t *tail) flush() {
	if t.onLine != nil && len(t.line) > 0 {
		t.emit()
	}
}

func (t *tail) emit() {
	t.onLine(strings.ToValidUTF8(string(bytes.TrimSuffix(t.line, []byte{'\r'})), "\uFFFD"))
	t.line = t.line[:0]
}

func (t *tail) store(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) > 0 {
		t.at = time.Now()
	}
	if len(p) > t.keep {
		p = p[len(p)-t.keep:]
		t.buf, t.cut = t.buf[:0], true
	}
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.keep {
		t.trim()
	}
}

// trim drops all but the last keep bytes. t.mu must be held.
func (t *tail) trim() {
	if over := len(t.buf) - t.keep; over > 0 {
		t.buf, t.cut = append(t.buf[:0], t.buf[over:]...), true
	}
}

// last returns when the last of it came.
func (t *tail) last() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at
}

// String returns what is kept. After a cut it starts at the first whole line,
// unless the only line is longer than what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trim()
	b := t.buf
	if t.cut {
		if _, rest, ok := bytes.Cut(b, []byte{'\n'}); ok && len(rest) > 0 {
			b = rest
		}
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
