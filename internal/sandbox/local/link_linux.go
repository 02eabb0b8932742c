package local

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A link is the socket to a launcher.
type link struct {
	conn  *net.UnixConn
	write sync.Mutex

	mu     sync.Mutex
	serial uint64
	wait   map[uint64]*waiting
	closed bool
}

// waiting is who waits for reports of one order.
type waiting struct {
	answer chan heard
	exit   chan report
	half   bool // one of the two has come; either may be the first
}

type heard struct {
	report
	files []int
}

var errClosed = errors.New("the sandbox has ended")

func newLink(conn *net.UnixConn) *link { return &link{conn: conn, wait: make(map[uint64]*waiting)} }

// first sends the plan and waits for the launcher to have carried it out.
func (l *link) first(ctx context.Context, p plan) (heard, error) {
	if err := l.send(p, nil); err != nil {
		return heard{}, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetReadDeadline(time.Now()) })
	h, err := l.receive()
	if !stop() {
		closeAll(h.files)
		return heard{}, errors.New("the launcher did not answer in time")
	}
	if err != nil {
		return heard{}, errors.New("the launcher has ended")
	}
	return h, h.err()
}

func (l *link) send(v any, files []int) error {
	b, oob, err := pack(v, files)
	if err != nil {
		return err
	}
	l.write.Lock()
	defer l.write.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(startLimit)) // sockets take deadlines
	_, _, err = l.conn.WriteMsgUnix(b, oob, nil)
	return err
}

func (l *link) receive() (heard, error) {
	buf, oob := make([]byte, maxPacket), make([]byte, unix.CmsgSpace(4*maxFiles))
	n, on, flags, _, err := l.conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return heard{}, err
	}
	var h heard
	h.files, err = unpack(buf[:n], oob[:on], flags, &h.report)
	for _, fd := range h.files {
		unix.CloseOnExec(fd)
	}
	return h, err
}

// read hands reports to who waits for them, until the end.
func (l *link) read() {
	defer l.close()
	for {
		h, err := l.receive()
		if err != nil {
			return
		}
		l.mu.Lock()
		w := l.wait[h.ID]
		if w != nil && w.half {
			delete(l.wait, h.ID)
		}
		if w != nil {
			w.half = true
		}
		l.mu.Unlock()
		switch {
		case w == nil:
			closeAll(h.files)
		case h.Exit:
			select {
			case w.exit <- h.report:
			default:
			}
		default:
			select {
			case w.answer <- h:
			default:
				closeAll(h.files)
			}
		}
	}
}

// close ends the link. Who waits on it learns of that.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	_ = l.conn.Close() // nothing is lost
	for id, w := range l.wait {
		close(w.answer)
		close(w.exit)
		delete(l.wait, id)
	}
}

// ask gives an order and returns its answer. exit is where the end of a started
// process is told; it is closed when the sandbox ends.
func (l *link) ask(ctx context.Context, o order, files ...*os.File) (heard, <-chan report, error) {
	w := &waiting{answer: make(chan heard, 1), exit: make(chan report, 1)}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return heard{}, nil, errClosed
	}
	l.serial++
	o.ID = l.serial
	l.wait[o.ID] = w
	l.mu.Unlock()
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if err := l.send(o, fds); err != nil {
		l.forget(o.ID)
		return heard{}, nil, err
	}
	var h heard
	var ok bool
	select {
	case h, ok = <-w.answer:
	case <-ctx.Done():
		// A process that is started meanwhile is the sandbox's to end.
		l.forget(o.ID)
		return heard{}, nil, ctx.Err()
	}
	if !ok {
		return heard{}, nil, errClosed
	}
	if o.Do != "start" || h.Error != "" {
		l.forget(o.ID)
	}
	return h, w.exit, h.err()
}

func (l *link) forget(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.wait, id)
}
