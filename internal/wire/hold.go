package wire

import (
	"net/http"
	"time"
)

// A detacher is a response that can go on without its handler, the stack of that and
// the request: they are most of what a stream takes that only waits. The fast lane has
// such responses, net/http has none.
type detacher interface {
	Detach(hold func(gone <-chan struct{})) bool
}

// A hold is a stream that is kept open for what the server says by itself.
type hold struct {
	s      *Server
	hs     *httpSession
	stream *eventStream
	r      *http.Request // where the credential is looked at again
	leave  func()
	e      ending
}

// detach leaves the stream to the server's own goroutine. The request, where it is
// still needed, outlives its own context then.
func (h *hold) detach(d detacher) bool {
	newSlowWriter(h.stream.w).flush() // on this stack, which is large already
	if h.r != nil {
		h.r = h.r.WithContext(h.hs.Context())
	}
	h.e.begun = true
	return d.Detach(h.goOn)
}

func (h *hold) goOn(gone <-chan struct{}) {
	h.e.client = gone
	h.run()
}

// run writes the stream until the client is gone, the session, or the credential.
func (h *hold) run() {
	defer h.end()
	if h.r != nil {
		t := time.NewTicker(time.Second)
		defer t.Stop()
		h.e.look, h.e.known = t.C, func() bool { return h.s.o.Known(h.r) }
	}
	h.stream.write(&h.e)
}

// end takes the stream out of its session.
func (h *hold) end() {
	h.hs.mu.Lock()
	for i, st := range h.hs.streams {
		if st == h.stream {
			h.hs.streams = append(h.hs.streams[:i], h.hs.streams[i+1:]...)
			break
		}
	}
	h.hs.mu.Unlock()
	h.leave()
}
