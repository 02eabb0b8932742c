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
	keepAlive  = 15 * time.Second // a comment on a quiet stream, so that no proxy ends it
	knownEvery = time.Second      // how often a credential is looked at again

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

var (
	errSlow    = errors.New("client reads too slowly: the notification is dropped")
	errUnknown = errors.New("the credential of the stream is not known any more")
)

// eventStream is a response that becomes an event stream with its first
// notification. Nobody who sends on it ever waits: a slow client holds up neither
// whoever notifies nor any other client.
//
// What a client does not read waits, up to a bound. Beyond it progress takes the
// place of the progress of the same request before it, and other notifications are
// dropped; an answer never is.
//
// One goroutine at a time writes, and none while there is nothing to write.
type eventStream struct {
	w           http.ResponseWriter
	all         *atomic.Int64 // bytes that wait on all streams
	held        *hold         // where the stream is no answer to a request
	*credential               // or nil, where nobody asks for it

	mu     sync.Mutex
	ended  bool
	busy   bool // somebody writes, or nobody may yet
	due    bool // something has to be done for the time that has passed
	out    *outlet
	queue  []tool.Bytes
	last   int // one more than the place of the last progress in the queue
	size   int // bytes that wait, those being written too
	writer sync.WaitGroup
}

// A credential is that of a caller, with which a stream ends that would not by itself.
type credential struct {
	known func(r *http.Request) bool
	r     *http.Request // that it came with
	lost  func()        // ends the request that the stream answers, or nil
}

// credential returns that of a caller, or nil.
func (s *Server) credential(r *http.Request, caller tool.Caller, lost func()) *credential {
	if caller.Grant == nil || s.o.Known == nil {
		return nil
	}
	return &credential{s.o.Known, r, lost}
}

// An outlet is what only a stream has that is open.
type outlet struct {
	slowWriter
	beat  *time.Timer
	every time.Duration // of the beat
	quiet time.Duration // since the last comment

	looked time.Time // when the credential was known
}

// open starts the stream. It is called with the lock held.
func (s *eventStream) open() {
	s.out = &outlet{slowWriter: *newSlowWriter(s.w), every: keepAlive, looked: time.Now()}
	if s.credential != nil {
		s.out.every = knownEvery
	}
	s.out.beat = time.AfterFunc(s.out.every, s.tick)
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
	if s.out == nil {
		s.open()
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
	s.start()
}

// start has the stream written, if nobody does. Called with the lock held: whoever
// writes finds out under it that nothing is left.
func (s *eventStream) start() {
	switch {
	case s.busy:
		return
	case s.held != nil:
		s.held.start()
	default:
		s.writer.Go(func() { s.write() })
	}
	s.busy = true
}

// begin lets a stream be written for which that was not allowed yet.
func (s *eventStream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
	if len(s.queue) > 0 || s.due || s.ended {
		s.start()
	}
}

// tick is called when a beat has passed.
func (s *eventStream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.out.beat.Reset(s.out.every)
		s.due = true
		s.start()
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

// end writes the answer, unless the stream has ended, and waits until it is out. It
// reports false, and does nothing, where no stream was opened.
func (s *eventStream) end(id []byte, result tool.Bytes, e *jsonrpc.Error) bool {
	s.mu.Lock()
	over := s.ended
	s.ended = true
	if s.out == nil {
		s.mu.Unlock()
		return false
	}
	if e != nil {
		result = tool.OneOf(e.JSON())
	}
	if !over {
		event := append(tool.OneOf(jsonrpc.AppendAnswerHead(nil, id, e != nil)), result...)
		s.add(append(event, []byte{'}'}))
	}
	s.mu.Unlock()
	s.writer.Wait()
	return true
}

// write writes what waits, and reports whether the stream is over. Once the client is
// gone, or its credential, it only empties the queue.
func (s *eventStream) write() (over bool) {
	over = true // where something panics
	defer func() {
		if over {
			s.close()
		}
	}()
	for {
		events, due, ended := s.take()
		if due && !ended {
			s.pass()
		}
		for _, event := range events {
			if time.Since(s.out.looked) > knownEvery { // a client can take its time over what waits
				s.look()
			}
			s.out.write(eventHead)
			for _, part := range oneLine(event) {
				s.out.write(part)
			}
			s.out.write(eventTail)
			s.written(event)
		}
		if due || len(events) > 0 {
			s.out.flush()
		}
		if ended || !due && len(events) == 0 {
			over = ended
			return over
		}
	}
}

// pass does what is due when a beat has passed.
func (s *eventStream) pass() {
	s.look()
	if s.out.quiet += s.out.every; s.out.quiet >= keepAlive {
		s.out.quiet = 0
		s.out.write(keepAliveComment)
	}
}

// look ends the stream of a credential that is not known any more. Nothing of what
// waits is written then.
func (s *eventStream) look() {
	s.out.looked = time.Now()
	if s.credential == nil || s.known(s.r) {
		return
	}
	if s.out.err == nil {
		s.out.err = errUnknown
	}
	if s.finish(); s.lost != nil {
		s.lost()
	}
}

// close is called when nothing more will be written.
func (s *eventStream) close() {
	s.finish()
	s.out.beat.Stop()
	s.out.done()
	if s.held != nil {
		s.held.end()
	}
}

var (
	eventHead        = []byte("event: message\ndata: ")
	eventTail        = []byte("\n\n")
	keepAliveComment = []byte(": keep-alive\n\n")
)

// finish lets nothing more be put on the stream, and ends it.
func (s *eventStream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.start()
	}
}

// over reports whether nothing more can be put on the stream.
func (s *eventStream) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// take returns what waits, whether something is due, and whether nothing more will
// come. Where there is nothing to do any more, whoever writes has to return: the next
// who puts something on the stream has it written again, unless it has ended.
func (s *eventStream) take() (events []tool.Bytes, due, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, s.queue, s.last = s.queue, nil, 0
	due, s.due = s.due, false
	s.busy = len(events) > 0 || due || s.ended
	return events, due, s.ended
}

func (s *eventStream) written(event tool.Bytes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resize(-event.Len() - waitingCost)
}
