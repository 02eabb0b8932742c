package wire

import (
	"context"
	"slices"
)

// A detacher is a response that can go on without its handler, the stack of that and
// the request: they are most of what a stream takes that only waits. The fast lane has
// such responses, net/http has none.
type detacher interface {
	Detach(h interface {
		Begin()
		Gone()
	}) bool
	Go(f func())
	Release()
}

// A hold is what keeps a stream open for what the server says by itself.
type hold struct {
	hs     *httpSession
	stream *eventStream
	leave  func()

	d    detacher      // or nil, where the handler stays,
	wake chan struct{} // and writes with each token
}

// detach leaves the stream to the response. The request, where it is still needed,
// outlives its own context then.
func (h *hold) detach(d detacher) bool {
	if !d.Detach(h) {
		return false
	}
	h.d = d
	if c := h.stream.credential; c != nil {
		c.r = c.r.WithContext(h.hs.Context())
	}
	return true
}

// stay writes the stream on the goroutine of its handler, until it is over.
func (h *hold) stay(ctx context.Context) {
	h.wake = make(chan struct{}, 1)
	h.Begin()
	for gone := ctx.Done(); ; {
		select {
		case <-h.wake:
			if h.stream.write() {
				return
			}
		case <-gone:
			gone = nil
			h.Gone()
		}
	}
}

// Begin lets the stream be written.
func (h *hold) Begin() { h.stream.begin() }

// Gone ends the stream.
func (h *hold) Gone() { h.stream.finish() }

// start has the stream written. Nobody writes it now.
func (h *hold) start() {
	if h.d == nil {
		h.wake <- struct{}{} // there is room: it was taken when the last writing began
		return
	}
	h.d.Go(func() { h.stream.write() })
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
	if h.d != nil {
		h.d.Release()
	}
}

// add takes a stream in. It reports false where the session has ended.
func (hs *httpSession) add(stream *eventStream) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.streams = append(hs.streams, stream)
	return hs.ctx.Err() == nil
}

// newest returns the newest of the streams that have not ended, or nil.
func (hs *httpSession) newest() *eventStream {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, stream := range slices.Backward(hs.streams) {
		if !stream.over() {
			return stream
		}
	}
	return nil
}

// endStreams is called once the session has ended.
func (hs *httpSession) endStreams() {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, stream := range hs.streams {
		stream.finish()
	}
}
