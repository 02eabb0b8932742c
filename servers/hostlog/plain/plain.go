// Package plain reads log files of text: syslog of both kinds, lines that begin with
// a time, logs of nginx and Apache, JSON, key=value, klog. A line that begins no
// entry, such as one of a stack trace, belongs to the entry before it.
//
//	p := plain.Parser{Zone: time.Local, Ref: mtime}
//	begin := p.Seek(file, size, end)                    // a binary search
//	err := p.Backward(file, begin, func(r plain.Record) bool {
//		return r.Time.After(start)                      // stops at an older one
//	})
//
// A file is read in blocks, from its end or from the place that was sought, so that
// a question about the last hour costs what the last hour wrote.
package plain

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"
)

// Unknown is the level of a record that has none.
const Unknown = 8

// ErrEndless is the error of a file that is no log of lines from some place on, such
// as one that is a hole.
var ErrEndless = fmt.Errorf("no line ends within %d MiB", furthest>>20)

// Bounds on one entry.
const (
	block    = 64 << 10
	maxLine  = 32 << 10 // bytes of a line; the rest is cut off
	maxLines = 200      // lines of an entry; the last ones are cut off
	furthest = 16 << 20 // bytes that are looked through for the beginning of a line
)

// A Record is one entry of a log.
type Record struct {
	Time    time.Time // zero where the file has none
	Level   int       // 0 (emergency) to 7 (debug), or Unknown
	Host    string
	Program string
	PID     string
	Text    string // without what the other fields say
	Cut     bool   // it was longer
}

// A Parser knows what a line alone does not say.
type Parser struct {
	Zone *time.Location // of times without a zone
	Ref  time.Time      // when the file was last written, for times without a year
}

// Sample tells from the beginning of a file whether its entries have times, and the
// time of the first one. Bytes of zero mean that it is no text.
func (p Parser) Sample(head []byte) (first time.Time, dated, text bool) {
	if bytes.IndexByte(head, 0) >= 0 {
		return time.Time{}, false, false
	}
	for range 500 {
		line, rest, _ := bytes.Cut(head, []byte{'\n'})
		if r, ok := p.line(line, p.Ref); ok {
			return r.Time, true, true
		}
		if head = rest; len(rest) == 0 {
			break
		}
	}
	return time.Time{}, false, true
}

func (p Parser) line(line []byte, ref time.Time) (Record, bool) {
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	r, ok := parse(string(line[:min(len(line), maxLine)]), p.Zone, ref)
	r.Cut = r.Cut || len(line) > maxLine
	return r, ok
}

// join adds the lines that belong to an entry, which are in order.
func (r *Record) join(more []string) {
	if len(more) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString(r.Text)
	for _, line := range more {
		if b.Len() > maxLine {
			r.Cut = true
			break
		}
		b.WriteByte('\n')
		b.WriteString(line)
	}
	r.Text = b.String()
}

// Backward passes the entries that end before an offset to visit, newest first,
// until it returns false. Where the file is not dated each line is an entry.
func (p Parser) Backward(r io.ReaderAt, from int64, dated bool, visit func(Record) bool) error {
	l := &lines{r: r, at: from}
	ref := p.Ref
	var more []string // lines of the entry that is not yet found, last one first
	cut := false
	for {
		line, ok, err := l.prev()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if !dated {
			if len(line) > 0 && !visit(Record{Time: p.Ref, Level: guess(string(line)), Text: string(line), Cut: l.cut}) {
				return nil
			}
			continue
		}
		rec, starts := p.line(line, ref)
		if !starts {
			if more = append(more, string(line)); len(more) > maxLines {
				more, cut = more[1:], true
			}
			cut = cut || l.cut
			continue
		}
		ref = rec.Time
		reverse(more)
		rec.join(more)
		rec.Cut = rec.Cut || cut || l.cut
		more, cut = more[:0:0], false
		if !visit(rec) {
			return nil
		}
	}
	if len(more) > 0 { // the file begins within an entry
		reverse(more)
		rec := Record{Level: guess(more[0]), Text: more[0], Cut: cut}
		rec.join(more[1:])
		visit(rec)
	}
	return nil
}

func reverse(s []string) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
}

// Forward passes the entries of a stream to visit, oldest first.
func (p Parser) Forward(r io.Reader, visit func(Record) bool) error {
	l := &ahead{r: r, buf: make([]byte, 0, block)}
	var rec Record
	var more []string
	open := false
	flush := func() bool {
		rec.join(more)
		more = nil
		return !open || visit(rec)
	}
	for {
		line, cut, err := l.next()
		if line == nil {
			if !flush() || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		next, starts := p.line(line, p.Ref)
		if !starts && open {
			if len(more) < maxLines {
				more = append(more, string(line[:min(len(line), maxLine)]))
			} else {
				rec.Cut = true
			}
			continue
		}
		if !flush() {
			return nil
		}
		if !starts {
			next = Record{Level: guess(string(line)), Text: string(line[:min(len(line), maxLine)])}
		}
		rec, open = next, true
		rec.Cut = rec.Cut || cut
	}
}

// Seek returns the offset behind the last entry of a dated file that is not later
// than t. It expects times that climb.
func (p Parser) Seek(r io.ReaderAt, size int64, t time.Time) int64 {
	from := sort.Search(int(size), func(i int) bool {
		at, _, ok := p.firstFrom(r, int64(i), size)
		return !ok || at.After(t)
	})
	if _, begin, ok := p.firstFrom(r, int64(from), size); ok {
		return begin
	}
	return size
}

// firstFrom returns the time of the first entry whose line begins behind an offset,
// or at the beginning of the file, and where it begins.
func (p Parser) firstFrom(r io.ReaderAt, from, size int64) (at time.Time, begin int64, ok bool) {
	const far = 16 * block // an entry may be long
	b := make([]byte, 0, 8<<10)
	base := from
	skip := from > 0 // the line that the offset stands in
	for base < size && base-from < far {
		n, _ := r.ReadAt(b[len(b):cap(b)], base+int64(len(b)))
		b = b[:len(b)+n]
		for {
			i := bytes.IndexByte(b, '\n')
			if i < 0 && (len(b) < cap(b) && n > 0 || len(b) == 0) {
				break
			}
			end := i
			if i < 0 {
				end = len(b) // a line that is longer than the buffer, or the last one
			}
			if !skip {
				if rec, ok := p.line(b[:end], p.Ref); ok {
					return rec.Time, base, true
				}
			}
			skip = i < 0
			used := min(end+1, len(b))
			base += int64(used)
			b = b[:copy(b, b[used:])]
		}
		if n == 0 {
			break
		}
	}
	return time.Time{}, 0, false
}

// Lines reads lines from an offset back to the beginning of a file.
type lines struct {
	r   io.ReaderAt
	at  int64  // where buf begins in the file
	buf []byte // what is read and not yet returned
	cut bool   // the line that was returned was longer
	end bool   // the first newline, which ends the last line, is behind us
	far int64  // bytes that were read for this line
}

// prev returns the line before the last one that was returned. It is valid until the
// next call.
func (l *lines) prev() (line []byte, ok bool, err error) {
	l.cut, l.far = false, 0
	for {
		if i := bytes.LastIndexByte(l.buf, '\n'); i >= 0 {
			line = l.buf[i+1:]
			l.buf = l.buf[:i]
			if !l.end && len(line) == 0 {
				l.end = true
				continue
			}
			l.end = true
			return line, true, nil
		}
		if l.at == 0 {
			if l.buf == nil || len(l.buf) == 0 && !l.end {
				return nil, false, nil
			}
			line, l.buf, l.end = l.buf, nil, false
			return line, true, nil
		}
		if len(l.buf) > maxLine {
			l.buf, l.cut = l.buf[:maxLine], true // only its beginning is of use
		}
		n := min(l.at, block)
		if l.far += n; l.far > furthest {
			return nil, false, fmt.Errorf("%w before byte %d", ErrEndless, l.at)
		}
		b := make([]byte, int(n)+len(l.buf))
		if _, err := l.r.ReadAt(b[:n], l.at-n); err != nil && !errors.Is(err, io.EOF) {
			return nil, false, err
		}
		copy(b[n:], l.buf)
		l.buf, l.at = b, l.at-n
	}
}

// Ahead reads lines of a stream, of which it keeps the beginning where they are long.
type ahead struct {
	r    io.Reader
	buf  []byte
	used int
	err  error
}

func (l *ahead) next() (line []byte, cut bool, err error) {
	for {
		if i := bytes.IndexByte(l.buf[l.used:], '\n'); i >= 0 {
			line = l.buf[l.used : l.used+i]
			l.used += i + 1
			return line, cut, nil
		}
		if l.err != nil {
			if line = l.buf[l.used:]; len(line) > 0 {
				l.used = len(l.buf)
				return line, cut, nil
			}
			return nil, false, l.err
		}
		l.buf = l.buf[:copy(l.buf, l.buf[l.used:])]
		l.used = 0
		if len(l.buf) > maxLine {
			l.buf, cut = l.buf[:maxLine], true
		}
		var n int
		n, l.err = l.r.Read(l.buf[len(l.buf):cap(l.buf)])
		l.buf = l.buf[:len(l.buf)+n]
	}
}
