package wire

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	keepAlive = 15 * time.Second // a comment on a quiet stream, so that no proxy ends it

	// maxWaiting bounds the bytes that wait on one stream for a client to read them, as
	// long as not more than maxWaitingAll wait on all streams of a server; then it is
	// fewWaiting. A client that reads is never so far behind: 4 MiB are what a server
	// sends in a tenth of a second when it does nothing else.
	maxWaiting    = 4 << 20
	maxWaitingAll = 64 << 20
	fewWaiting    = 64 << 10
	// waitingCost is what a message costs beside its text.
	waitingCost = 64
)

var errSlow = errors.New("client reads too slowly: the notification is dropped")

// eventStream is a response that becomes an event stream with its first
// notification. Nobody who sends on it ever waits: a slow client holds up neither
// whoever notifies nor any other client.
//
// What a client does not read waits, up to a bound. Beyond it progress takes the
// place of the progress of the same request before it, and other notifications are
// dropped; an answer never is.
type eventStream struct {
	w   http.ResponseWriter
	all *atomic.Int64 // bytes that wait on all streams

	mu     sync.Mutex
	ended  bool
	wake   chan struct{} // has a token when there is something to write; nil until the stream is open
	queue  []tool.Bytes
	last   int // one more than the place of the last progress in the queue
	size   int // bytes that wait, those being written too
	writer sync.WaitGroup
}

// open starts the stream. It is called with the lock held, or before anybody else
// knows the stream.
func (s *eventStream) open() {
	s.wake = make(chan struct{}, 1)
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
}

const progressMethod = "notifications/progress"

func (s *eventStream) notify(method string, params []byte) error {
	return s.put(jsonrpc.AppendRequest(nil, 0, method, params), method == progressMethod)
}

// send puts a message on the stream.
func (s *eventStream) send(message []byte) error { return s.put(message, false) }

func (s *eventStream) put(message []byte, progress bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return ErrClosed
	}
	if s.wake == nil {
		s.open()
		s.writer.Go(func() { s.write(&ending{}) })
	}
	if n := len(message) + waitingCost; s.size > 0 && s.size+n > s.limit() {
		if !progress || !s.replace(message) {
			return errSlow
		}
		return nil
	}
	s.add(tool.OneOf(message))
	if progress {
		s.last = len(s.queue)
	}
	return nil
}

func (s *eventStream) limit() int {
	if s.all.Load() > maxWaitingAll {
		return fewWaiting
	}
	return maxWaiting
}

// add puts a message at the end of the queue. Called with the lock held.
func (s *eventStream) add(message tool.Bytes) {
	s.queue = append(s.queue, message)
	s.resize(message.Len() + waitingCost)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// resize is called with the lock held.
func (s *eventStream) resize(by int) {
	s.size += by
	s.all.Add(int64(by))
}

// replace puts progress in the place of the last that waits, if that is of the same
// request. Called with the lock held.
func (s *eventStream) replace(message []byte) bool {
	if s.last == 0 {
		return false
	}
	old := s.queue[s.last-1]
	grown := len(message) - old.Len()
	if token := progressToken(tool.OneOf(message)); token == nil || grown > fewWaiting || !bytes.Equal(token, progressToken(old)) {
		return false
	}
	s.queue[s.last-1] = tool.OneOf(message)
	s.resize(grown)
	return true
}

// progressToken returns the token of a notification of progress, as it is written.
func progressToken(message tool.Bytes) []byte {
	var span [1]jsonrpc.Span
	m, err := jsonrpc.Parse(message)
	if err != nil || jsonrpc.Members(m.Params, []string{"progressToken"}, span[:]) != nil || !span[0].Found() {
		return nil
	}
	return span[0].In(m.Params).Join()
}

// end writes the answer and waits until it is out. It reports false, and does
// nothing, where no stream was opened.
func (s *eventStream) end(id []byte, result tool.Bytes, e *jsonrpc.Error) bool {
	s.mu.Lock()
	s.ended = true
	if s.wake == nil {
		s.mu.Unlock()
		return false
	}
	if e != nil {
		result = tool.OneOf(e.JSON())
	}
	event := append(tool.OneOf(jsonrpc.AppendAnswerHead(nil, id, e != nil)), result...)
	s.add(append(event, []byte{'}'}))
	s.mu.Unlock()
	s.writer.Wait()
	return true
}

// An ending says when a stream ends that has no answer.
type ending struct {
	client, session <-chan struct{}
	look            <-chan time.Time // when to ask known
	known           func() bool
	begun           bool // the head is out
}

// write writes events until the stream has ended. Once the client is gone it only
// empties the queue.
func (s *eventStream) write(e *ending) {
	out := newSlowWriter(s.w)
	defer out.done()
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	if !e.begun {
		out.flush()
	}
	for {
		select { // for a long time, most often, and on a small stack: what is done else is done elsewhere
		case <-s.wake:
		case <-quiet.C:
			out.write(keepAliveComment)
			out.flush()
			continue
		case <-e.look:
			if e.known() {
				continue
			}
			s.finish()
		case <-e.client:
			s.finish()
		case <-e.session:
			s.finish()
		}
		if s.empty(out) {
			return
		}
	}
}

// empty writes what waits, and reports whether nothing more will come.
func (s *eventStream) empty(out *slowWriter) bool {
	for {
		events, ended := s.take()
		for _, event := range events {
			out.write(eventHead)
			for _, part := range oneLine(event) {
				out.write(part)
			}
			out.write(eventTail)
			s.written(event)
		}
		out.flush()
		if ended || len(events) == 0 {
			return ended
		}
	}
}

var (
	eventHead        = []byte("event: message\ndata: ")
	eventTail        = []byte("\n\n")
	keepAliveComment = []byte(": keep-alive\n\n")
)

// finish lets nothing more be put on the stream.
func (s *eventStream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// take returns what waits, and whether nothing more will come.
func (s *eventStream) take() (events []tool.Bytes, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, s.queue, s.last = s.queue, nil, 0
	return events, s.ended
}

func (s *eventStream) written(event tool.Bytes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resize(-event.Len() - waitingCost)
}
