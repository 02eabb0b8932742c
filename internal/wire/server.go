package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"mime"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/share"
	"github.com/tenon-mcp/tenon/tool"
)

// ServerOptions configures a Server. Stateless and Open must be set.
type ServerOptions struct {
	// Stateless answers the requests of the modern era, which belong to no session.
	Stateless Handler
	// Modern reports whether a request is of the modern era.
	Modern func(h http.Header, m *jsonrpc.Message) bool
	// Open returns the handler of a new legacy session.
	Open func(*Session) Handler
	// Admit returns who sends a request, or reports false once it has answered with
	// why nobody may. A session belongs to whoever opened it: to others, who may know
	// its id, it is not there. Nil knows nobody.
	Admit func(w http.ResponseWriter, r *http.Request) (tool.Caller, bool)
	// Known reports whether who sent a request would be admitted still. The stream of
	// somebody with a credential ends once that is not so; nil asks nobody.
	Known func(r *http.Request) bool
	// MaxBody bounds a request's body, in bytes; 0 is DefaultMaxMessage.
	MaxBody int64
	// IdleTimeout ends a session that has neither requests nor an open stream for
	// that long; 0 is 30 minutes.
	IdleTimeout time.Duration
	// MaxSessions bounds the sessions that live at once; 0 is 10,000. No caller can have
	// them all.
	MaxSessions int
	// Places are those of the sessions, where servers have them in common. Nil makes some.
	Places *share.Places
}

// A Server is the server's end of streamable HTTP, both eras on one URL: an
// http.Handler. Close ends its sessions.
type Server struct {
	o      ServerOptions
	ctx    context.Context
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup

	waiting atomic.Int64 // bytes on event streams that clients have not read

	mu       sync.RWMutex
	sessions map[string]*httpSession
}

// httpSession is a Session with what only HTTP needs.
type httpSession struct {
	*Session
	handler Handler
	used    atomic.Int64 // Unix seconds of the last request
	busy    atomic.Int64 // requests and streams that are open

	mu      sync.Mutex
	streams []*eventStream
	lastAsk int64
	asks    map[int64]chan *jsonrpc.Message // requests to the client, by id
}

// NewServer returns a server. It starts one goroutine that ends idle sessions.
func NewServer(o ServerOptions) *Server {
	if o.MaxBody <= 0 {
		o.MaxBody = DefaultMaxMessage
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 30 * time.Minute
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = 10_000
	}
	if o.Places == nil {
		o.Places = new(share.Places)
	}
	s := &Server{o: o, sessions: map[string]*httpSession{}}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.tasks.Go(s.endIdle)
	return s
}

// Cut ends the requests of all sessions, which do not end with the connections that they
// came on, for that cause. Their answers can still be written; nothing new is begun.
func (s *Server) Cut(cause error) { s.cancel(cause) }

// Close ends all sessions and their streams.
func (s *Server) Close() error {
	s.cancel(nil)
	s.mu.Lock()
	for _, hs := range s.sessions {
		s.drop(hs)
	}
	s.mu.Unlock()
	s.tasks.Wait()
	return nil
}

// Sessions calls f for each session that is open.
func (s *Server) Sessions(f func(*Session)) {
	s.mu.RLock()
	all := make([]*httpSession, 0, len(s.sessions))
	for _, hs := range s.sessions {
		all = append(all, hs)
	}
	s.mu.RUnlock()
	for _, hs := range all {
		f(hs.Session)
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var caller tool.Caller
	if s.o.Admit != nil {
		var ok bool
		if caller, ok = s.o.Admit(w, r); !ok {
			return
		}
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, caller)
	case http.MethodGet:
		s.get(w, r, caller)
	case http.MethodDelete:
		s.delete(w, r, caller)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "method %s is not supported here", r.Method))
	}
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, caller tool.Caller) {
	if !isJSON(r.Header.Get("Content-Type")) {
		refuse(w, http.StatusUnsupportedMediaType, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "Content-Type must be application/json"))
		return
	}
	body, err := readRequest(r, s.o.MaxBody)
	if err != nil {
		status := http.StatusBadRequest
		if _, ok := errors.AsType[*jsonrpc.TooLargeError](err); ok {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "request body: %v", err))
		return
	}
	m, err := jsonrpc.Parse(tool.OneOf(body))
	if err == nil {
		err = jsonrpc.CheckText(tool.OneOf(body))
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, nil, jsonrpc.Refuse(tool.OneOf(body), err))
		return
	}
	if s.o.Modern(r.Header, m) {
		s.postModern(w, r, m, caller)
		return
	}
	s.postLegacy(w, r, m, caller)
}

func isJSON(contentType string) bool {
	if contentType == "application/json" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && t == "application/json"
}

func (s *Server) postModern(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, caller tool.Caller) {
	x := &Exchange{Header: r.Header, Caller: caller}
	if !m.IsRequest() {
		if m.IsNotification() {
			s.o.Stateless.Notification(x, m)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	ctx := r.Context() // closing the stream is how a client of this era cancels
	var c *credential
	if m.Method == "subscriptions/listen" { // it would go on for ever
		var lost func()
		ctx, lost = context.WithCancel(ctx)
		defer lost()
		c = s.credential(r, caller, lost)
	}
	s.answer(ctx, w, s.o.Stateless, x, m, c)
}

func (s *Server) postLegacy(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, caller tool.Caller) {
	id := r.Header.Get(HeaderSession)
	if id == "" && m.Method == "initialize" && m.IsRequest() {
		s.initialize(w, r, m, caller)
		return
	}
	if id == "" {
		if !m.IsRequest() {
			w.WriteHeader(http.StatusAccepted) // some clients say "initialized" without naming their session
			return
		}
		refuse(w, http.StatusBadRequest, m.ID, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "header %s is missing: send initialize first and repeat the session it gives", HeaderSession))
		return
	}
	hs := s.session(id, caller)
	if hs == nil {
		refuse(w, http.StatusNotFound, m.ID, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "session not found: send initialize again"))
		return
	}
	defer hs.enter()()
	x := &Exchange{Session: hs.Session, Header: r.Header, Caller: caller, http: hs}
	switch {
	case m.IsRequest():
		// A broken connection is no cancellation in this era.
		ctx, end := hs.begin(hs.ctx, m.ID)
		defer end()
		s.answer(ctx, w, hs.handler, x, m, nil)
		return
	case m.Method == "notifications/cancelled":
		hs.cancelRequest(m)
	case m.IsNotification():
		hs.handler.Notification(x, m)
	case m.IsAnswer():
		hs.answered(m)
	}
	w.WriteHeader(http.StatusAccepted)
}

func (s *Server) initialize(w http.ResponseWriter, r *http.Request, m *jsonrpc.Message, caller tool.Caller) {
	hs := &httpSession{Session: newSession(s.ctx, rand.Text())}
	hs.Caller = caller
	hs.notify, hs.Session.ask = hs.toStream, hs.askOnStream
	hs.handler = s.o.Open(hs.Session)
	defer hs.enter()()
	result, e := hs.handler.Request(hs.ctx, &Exchange{Session: hs.Session, Header: r.Header, Caller: caller, notify: func(string, []byte) error { return nil }}, m)
	if e == nil {
		e = s.add(hs)
	}
	if e != nil {
		hs.cancel()
	} else {
		w.Header().Set(HeaderSession, hs.ID)
	}
	writeAnswer(w, m.ID, result, e)
}

// add takes a session in, if there is a place for its caller.
func (s *Server) add(hs *httpSession) *jsonrpc.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "too many sessions: try again later", Status: http.StatusServiceUnavailable}
	if s.ctx.Err() != nil {
		return e
	}
	switch err := s.o.Places.Take(owner(hs.Caller), s.o.MaxSessions); {
	case errors.Is(err, share.ErrShare):
		e.Status, e.Message = http.StatusTooManyRequests, "too many sessions of this caller: end some with DELETE, or wait until idle ones end"
		return e
	case err != nil:
		return e
	}
	s.sessions[hs.ID] = hs
	return nil
}

// drop takes a session out, which ends it. Called with the lock held.
func (s *Server) drop(hs *httpSession) {
	delete(s.sessions, hs.ID)
	s.o.Places.Give(owner(hs.Caller))
	hs.cancel()
	hs.endStreams()
}

// owner names a caller so that no two have the same name.
func owner(c tool.Caller) string {
	if c.Grant == nil {
		return c.Name
	}
	return c.Name + "\x00" + c.Grant.Key
}

// answer runs one request and writes its answer: as JSON, or as an event stream
// where a notification came first.
func (s *Server) answer(ctx context.Context, w http.ResponseWriter, h Handler, x *Exchange, m *jsonrpc.Message, c *credential) {
	stream := eventStream{w: w, all: &s.waiting, credential: c}
	x.notify = stream.notify
	x.stream = &stream
	result, e := h.Request(ctx, x, m)
	if !stream.end(m.ID, result, e) {
		writeAnswer(w, m.ID, result, e)
	}
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, caller tool.Caller) {
	id := r.Header.Get(HeaderSession)
	if id == "" {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a stream needs the header %s", HeaderSession))
		return
	}
	hs := s.session(id, caller)
	if hs == nil {
		refuse(w, http.StatusNotFound, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "session not found: send initialize again"))
		return
	}
	stream := &eventStream{w: w, all: &s.waiting, busy: true, credential: s.credential(r, caller, nil)}
	h := &hold{hs: hs, stream: stream, leave: hs.enter()}
	stream.held = h
	stream.mu.Lock()
	stream.open()
	stream.mu.Unlock()
	if !hs.add(stream) {
		stream.finish()
	}
	stream.out.flush() // on this stack, which is large already
	if d, ok := w.(detacher); !ok || !h.detach(d) {
		h.stay(r.Context())
	}
}

// toStream sends a notification on the newest stream of the session.
func (hs *httpSession) toStream(method string, params []byte) error {
	for stream := hs.newest(); stream != nil; stream = hs.newest() {
		if err := stream.notify(method, params); !errors.Is(err, ErrClosed) {
			return err
		}
	}
	return errors.New("client has no stream open")
}

func (s *Server) delete(w http.ResponseWriter, r *http.Request, caller tool.Caller) {
	id := r.Header.Get(HeaderSession)
	s.mu.Lock()
	hs := s.sessions[id]
	if hs != nil && hs.Caller.Name != caller.Name {
		hs = nil
	}
	if hs != nil {
		s.drop(hs)
	}
	s.mu.Unlock()
	switch {
	case id == "":
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "header %s is missing", HeaderSession))
	case hs == nil:
		refuse(w, http.StatusNotFound, nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "session not found"))
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// session returns the session with that id, if it is the caller's.
func (s *Server) session(id string, caller tool.Caller) *httpSession {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if hs := s.sessions[id]; hs != nil && hs.Caller.Name == caller.Name {
		return hs
	}
	return nil
}

// enter marks the session as in use until the function it returns is called.
func (hs *httpSession) enter() func() {
	hs.busy.Add(1)
	return func() {
		hs.used.Store(time.Now().Unix())
		hs.busy.Add(-1)
	}
}

func (s *Server) endIdle() {
	t := time.NewTicker(max(s.o.IdleTimeout/4, time.Second))
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-t.C:
			limit := now.Add(-s.o.IdleTimeout).Unix()
			s.mu.Lock()
			for _, hs := range s.sessions {
				if hs.busy.Load() == 0 && hs.used.Load() < limit {
					s.drop(hs)
				}
			}
			s.mu.Unlock()
		}
	}
}

// readRequest reads a whole body into one piece.
func readRequest(r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &jsonrpc.TooLargeError{Limit: limit}
	}
	if r.ContentLength >= 0 {
		return readBody(r.Body, int(r.ContentLength))
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = &jsonrpc.TooLargeError{Limit: limit}
	}
	return b, err
}

// believed is how much of a body is made room for on the client's word.
const believed = 64 << 10

// readBody reads a body of n bytes. Room is made as they arrive: whoever announces
// much and sends nothing costs nothing.
func readBody(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, min(n, believed))
	have := 0
	for {
		m, err := io.ReadFull(r, b[have:])
		if have += m; err != nil || have == n {
			return b[:have], err
		}
		b = append(b, make([]byte, min(len(b), n-len(b)))...)
	}
}

func refuse(w http.ResponseWriter, status int, id []byte, e *jsonrpc.Error) {
	e.Status = status
	writeAnswer(w, id, nil, e)
}

var (
	jsonType = []string{"application/json"}
	answers  = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}
)

const (
	// largeAnswer is how long an answer is after which its memory is taken back at once.
	largeAnswer = 8 << 20
	// smallHeap is how much is alive at most for that to cost next to nothing.
	smallHeap = 64 << 20
)

// sweep takes back what a large answer has left. Without it that stays until as much
// again is needed: two answers then lie in memory in the place of one. Where much is
// alive it would cost more than it gives.
func sweep() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() < smallHeap {
		runtime.GC()
	}
}

// writeAnswer writes an answer as JSON; one that is not long in one write. A
// client that is gone is no error here.
func writeAnswer(w http.ResponseWriter, id []byte, result tool.Bytes, e *jsonrpc.Error) {
	if e != nil {
		result = tool.OneOf(e.JSON())
	}
	pooled := answers.Get().(*[]byte)
	defer answers.Put(pooled)
	text := jsonrpc.AppendAnswerHead((*pooled)[:0], id, e != nil)
	size := len(text) + result.Len() + 1
	h := w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(size)}
	if e != nil && e.Status != 0 {
		w.WriteHeader(e.Status)
	}
	if size > inlineSize {
		out := newSlowWriter(w)
		for _, part := range append(append(tool.OneOf(text), result...), []byte{'}'}) {
			out.write(part)
		}
		out.done()
		if size > largeAnswer {
			sweep()
		}
		return
	}
	for _, p := range result {
		text = append(text, p...)
	}
	text = append(text, '}')
	*pooled = text
	_, _ = w.Write(text)
}
