package upstream

import (
	"errors"
	"io"
	"os"
	"time"
)

const (
	// drainBound is how long the output of an ended process may take to arrive
	// where something that it started keeps the pipe open.
	drainBound = 10 * time.Millisecond
	// lastBytes is more than a pipe holds, so that no more is of an ended process.
	lastBytes = 4 << 20
)

// output is what a process writes until its end, and ends there: something that the
// process started may keep the pipe open, and even write to it. What was written before
// is read however late its reader comes, since that may be the answer of a call.
type output struct {
	f     *os.File
	ended <-chan struct{}
	rest  int  // bytes that were read since the end
	over  bool // what the process wrote has been read
}

// Read implements io.Reader. It may only be used by one goroutine.
func (o *output) Read(b []byte) (int, error) {
	for tries := 0; !o.over && tries < 3; {
		ended := false
		select {
		case <-o.ended:
			ended = true
			_ = o.expire() // what cannot is closed: see end
		default:
		}
		n, err := o.f.Read(b)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded): // of a moment that may have passed before it looked
			if ended {
				tries++
			}
			continue
		case ended:
			o.rest += n
			o.over = n < len(b) || o.rest >= lastBytes
		}
		return n, err
	}
	return 0, io.EOF
}

// end has Read find the end of the process, and returns how long that may take: it waits
// for one that is busy with what it has read, and for no other where reads cannot expire.
func (o *output) end() time.Duration {
	if o.expire() != nil {
		return 3 * drainBound
	}
	return stopBound
}

// expire has a read that waits end soon.
func (o *output) expire() error { return o.f.SetReadDeadline(time.Now().Add(drainBound)) }
