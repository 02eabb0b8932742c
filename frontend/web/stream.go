package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// boundBody returns a handler under which the body of a request must arrive
// within d. The server's own ReadTimeout would go on after the body and end
// answers that take long; this bound ends with the body.
func boundBody(d time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		ctl := http.NewResponseController(w)
		if err := ctl.SetReadDeadline(time.Now().Add(d)); err != nil {
			next.ServeHTTP(w, r) // a connection without deadlines, as in tests of handlers
			return
		}
		r.Body = &timedBody{ReadCloser: r.Body, ctl: ctl} // nobody else has this request
		next.ServeHTTP(w, r)
	})
}

// limitBody returns a handler under which the body of a request has at most limit
// bytes: whoever reads further gets an *http.MaxBytesError.
func limitBody(limit int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody && (r.ContentLength < 0 || r.ContentLength > limit) {
			r.Body = http.MaxBytesReader(w, r.Body, limit)
		}
		next.ServeHTTP(w, r)
	})
}

// A timedBody lifts the deadline of its connection when it has been read.
type timedBody struct {
	io.ReadCloser
	ctl *http.ResponseController
}

// Read reads from the body.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.ctl.SetReadDeadline(time.Time{}) // it could be set, so it can be lifted
	}
	return n, err
}

// endStreams returns a handler under which event streams end once stop is done.
// A stream is a GET that accepts events: it never ends by itself. A POST that is
// answered by events is a call, and is waited for.
func endStreams(stop context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(stop, cancel)()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
