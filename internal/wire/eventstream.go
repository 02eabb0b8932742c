package wire

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	maxEvents    = 256              // notifications that wait for a slow client; later ones are dropped
	keepAlive    = 15 * time.Second // a comment on a quiet stream, so that no proxy ends it
	writeTimeout = time.Minute      // a client that takes nothing for that long is gone
)

var errSlow = errors.New("client reads too slowly: the notification is dropped")

// eventStream is a response that becomes an event stream with its first
// notification. A goroutine of its own writes, so that a slow client never holds
// up whoever notifies.
type eventStream struct {
	w http.ResponseWriter

	mu     sync.Mutex
	ended  bool
	events chan tool.Bytes // nil until the stream is open
	writer sync.WaitGroup
}

// open starts the stream.
func (s *eventStream) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.openLocked()
}

func (s *eventStream) openLocked() {
	if s.events != nil {
		return
	}
	s.events = make(chan tool.Bytes, maxEvents)
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
	s.writer.Go(s.write)
}

func (s *eventStream) notify(method string, params []byte) error {
	return s.send(jsonrpc.AppendRequest(nil, 0, method, params))
}

// send puts a message on the stream.
func (s *eventStream) send(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return ErrClosed
	}
	s.openLocked()
	select {
	case s.events <- tool.OneOf(message):
		return nil
	default:
		return errSlow
	}
}

// end writes the answer and waits until it is out. It reports false, and does
// nothing, where no stream was opened.
func (s *eventStream) end(id []byte, result tool.Bytes, e *jsonrpc.Error) bool {
	s.mu.Lock()
	s.ended = true
	opened := s.events != nil
	s.mu.Unlock()
	if !opened {
		return false
	}
	if e != nil {
		result = tool.OneOf(e.JSON())
	}
	event := append(tool.OneOf(jsonrpc.AppendAnswerHead(nil, id, e != nil)), result...)
	s.events <- append(event, []byte{'}'}) // the writer takes all until the channel is closed
	close(s.events)
	s.writer.Wait()
	return true
}

// close ends the stream without an answer.
func (s *eventStream) close() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	close(s.events)
	s.writer.Wait()
}

// write writes events until the channel is closed. Once the client is gone it
// only empties the channel.
func (s *eventStream) write() {
	control := http.NewResponseController(s.w)
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	err := control.Flush()
	for {
		var event tool.Bytes
		select {
		case next, ok := <-s.events:
			if !ok {
				return
			}
			event = append(append(tool.OneOf([]byte("event: message\ndata: ")), oneLine(next)...), []byte("\n\n"))
		case <-quiet.C:
			event = tool.OneOf([]byte(": keep-alive\n\n"))
		}
		if err != nil {
			continue
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has one
		if _, err = event.WriteTo(s.w); err == nil {
			err = control.Flush()
		}
	}
}
