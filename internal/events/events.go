// Package events reads a text/event-stream, by section 9.2.6 of the HTML standard, whose
// events are messages of JSON-RPC. It holds no more of one than may be, and moves nothing
// that is long.
//
//	events := events.NewReader(body, 64<<20)
//	defer events.Release()
//	for {
//		e, err := events.Next() // an error of body ends it
//		…
//		m, err := e.Message()
//	}
package events

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// buffer is the size of the buffer below a stream of events. A field that
// is longer is read into pieces.
const buffer = 32 << 10

// MaxID is how long an id may be, in bytes, that is remembered.
const MaxID = 4 << 10

// maxRetry bounds the milliseconds that a server can make this side wait before
// it comes back for more events.
const maxRetry = 60_000

// An Event is one event of a text/event-stream. Its fields are valid until the
// next one is read, but for Data, which is the caller's.
type Event struct {
	Name string // "message" where the stream does not say
	Data tool.Bytes
	Err  error         // *TooLargeError; Data is only its head then
	scan *jsonrpc.Scan // has read Data, where that is long
}

// Message returns the message in the event; of an answer that is too large or is
// none for another reason, its id.
func (e *Event) Message() (m *jsonrpc.Message, err error) {
	switch {
	case e.Err != nil && (e.scan == nil || e.scan.IsCall() || e.scan.ID() == nil && !e.scan.IsAnswer()):
		return nil, e.Err // no answer, as far as it could be read
	case e.Err != nil:
		return &jsonrpc.Message{ID: e.scan.ID()}, e.Err
	case e.scan != nil:
		m, err = e.scan.Message(e.Data)
	default:
		m, err = jsonrpc.Parse(e.Data)
	}
	if err != nil {
		if id, maybe := jsonrpc.Answers(e.Data); maybe && id != nil {
			return &jsonrpc.Message{ID: id}, fmt.Errorf("the answer is no message: %w", err)
		}
	}
	return m, err
}

// Head returns the first bytes of the data, to show them.
func (e *Event) Head() []byte {
	if len(e.Data) == 0 {
		return nil
	}
	return e.Data[0][:min(len(e.Data[0]), 256)]
}

// A Reader cuts a text/event-stream into events, by section 9.2.6 of the
// HTML standard. Memory is bounded: data by max, all else by buffer.
// Data is copied once and never moved: what is long is kept in pieces, and
// scanned as it comes.
//
// It departs from the standard where the stream ends in the middle of an event:
// where it ended as it should, and the event has data, that is an event too.
type Reader struct {
	r   io.Reader
	max int64

	buf   []byte
	begin int // unread bytes are buf[begin:end]
	end   int
	err   error // what the reader ended with
	began bool  // a byte order mark can no longer come
	crlf  bool  // the last line ended with CR: an LF that follows belongs to it

	Alive  bool          // an event came, if only one with an id and no data
	LastID []byte        // id of the last event that was complete
	Retry  time.Duration // what the server asked for; 0 where it did not

	draft
}

// A draft is the event that is being read.
type draft struct {
	name    string
	id      []byte
	hasID   bool
	hasData bool
	size    int64 // of the data
	data    tool.Bytes
	scan    *jsonrpc.Scan
	broken  error // what the scanner found wrong
}

var readers = sync.Pool{New: func() any { return &Reader{buf: make([]byte, buffer)} }}

// NewReader returns a reader of the events in r. Release it after use.
func NewReader(r io.Reader, limit int64) *Reader {
	l := readers.Get().(*Reader)
	*l = Reader{r: r, max: limit, buf: l.buf, LastID: l.LastID[:0], draft: draft{id: l.id[:0]}}
	return l
}

// Release gives the buffers back. The reader must not be used afterwards.
func (l *Reader) Release() {
	l.r, l.data, l.scan = nil, nil, nil
	if len(l.buf) <= jsonrpc.ReadSize {
		readers.Put(l)
	}
}

// Reset goes on with the stream r, which resumes the one before. What was read
// of an event is dropped.
func (l *Reader) Reset(r io.Reader) {
	l.clear()
	l.r, l.err, l.Alive = r, nil, false
	l.begin, l.end, l.began, l.crlf = 0, 0, false, false
}

// Ended reports whether the stream has ended as it should.
func (l *Reader) Ended() bool { return errors.Is(l.err, io.EOF) }

func (l *Reader) clear() {
	l.draft = draft{id: l.id[:0]}
}

// Next returns the next event that has data. The error is that of the reader.
func (l *Reader) Next() (Event, error) {
	for {
		line, err := l.line()
		switch {
		case err == nil && len(line) > 0:
			l.field(line)
		case err == nil:
			if e, ok := l.dispatch(); ok {
				return e, nil
			}
		case errors.Is(err, errLongField):
			if err = l.longField(); err != nil {
				return Event{}, err
			}
		case errors.Is(err, io.EOF):
			if e, ok := l.dispatch(); ok {
				return e, nil
			}
			return Event{}, err
		default:
			return Event{}, err
		}
	}
}

// dispatch ends the event, and reports whether it has something to show.
func (l *Reader) dispatch() (Event, bool) {
	if l.hasID {
		l.LastID = append(l.LastID[:0], l.id...)
	}
	e := Event{Name: l.name, Data: l.data, scan: l.scan}
	if e.Name == "" {
		e.Name = "message"
	}
	if l.size > l.max {
		e.Err = &jsonrpc.TooLargeError{Limit: l.max}
		if l.broken != nil && l.scan.ID() == nil {
			e.scan = nil // no message, of whatever length
		}
	} else if l.broken != nil {
		e.scan = nil // Parse finds it again, and says what it is
	}
	found := l.size > 0
	l.Alive = l.Alive || found || l.hasID
	l.clear()
	return e, found
}

var errLongField = errors.New("field is longer than the buffer")

// line returns the next line without its end, and errLongField where it does not
// fit into the buffer.
func (l *Reader) line() ([]byte, error) {
	seen := l.begin
	for {
		if l.crlf && l.begin < l.end {
			l.crlf = false
			if l.buf[l.begin] == '\n' {
				l.begin++
			}
			seen = l.begin
		}
		if !l.skipMark() {
			if i := lineEnd(l.buf[seen:l.end]); i >= 0 {
				line := l.buf[l.begin : seen+i]
				l.crlf = l.buf[seen+i] == '\r'
				l.begin = seen + i + 1
				return line, nil
			}
			seen = l.end
		}
		if l.err != nil {
			return l.rest()
		}
		if l.begin > 0 {
			l.end = copy(l.buf, l.buf[l.begin:l.end])
			seen -= l.begin
			l.begin = 0
		}
		if l.end == len(l.buf) {
			return nil, errLongField
		}
		var n int
		n, l.err = l.r.Read(l.buf[l.end:])
		l.end += n
	}
}

// rest returns the last line of a stream that ended without a line end.
func (l *Reader) rest() ([]byte, error) {
	line := l.buf[l.begin:l.end]
	l.begin = l.end
	if len(line) > 0 && errors.Is(l.err, io.EOF) {
		return line, nil
	}
	return nil, l.err
}

// skipMark skips a byte order mark at the start of the stream, and reports
// whether it must see more of it first.
func (l *Reader) skipMark() (more bool) {
	const mark = "\xef\xbb\xbf"
	if l.began {
		return false
	}
	p := l.buf[l.begin:l.end]
	if len(p) < len(mark) && string(p) == mark[:len(p)] && l.err == nil {
		return true
	}
	l.began = true
	if bytes.HasPrefix(p, []byte(mark)) {
		copy(p, p[len(mark):])
		l.end -= len(mark)
	}
	return false
}

// lineEnd returns the index of the first CR or LF in p, or -1.
func lineEnd(p []byte) int {
	i := bytes.IndexByte(p, '\n')
	if i >= 0 {
		p = p[:i]
	}
	if j := bytes.IndexByte(p, '\r'); j >= 0 {
		return j
	}
	return i
}

// field takes one line that is not blank.
func (l *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte{':'})
	value = bytes.TrimPrefix(value, []byte{' '})
	switch string(name) {
	case "data":
		l.startData()
		l.addData(value)
	case "event":
		l.name = intern(value)
	case "id":
		// What cannot go back in a header is no use as an id.
		if len(value) <= MaxID && !bytes.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			l.id, l.hasID = append(l.id[:0], value...), true
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
			l.Retry = time.Duration(min(max(ms, 1), maxRetry)) * time.Millisecond
		}
	}
}

func intern(b []byte) string {
	switch string(b) {
	case "", "message":
		return "message"
	case "endpoint":
		return "endpoint"
	}
	return string(b[:min(len(b), 64)])
}

// startData begins a data field: the fields of one event are joined with line
// ends.
func (l *Reader) startData() {
	if l.hasData {
		l.addData([]byte{'\n'})
	}
	l.hasData = true
}

func (l *Reader) addData(p []byte) {
	if l.size += int64(len(p)); l.size > l.max {
		l.startScan()
	}
	if l.scan != nil && l.broken == nil {
		l.broken = l.scan.Feed(p)
	}
	last := len(l.data) - 1
	switch {
	case len(p) == 0:
	case last < 0:
		l.data = tool.OneOf(bytes.Clone(p))
	case l.size > l.max:
		l.data = l.data[:1] // the head will do to show
	case len(l.data[last])+len(p) <= max(cap(l.data[last]), buffer):
		l.data[last] = append(l.data[last], p...)
	default:
		l.data = append(l.data, append(make([]byte, 0, max(NextPiece(l.size), len(p))), p...))
	}
}

// NextPiece returns how large the next piece of a text should be, of which n
// bytes are there: no more is held in vain than is there.
func NextPiece(n int64) int { return int(min(max(n, buffer), jsonrpc.PieceSize)) }

// startScan scans the data so far, so that the id is found even in what is too
// large to be kept.
func (l *Reader) startScan() {
	if l.scan != nil {
		return
	}
	l.scan = jsonrpc.NewScan()
	for _, p := range l.data {
		if l.broken == nil {
			l.broken = l.scan.Feed(p)
		}
	}
}

// longField reads a field that fills the buffer and goes on.
func (l *Reader) longField() error {
	name, value, found := bytes.Cut(l.buf[l.begin:l.end], []byte{':'})
	isData := found && string(name) == "data"
	if isData {
		l.startScan()
		l.startData()
		l.addData(bytes.TrimPrefix(value, []byte{' '}))
	}
	if found && string(name) == "event" {
		l.name = intern(value) // no name that anybody knows
	}
	l.begin, l.end = 0, 0
	var piece []byte
	var read int64
	for {
		keep := isData && l.size <= l.max
		switch {
		case !keep:
			piece = l.buf[:0]
		case len(piece) == cap(piece):
			piece = make([]byte, 0, NextPiece(l.size))
			l.data = append(l.data, nil)
		}
		n, ended, err := l.readLong(piece[len(piece):cap(piece)], isData)
		if err != nil {
			return err
		}
		if keep {
			piece = piece[:len(piece)+n]
			l.data[len(l.data)-1] = piece
		}
		if isData && l.size > l.max {
			l.data = l.data[:1] // the head will do to show
		}
		if ended {
			return nil
		}
		if read += int64(n); jsonrpc.IsEndless(read, l.max) {
			return jsonrpc.ErrEndless
		}
	}
}

// readLong reads into p what comes next of a field, and reports whether the
// field ends there. What was read beyond its end is put back.
func (l *Reader) readLong(p []byte, isData bool) (n int, ended bool, err error) {
	if l.err != nil {
		if errors.Is(l.err, io.EOF) {
			return 0, true, nil
		}
		return 0, false, l.err
	}
	n, l.err = l.r.Read(p)
	i := lineEnd(p[:n])
	if ended = i >= 0; !ended {
		i = n
	}
	if isData {
		l.size += int64(i)
		if l.broken == nil {
			l.broken = l.scan.Feed(p[:i])
		}
	}
	if !ended {
		return n, false, nil
	}
	l.crlf = p[i] == '\r'
	rest := p[i+1 : n]
	if len(rest) > len(l.buf) {
		l.buf = make([]byte, len(rest))
	}
	l.begin, l.end = 0, copy(l.buf, rest) // may overlap p
	return i, true, nil
}
