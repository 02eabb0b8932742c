package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// bufferSize is the most that is read at once, and the longest header line.
const bufferSize = 64 << 10

// errLineTooLong is returned where a line of the head does not fit the buffer.
var errLineTooLong = errors.New("line is too long")

// A Header is what the client reads of the head of an HTTP response.
type Header struct {
	Status  int
	Length  int64 // of the body; -1: unknown
	Chunked bool
	Events  bool // the body is a stream of server-sent events
	Close   bool // the server closes the connection after it
	Session string
}

// bodyless reports whether the response has no body whatever its head says.
func (h *Header) bodyless() bool {
	return h.Status < 200 || h.Status == 204 || h.Status == 304
}

// A Reader reads HTTP/1.1 responses, one after the other, from a connection.
// It knows what a JSON-RPC answer can come in: a body of known length, in
// chunks or up to the end of the connection, plain or as server-sent events.
// It is not safe for concurrent use.
type Reader struct {
	src      io.Reader
	buf      []byte
	pos, end int
}

// NewReader returns a reader of src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, buf: make([]byte, bufferSize)}
}

// Next reads one response to its end. Of a stream of events it puts the first
// message that holds match into the answer, else the whole body; it stores at
// most keep bytes of its head. The answer is empty where the stream held no
// such message.
func (r *Reader) Next(match []byte, keep int, a *Answer) (Header, error) {
	a.reset()
	h, err := r.head()
	for err == nil && h.Status < 200 {
		h, err = r.head() // interim: the true one follows
	}
	if err != nil {
		return h, err
	}
	if h.bodyless() {
		return h, nil
	}
	if !h.Events {
		return h, r.body(&h, func(p []byte) { a.write(p, keep) })
	}
	events := eventStream{match: match, keep: keep, answer: a}
	err = r.body(&h, events.write)
	if !events.found {
		a.reset()
	}
	return h, err
}

// head reads the status line and the header fields.
func (r *Reader) head() (Header, error) {
	h := Header{Length: -1}
	line, err := r.line()
	if err != nil {
		return h, err
	}
	// HTTP/1.1 200 OK
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return h, fmt.Errorf("no HTTP status line: %.60q", line)
	}
	if h.Status, err = strconv.Atoi(string(line[9:12])); err != nil || h.Status < 100 {
		return h, fmt.Errorf("no HTTP status: %.60q", line)
	}
	h.Close = line[7] == '0'
	for {
		line, err := r.line()
		if err != nil {
			return h, atEnd(err)
		}
		if len(line) == 0 {
			return h, nil
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return h, fmt.Errorf("no header field: %.60q", line)
		}
		if err := h.set(name, bytes.Trim(value, " \t")); err != nil {
			return h, err
		}
	}
}

// set takes over a header field.
func (h *Header) set(name, value []byte) error {
	is := func(want string) bool { return len(name) == len(want) && bytes.EqualFold(name, []byte(want)) }
	switch {
	case is("Content-Length"):
		n, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil {
			return fmt.Errorf("Content-Length: %w", err)
		}
		h.Length = int64(n)
	case is("Transfer-Encoding"):
		if !bytes.EqualFold(value, []byte("chunked")) {
			return fmt.Errorf("Transfer-Encoding %.60q is not known", value)
		}
		h.Chunked = true
	case is("Content-Type"):
		kind, _, _ := bytes.Cut(value, []byte(";"))
		h.Events = bytes.EqualFold(bytes.TrimSpace(kind), []byte("text/event-stream"))
	case is("Connection"):
		h.Close = h.Close || bytes.EqualFold(value, []byte("close"))
	case is("Mcp-Session-Id"):
		h.Session = string(value)
	}
	return nil
}

// body hands the body to write, piece by piece.
func (r *Reader) body(h *Header, write func([]byte)) error {
	switch {
	case h.Chunked:
		return r.chunks(write)
	case h.Length >= 0:
		return r.exactly(h.Length, write)
	}
	h.Close = true
	for {
		write(r.take(int64(r.end - r.pos)))
		if err := r.fill(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// chunks hands on a body in chunks, and reads its trailer.
func (r *Reader) chunks(write func([]byte)) error {
	for {
		line, err := r.line()
		if err != nil {
			return atEnd(err)
		}
		digits, _, _ := bytes.Cut(line, []byte(";"))
		size, err := strconv.ParseUint(string(bytes.TrimRight(digits, " \t")), 16, 63)
		if err != nil {
			return fmt.Errorf("size of a chunk: %w", err)
		}
		if size == 0 {
			break
		}
		if err := r.exactly(int64(size), write); err != nil {
			return err
		}
		if line, err = r.line(); err != nil {
			return atEnd(err)
		}
		if len(line) != 0 {
			return fmt.Errorf("a chunk is longer than its size: %.60q", line)
		}
	}
	for {
		line, err := r.line()
		if err != nil {
			return atEnd(err)
		}
		if len(line) == 0 {
			return nil
		}
	}
}

// exactly hands on the next n bytes.
func (r *Reader) exactly(n int64, write func([]byte)) error {
	for n > 0 {
		if r.pos == r.end {
			if err := r.fill(); err != nil {
				return atEnd(err)
			}
		}
		p := r.take(n)
		write(p)
		n -= int64(len(p))
	}
	return nil
}

// take returns the buffered bytes, n at most, as read.
func (r *Reader) take(n int64) []byte {
	p := r.buf[r.pos:r.end]
	if int64(len(p)) > n {
		p = p[:n]
	}
	r.pos += len(p)
	return p
}

// line returns the next line without its end. It is good until the next read.
func (r *Reader) line() ([]byte, error) {
	for {
		if n := bytes.IndexByte(r.buf[r.pos:r.end], '\n'); n >= 0 {
			line := r.take(int64(n + 1))[:n]
			if n > 0 && line[n-1] == '\r' {
				line = line[:n-1]
			}
			return line, nil
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more, moving what is left to the front where room is needed. The
// end of the connection is io.ErrUnexpectedEOF where bytes are left over.
func (r *Reader) fill() error {
	if r.pos == r.end {
		r.pos, r.end = 0, 0
	}
	if r.end == len(r.buf) {
		if r.pos == 0 {
			return errLineTooLong
		}
		r.end = copy(r.buf, r.buf[r.pos:r.end])
		r.pos = 0
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil // an error comes again with the next read
	}
	if errors.Is(err, io.EOF) && r.pos < r.end {
		return io.ErrUnexpectedEOF
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// atEnd turns an end of the connection in the middle of a response into an error.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
