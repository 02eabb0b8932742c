package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tenon-mcp/tenon/tool"
)

const (
	// ReadSize is the length from which a line is kept in pieces.
	ReadSize = 64 << 10
	// PieceSize is the size of the pieces that a long line is kept in.
	PieceSize = 256 << 10
	// longer lines than this make the next buffer a larger one.
	largeLine = 8 << 10
	// with less room than this, reading goes on in the next buffer.
	minRoom = 4 << 10
)

// A Line is one line of a stream: the message in it, or what was wrong with it.
type Line struct {
	// Message is nil where Err is set; but with a *TooLargeError it has the ID,
	// where one was found.
	Message *Message
	Text    tool.Bytes // without the line end; only its head where it was too large
	Err     error      // why it is no message
	// large is the scan of what was too large, and broken is what it found wrong.
	large  *Scan
	broken error
}

// Answers returns the id of the request that a line answers which is no message,
// or nil where it has none, and whether the line may be an answer at all.
func (l *Line) Answers() (id []byte, maybe bool) {
	if l.large == nil {
		return Answers(l.Text)
	}
	if id = l.large.ID(); id != nil {
		return id, !l.large.IsCall()
	}
	return nil, l.broken == nil && l.large.IsAnswer()
}

// Answers is Line.Answers for a text that Parse has refused. It is an answer
// where it has a result or an error (after its id the beginning of one is enough),
// names no method, and says that it is JSON-RPC:
// much of what servers print that is no message is JSON too.
func Answers(text tool.Bytes) (id []byte, maybe bool) {
	s := NewScan()
	for _, p := range text {
		if s.Feed(p) != nil {
			break // what was found until here counts
		}
	}
	id = s.ID()
	return id, string(s.spans[1].In(text).Join()) == `"2.0"` && (s.IsAnswer() || id != nil && s.beginsAnswer())
}

// ErrEndless says that a line went on and on, far beyond the limit.
var ErrEndless = errors.New("line is longer than any message could be")

// IsEndless reports whether a line of so many bytes counts as one that never ends.
func IsEndless(bytes, limit int64) bool { return bytes/16 > max(limit, 1<<20) }

// LineReader cuts a stream into lines and scans each as it comes. Lines are not
// copied: what was read into a buffer stays there, and a full buffer is left to
// the lines in it. A long line is kept in pieces.
type LineReader struct {
	r     io.Reader
	max   int64
	buf   []byte
	begin int // unread bytes are buf[begin:end]
	end   int
	large bool // the last line was
}

// NewLineReader returns a reader of the lines of r. A line of more than limit
// bytes is read over, and told as a *TooLargeError.
func NewLineReader(r io.Reader, limit int64) *LineReader {
	return &LineReader{r: r, max: limit}
}

// Next returns the next line that is not blank. Its error is that of the reader;
// what is wrong with a line itself is in the Line.
func (l *LineReader) Next() (Line, error) {
	for {
		ln, err := l.read()
		if err != nil || ln.Err != nil || ln.Text.Len() > 0 {
			return ln, err
		}
	}
}

func (l *LineReader) read() (Line, error) {
	// The usual case: the whole line is in the buffer, or comes with the next read.
	for from := l.begin; ; {
		if i := bytes.IndexByte(l.buf[from:l.end], '\n'); i >= 0 {
			p := bytes.TrimSpace(l.buf[l.begin : from+i : from+i])
			l.begin = from + i + 1
			return l.short(p), nil
		}
		if l.end-l.begin >= ReadSize {
			return l.long()
		}
		if len(l.buf)-l.end < minRoom {
			l.move()
		}
		from = l.end
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if n > 0 || err == nil {
			continue
		}
		if p := bytes.TrimSpace(l.buf[l.begin:l.end]); errors.Is(err, io.EOF) && len(p) > 0 {
			l.begin = l.end
			return l.short(p), nil // the last line has no end
		}
		return Line{}, err
	}
}

// move takes what is unread to a new buffer.
func (l *LineReader) move() {
	size := ReadSize + minRoom
	if l.large || l.end-l.begin > largeLine {
		size = PieceSize
	}
	buf := make([]byte, size)
	l.end = copy(buf, l.buf[l.begin:l.end])
	l.buf, l.begin = buf, 0
}

func (l *LineReader) short(p []byte) Line {
	if len(p) == 0 {
		return Line{}
	}
	l.large = len(p) > largeLine
	text := tool.OneOf(p)
	if int64(len(p)) > l.max {
		return l.tooLarge(text)
	}
	m, err := Parse(text)
	return Line{Message: m, Text: text, Err: err}
}

func (l *LineReader) tooLarge(head tool.Bytes) Line {
	s := NewScan()
	var err error
	for _, p := range head {
		if err = s.Feed(p); err != nil {
			break
		}
	}
	return l.overLimit(s, err, head)
}

func (l *LineReader) overLimit(s *Scan, broken error, head tool.Bytes) Line {
	return Line{Message: &Message{ID: s.ID()}, Text: head, Err: &TooLargeError{l.max}, large: s, broken: broken}
}

// long reads a line that fills the buffer and goes on.
func (l *LineReader) long() (Line, error) {
	var (
		s     = NewScan()
		text  = tool.OneOf(l.buf[l.begin:l.end:l.end])
		total = int64(l.end - l.begin)
		err   = s.Feed(text[0])
		piece []byte
	)
	l.buf, l.begin, l.end = nil, 0, 0
	for ended := false; !ended; {
		if len(piece) == cap(piece) {
			piece = make([]byte, 0, PieceSize)
			if total <= l.max {
				text = append(text, nil)
			}
		}
		n, rerr := l.r.Read(piece[len(piece):cap(piece)])
		if n == 0 && rerr != nil {
			if !errors.Is(rerr, io.EOF) {
				return Line{}, rerr
			}
			break
		}
		p := piece[len(piece) : len(piece)+n]
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			l.keep(p[i+1:])
			p, ended = p[:i], true
		}
		piece = piece[:len(piece)+len(p)]
		total += int64(len(p))
		if err == nil {
			err = s.Feed(p)
		}
		if IsEndless(total, l.max) {
			return Line{}, ErrEndless
		}
		if total > l.max {
			text = text[:1] // dropped but for its head
			piece = piece[:0]
			continue
		}
		text[len(text)-1] = piece
	}
	if total > l.max {
		return l.overLimit(s, err, text), nil
	}
	if err != nil {
		return Line{Text: text, Err: err}, nil
	}
	m, err := s.Message(text)
	return Line{Message: m, Text: text, Err: err}, nil
}

// keep puts back what was read beyond the line.
func (l *LineReader) keep(p []byte) {
	l.buf = make([]byte, max(len(p), ReadSize)+minRoom)
	l.begin, l.end = 0, copy(l.buf, p)
}

// A TooLargeError says that a message was longer than this side takes.
type TooLargeError struct{ Limit int64 }

// Error names the limit.
func (e *TooLargeError) Error() string {
	return "message is larger than the limit of " + formatBytes(e.Limit)
}

func formatBytes(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
