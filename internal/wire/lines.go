package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tenon-mcp/tenon/tool"
)

const (
	readSize  = 64 << 10  // one read; a line that fits is copied out of it
	pieceSize = 256 << 10 // a longer line is read into pieces of this size
)

// A line is one line of a stream: the message in it, or what was wrong with it.
type line struct {
	msg  *Message
	text tool.Bytes // without the line end; only its head where err is set
	err  error      // why it is no message; *TooLargeError has msg.ID where it was found
}

// lineReader cuts a stream into lines and scans each as it comes. A line is
// copied once, and never moved: a long one is kept in pieces.
type lineReader struct {
	r     io.Reader
	max   int64
	buf   []byte
	begin int // unread bytes are buf[begin:end]
	end   int
}

func newLineReader(r io.Reader, limit int64) *lineReader {
	return &lineReader{r: r, max: limit, buf: make([]byte, readSize)}
}

// next returns the next line that is not blank. Its error is that of the reader;
// what is wrong with a line itself is in the line.
func (l *lineReader) next() (line, error) {
	for {
		ln, err := l.read()
		if err != nil || ln.err != nil || ln.text.Len() > 0 {
			return ln, err
		}
	}
}

func (l *lineReader) read() (line, error) {
	// The usual case: the whole line is in the buffer, or comes with the next read.
	for {
		if i := bytes.IndexByte(l.buf[l.begin:l.end], '\n'); i >= 0 {
			p := bytes.TrimSpace(l.buf[l.begin : l.begin+i])
			l.begin += i + 1
			return l.short(p), nil
		}
		if l.begin > 0 {
			l.end = copy(l.buf, l.buf[l.begin:l.end])
			l.begin = 0
		}
		if l.end == len(l.buf) {
			return l.long()
		}
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if n > 0 {
			continue
		}
		if err == nil {
			continue
		}
		if p := bytes.TrimSpace(l.buf[:l.end]); errors.Is(err, io.EOF) && len(p) > 0 {
			l.end = 0
			return l.short(p), nil // the last line has no end
		}
		return line{}, err
	}
}

func (l *lineReader) short(p []byte) line {
	if len(p) == 0 {
		return line{}
	}
	text := tool.OneOf(bytes.Clone(p))
	if int64(len(p)) > l.max {
		return l.tooLarge(text)
	}
	m, err := Parse(text)
	return line{msg: m, text: text, err: err}
}

func (l *lineReader) tooLarge(head tool.Bytes) line {
	s := scanner{keys: envelope, capture: true}
	for _, p := range head {
		if s.feed(p) != nil {
			break
		}
	}
	return line{msg: &Message{ID: s.scalar}, text: head, err: &TooLargeError{l.max}}
}

// long reads a line that fills the buffer and goes on.
func (l *lineReader) long() (line, error) {
	var (
		s     = scanner{keys: envelope, capture: true}
		text  = tool.OneOf(bytes.Clone(l.buf[:l.end]))
		total = int64(l.end)
		err   = s.feed(text[0])
		piece []byte
	)
	l.begin, l.end = 0, 0
	for ended := false; !ended; {
		if len(piece) == cap(piece) {
			piece = make([]byte, 0, pieceSize)
			if total <= l.max {
				text = append(text, nil)
			}
		}
		n, rerr := l.r.Read(piece[len(piece):cap(piece)])
		if n == 0 && rerr != nil {
			if !errors.Is(rerr, io.EOF) {
				return line{}, rerr
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
			err = s.feed(p)
		}
		if total > l.max {
			text = text[:1] // dropped but for its head
			piece = piece[:0]
			continue
		}
		text[len(text)-1] = piece
	}
	if total > l.max {
		return line{msg: &Message{ID: s.scalar}, text: text, err: &TooLargeError{l.max}}, nil
	}
	if err != nil {
		return line{text: text, err: err}, nil
	}
	m, err := s.message(text)
	return line{msg: m, text: text, err: err}, nil
}

// keep puts back what was read beyond the line.
func (l *lineReader) keep(p []byte) {
	if len(p) > len(l.buf) {
		l.buf = make([]byte, len(p))
	}
	l.begin, l.end = 0, copy(l.buf, p)
}

func formatBytes(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
