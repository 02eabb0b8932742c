package lane

import (
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sniffSize is how much of an answer without a Content-Length is kept until the
// handler returns, and its length is known: as much as net/http keeps.
const sniffSize = 2048

// A response is the http.ResponseWriter of a plain request. It gives what net/http
// would give, so its order of decisions is the same.
type response struct {
	c *conn

	header  http.Header
	status  int   // 0 until the handler has given one
	length  int64 // the Content-Length that the handler gave, or -1
	written int64 // by the handler

	held     []byte // the body until the head is made; see sniffSize
	made     bool   // the head is in the output
	chunked  bool
	identity bool // the body ends with the connection, as the handler wants it
	typed    bool // the handler has said what the body is, or that nobody shall guess
	last     bool // of the connection
	timed    bool // the handler has set a deadline for writing
	leaving

	connection []string // what the handler says of it
	trailers   []string
}

var errOver = errors.New("http: the handler has returned")

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header)
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(code int) {
	switch {
	case w.status != 0 || w.over:
		w.c.s.logf("http: superfluous response.WriteHeader call")
		return
	case code < 100 || code > 999:
		panic("invalid WriteHeader code " + strconv.Itoa(code))
	case code < 200 && code != http.StatusSwitchingProtocols:
		w.status = code // for the line alone
		statusLine(w)
		w.status = 0
		_ = w.header.WriteSubset(&w.c.out, exclude[noBody])
		w.c.out.add("\r\n")
		w.c.out.flush()
		return
	}
	w.status = code
	w.readLength()
	statusLine(w)
	w.fields()
}

// readLength takes the Content-Length that the handler gives.
func (w *response) readLength() {
	text, ok := w.header["Content-Length"]
	if !ok {
		return
	}
	n, err := strconv.ParseInt(strings.Join(text, ","), 10, 64)
	if err != nil || n < 0 {
		w.c.s.logf("http: invalid Content-Length of %q", text)
		w.header.Del("Content-Length")
		w.chunked = bodyAllowed(w.status) // though its length may be known in the end
		return
	}
	w.length = n
}

func statusLine(w *response) {
	out := &w.c.out
	out.add("HTTP/1.1 ")
	out.b = strconv.AppendInt(out.b, int64(w.status), 10)
	if text := http.StatusText(w.status); text != "" {
		out.add(" ", text, "\r\n")
		return
	}
	out.add(" status code ", strconv.Itoa(w.status), "\r\n")
}

// Which of the handler's header fields are not written.
const (
	usual     = iota
	noBody    // for an answer that has none
	noContent // for one that has not changed
	unsized   // for one whose length the handler does not know after all
)

var exclude = [...]map[string]bool{
	usual:     {"Connection": true, "Transfer-Encoding": true},
	noBody:    {"Connection": true, "Transfer-Encoding": true, "Content-Length": true},
	noContent: {"Connection": true, "Transfer-Encoding": true, "Content-Length": true, "Content-Type": true},
	unsized:   {"Connection": true, "Transfer-Encoding": true, "Content-Length": true},
}

// fields writes the handler's part of the head: what it changes later is not seen.
func (w *response) fields() {
	h := w.header
	for _, list := range h["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			if name = textproto.CanonicalMIMEHeaderKey(textproto.TrimString(name)); mayTrail(name) {
				w.trailers = append(w.trailers, name)
			}
		}
	}
	coding := h.Get("Transfer-Encoding")
	_, typed := h["Content-Type"]
	w.typed = typed || coding != "" || h.Get("Content-Encoding") != ""
	kind := usual
	switch {
	case w.status == http.StatusNotModified:
		kind = noContent
	case !bodyAllowed(w.status):
		kind = noBody
	case coding != "" && coding != "identity" && w.length >= 0:
		w.c.s.logf("http: WriteHeader called with both Transfer-Encoding of %q and a Content-Length of %d", coding, w.length)
		kind = unsized
		w.chunked = true
	case w.length < 0 && coding == "identity":
		w.identity = true
	case w.length < 0 && coding != "":
		w.chunked = true
	}
	_ = h.WriteSubset(&w.c.out, exclude[kind])
	if _, dated := h["Date"]; !dated {
		w.c.out.add("Date: ")
		w.c.out.b = append(w.c.out.b, w.c.s.date()...)
		w.c.out.add("\r\n")
	}
	w.last = h.Get("Connection") == "close"
	if !w.last {
		w.connection = h["Connection"]
	}
}

// mayTrail reports whether a trailer may have the name.
func mayTrail(name string) bool {
	switch name {
	case "", "Transfer-Encoding", "Content-Length", "Trailer":
		return false
	}
	return true
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// end ends the head, of an answer whose body begins with first. all says that this
// is all of it.
func (w *response) end(first []byte, all bool) {
	w.made = true
	out := &w.c.out
	if bodyAllowed(w.status) {
		switch measured := w.length >= 0 || w.chunked || w.identity; {
		case measured:
		case all && !w.trailing():
			w.length = int64(len(first))
			out.add("Content-Length: ")
			out.b = strconv.AppendInt(out.b, w.length, 10)
			out.add("\r\n")
		default:
			w.chunked = true
		}
		if !w.typed && len(first) > 0 {
			out.add("Content-Type: ", http.DetectContentType(first), "\r\n")
		}
		if w.chunked {
			out.add("Transfer-Encoding: chunked\r\n")
		}
	}
	if w.last = w.last || w.identity || w.c.s.closing.Load(); w.last {
		out.add("Connection: close\r\n")
	} else if len(w.connection) > 0 {
		_ = http.Header{"Connection": w.connection}.Write(out)
	}
	out.add("\r\n")
}

// trailing reports whether the handler has said that trailers will come.
func (w *response) trailing() bool {
	if w.header["Trailer"] != nil {
		return true
	}
	for name := range w.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	if w.over {
		return 0, errOver
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if !bodyAllowed(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	w.written += int64(len(p))
	if w.length >= 0 && w.written > w.length {
		return 0, http.ErrContentLength
	}
	if !w.made {
		if len(w.held)+len(p) <= sniffSize && (!w.typed || w.length < 0) {
			w.held = append(w.held, p...)
			return len(p), nil
		}
		w.begin(p)
	}
	if err := w.body(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// WriteString implements io.StringWriter.
func (w *response) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// begin makes the head of an answer that is not over, and writes what was held.
func (w *response) begin(next []byte) {
	first := w.held
	if room := sniffSize - len(first); !w.typed && room > 0 && len(next) > 0 {
		first = append(slices.Clip(first), next[:min(room, len(next))]...)
	}
	w.end(first, false)
	if len(w.held) > 0 {
		_ = w.body(w.held) // the output keeps the error
		w.held = nil
	}
}

// body writes a part of the body.
func (w *response) body(p []byte) error {
	out := &w.c.out
	if w.chunked {
		out.b = strconv.AppendInt(out.b, int64(len(p)), 16)
		out.add("\r\n")
	}
	out.put(p)
	if w.chunked {
		out.add("\r\n")
	}
	return out.err
}

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController asks for.
func (w *response) FlushError() error {
	if w.over {
		return errOver
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.made {
		w.begin(nil)
	}
	w.c.out.flush()
	return w.c.out.err
}

// SetReadDeadline does nothing: the body is there already.
func (w *response) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline bounds the writes of this answer.
func (w *response) SetWriteDeadline(t time.Time) error {
	w.timed, w.c.out.timed = true, true
	return w.c.rwc.SetWriteDeadline(t)
}

// EnableFullDuplex does nothing: the body is there already.
func (w *response) EnableFullDuplex() error { return nil }

// finish sends what is left of the answer of a handler that has returned, and
// reports whether another one may follow.
func (w *response) finish() bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.made {
		w.end(w.held, true)
		if len(w.held) > 0 {
			_ = w.body(w.held) // the output keeps the error
		}
	}
	if w.chunked {
		w.c.out.add("0\r\n")
		_ = w.trailer().WriteSubset(&w.c.out, nil) // the output keeps the error
		w.c.out.add("\r\n")
	}
	w.over = true
	w.c.out.flush()
	if w.timed {
		w.c.out.untime()
	}
	short := bodyAllowed(w.status) && w.length >= 0 && w.written != w.length
	return !w.last && !short && w.c.out.err == nil
}

// trailer returns the header fields that come after the body.
func (w *response) trailer() http.Header {
	if !w.trailing() {
		return nil
	}
	t := http.Header{}
	for name, values := range w.header {
		if after, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			t[after] = values
		}
	}
	for _, name := range w.trailers {
		if values := w.header[name]; values != nil {
			t[name] = values
		}
	}
	return t
}

// An output collects what is to be written. It keeps its first error, and ends
// the request then.
type output struct {
	c     *conn
	b     []byte
	err   error
	timed bool      // the handler sees to the deadline
	lean  bool      // b is not kept
	moved time.Time // when the deadline was set
}

const (
	// A client that takes nothing of writeChunk bytes for that long, or less, is gone.
	writeBound = time.Minute
	writeChunk = 256 << 10
	// moveEvery is how often the deadline is moved: setting one costs.
	moveEvery = 10 * time.Second
)

// move sees to it that there is a deadline for the next write.
func (o *output) move() {
	if o.timed {
		return
	}
	if now := time.Now(); now.Sub(o.moved) > moveEvery {
		o.moved = now
		_ = o.c.rwc.SetWriteDeadline(now.Add(writeBound + moveEvery)) // a connection that is closed says so when it is written to
	}
}

// untime takes the deadline away.
func (o *output) untime() {
	_ = o.c.rwc.SetWriteDeadline(time.Time{}) // as above
	o.timed, o.moved = false, time.Time{}
}

// add appends texts.
func (o *output) add(texts ...string) {
	for _, s := range texts {
		o.b = append(o.b, s...)
	}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.b = append(o.b, p...)
	return len(p), nil
}

// WriteString implements io.StringWriter.
func (o *output) WriteString(s string) (int, error) {
	o.b = append(o.b, s...)
	return len(s), nil
}

// put appends a part of a body, or writes it without a copy where it is long.
func (o *output) put(p []byte) {
	if len(o.b)+len(p) <= writeSize {
		o.b = append(o.b, p...)
		return
	}
	o.write(p)
}

func (o *output) flush() { o.write(nil) }

// write writes what was collected, and then p.
func (o *output) write(p []byte) {
	defer func() {
		if o.b = o.b[:0]; o.lean {
			o.b = nil
		}
	}()
	if o.err != nil || len(o.b)+len(p) == 0 {
		return
	}
	first := p[:min(len(p), writeChunk)]
	o.move()
	switch {
	case len(p) == 0:
		_, o.err = o.c.rwc.Write(o.b)
	case len(o.b) == 0:
		_, o.err = o.c.rwc.Write(first)
	default:
		_, o.err = (&net.Buffers{o.b, first}).WriteTo(o.c.rwc)
	}
	for p = p[len(first):]; len(p) > 0 && o.err == nil; p = p[len(first):] {
		first = p[:min(len(p), writeChunk)]
		o.move()
		_, o.err = o.c.rwc.Write(first)
	}
	if o.err != nil {
		o.c.gone()
	}
}
