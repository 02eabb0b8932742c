// Package logs reads the stream in which a container engine gives the log of a
// container: lines of two streams in frames, or what a terminal showed.
//
//	err := logs.Read(body, false, func(l logs.Line) bool {
//		fmt.Println(l.Time, l.Stream, l.Text)
//		return true // go on
//	})
//
// Every line is expected to begin with its time, which the engine puts there
// when it is asked to. Memory is bounded by MaxLine, whatever the lengths that
// frames claim; the end of a longer line is dropped.
package logs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/cmdmask"
	"github.com/tenon-mcp/tenon/internal/unseen"
)

// MaxLine is how many bytes of a line are kept.
const MaxLine = 16 << 10

// The streams of a line.
const (
	Stdout   = "stdout"
	Stderr   = "stderr"
	Terminal = "tty" // both, as a terminal shows them
)

// A Line is one line of a log.
type Line struct {
	Time   time.Time // zero where the line has none
	Stream string
	Text   string // without control characters
	Cut    bool   // its end was dropped
}

var (
	// ErrFrame is what a stream that is no sequence of frames gives.
	ErrFrame = errors.New("the engine sent what is no frame of a log")
	// ErrCut is what a stream gives that ends within a frame.
	ErrCut = errors.New("the engine cut the log off in the middle")
)

const headerLen = 8

// Read calls each with the lines of r, in their order, until it returns false.
// Raw is set for the log of a terminal, which has no frames. What the engine
// itself says in the stream, that it cannot go on, is an error.
func Read(r io.Reader, raw bool, each func(Line) bool) error {
	b := bufio.NewReaderSize(r, 32<<10)
	if raw {
		return readRaw(b, each)
	}
	return readFrames(b, each)
}

func readRaw(b *bufio.Reader, each func(Line) bool) error {
	c := &collector{stream: Terminal, each: each}
	chunk := make([]byte, 32<<10)
	for {
		n, err := b.Read(chunk)
		if !c.write(chunk[:n]) {
			return nil
		}
		if err != nil {
			c.end()
			return ended(err)
		}
	}
}

func readFrames(b *bufio.Reader, each func(Line) bool) error {
	streams := map[byte]*collector{
		1: {stream: Stdout, each: each},
		2: {stream: Stderr, each: each},
	}
	streams[0] = streams[1] // input that is echoed
	finish := func(err error) error {
		for _, t := range []byte{1, 2} {
			streams[t].end()
		}
		return err
	}
	var header [headerLen]byte
	chunk := make([]byte, 32<<10)
	for {
		if n, err := io.ReadFull(b, header[:]); err != nil {
			if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
				err = ErrCut
			}
			return finish(ended(err))
		}
		kind, left := header[0], int64(binary.BigEndian.Uint32(header[4:]))
		switch {
		case kind > 3 || header[1] != 0 || header[2] != 0 || header[3] != 0:
			return finish(fmt.Errorf("%w (%x)", ErrFrame, header))
		case kind == 3:
			said, _ := io.ReadAll(io.LimitReader(b, min(left, 300))) // what could be read is said
			return finish(fmt.Errorf("the engine says: %s", clean(string(said))))
		}
		for left > 0 {
			n, err := b.Read(chunk[:min(left, int64(len(chunk)))])
			if !streams[kind].write(chunk[:n]) {
				return nil
			}
			if left -= int64(n); err != nil && left > 0 {
				if errors.Is(err, io.EOF) {
					err = ErrCut
				}
				return finish(ended(err))
			}
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// A collector makes lines of the pieces of one stream.
type collector struct {
	stream  string
	each    func(Line) bool
	line    []byte
	cut     bool
	stopped bool
}

// write takes a piece, and reports whether more is wanted.
func (c *collector) write(p []byte) bool {
	for len(p) > 0 && !c.stopped {
		end := len(p)
		next, whole := end, false
		for i, ch := range p {
			if ch == '\n' {
				end, next, whole = i, i+1, true
				break
			}
		}
		room := MaxLine - len(c.line)
		c.cut = c.cut || end > room
		c.line = append(c.line, p[:min(end, room)]...)
		if whole {
			c.flush()
		}
		p = p[next:]
	}
	return !c.stopped
}

// end takes what follows the last line break for a line.
func (c *collector) end() {
	if len(c.line) > 0 && !c.stopped {
		c.flush()
	}
}

func (c *collector) flush() {
	at, text := splitTime(string(c.line))
	c.stopped = !c.each(Line{Time: at, Stream: c.stream, Text: clean(text), Cut: c.cut})
	c.line, c.cut = c.line[:0], false
}

// splitTime takes the time off the beginning of a line.
func splitTime(s string) (time.Time, string) {
	first, rest, _ := strings.Cut(s, " ")
	if len(first) < len("2006-01-02T15:04:05Z") || len(first) > len(time.RFC3339Nano) {
		return time.Time{}, s
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimRight(first, "\r"))
	if err != nil {
		return time.Time{}, s
	}
	return at.UTC(), rest
}

// clean returns a line as it may be shown: what a terminal would take for orders,
// such as colours, is left out, and a line that a terminal overwrote is what
// stood there last.
func clean(s string) string {
	s = strings.TrimRight(s, "\r")
	if i := strings.LastIndexByte(s, '\r'); i >= 0 {
		s = s[i+1:]
	}
	s = cmdmask.WithoutEscapes(s)
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return unseen.Mark(r)
	}, s)
}
