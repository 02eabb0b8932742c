package wire

import (
	"errors"
	"net/http"
	"time"
)

const (
	// writeTimeout is how long a client may take to take writeSize bytes, or less: about
	// 4 KiB a second. One that is slower is gone.
	writeTimeout = time.Minute
	writeSize    = 256 << 10
	// deadlineEvery is how often the deadline is moved, which costs.
	deadlineEvery = 5 * time.Second
)

// A slowWriter writes to a client that may not read, which ends it in time. It keeps
// its first error.
type slowWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	moved   time.Time
	err     error
}

func newSlowWriter(w http.ResponseWriter) *slowWriter {
	return &slowWriter{w: w, control: http.NewResponseController(w)}
}

func (s *slowWriter) write(b []byte) {
	for len(b) > 0 && s.err == nil {
		s.move()
		n := min(len(b), writeSize)
		_, s.err = s.w.Write(b[:n])
		b = b[n:]
	}
}

func (s *slowWriter) flush() {
	if s.err == nil {
		s.move()
		s.err = s.control.Flush()
	}
}

// move sets the deadline for what is written next.
func (s *slowWriter) move() {
	if now := time.Now(); now.Sub(s.moved) > deadlineEvery {
		s.moved = now
		_ = s.control.SetWriteDeadline(now.Add(writeTimeout)) // not every writer has one
	}
}

// done lifts the deadline: the connection may have another request.
func (s *slowWriter) done() {
	if s.err == nil || errors.Is(s.err, errUnknown) { // of which the connection knows nothing
		_ = s.control.SetWriteDeadline(time.Time{}) // as above
	}
}
