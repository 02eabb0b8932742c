package results

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/tool"
)

// Bounds on what one reading gives and takes.
const (
	DefaultChars = 16_000
	MaxChars     = 100_000
	MaxContext   = 20               // lines around a match
	maxPattern   = 1000             // bytes of a pattern, a query or a path
	searchTime   = 10 * time.Second // for one search
)

// ReadOptions say what to read behind a handle. At most one of Grep and JQ is set.
type ReadOptions struct {
	ID     string
	Offset int // characters to leave out first; with JQ, of its output
	Limit  int // characters to give at most; 0 is DefaultChars, and MaxChars is the most
	Page   int // in place of Offset: the first page of Limit characters is 1
	// Grep is a regular expression in the syntax of RE2. The lines that it matches
	// are given, each with its number, its place, and Context lines around it.
	Grep    string
	Context int
	JQ      string // a query in the language jq, on JSON
}

// A Reading is what was read.
type Reading struct {
	tool.Handle

	Chars  int    `json:"chars"`  // of the whole
	Offset int    `json:"offset"` // of the text in the whole; with JQ, in its output
	Text   string `json:"text"`
	// Next is the offset to read on at; nil where there is no more.
	Next *int `json:"next_offset,omitempty"`
	// Matches is the number of matches in the text, of a search.
	Matches *int `json:"matches,omitempty"`
	// FirstLines are those of the whole, where a search or a query gave nothing.
	FirstLines string `json:"first_lines,omitempty"`
	// Untrusted says that strangers wrote the text; who knows it sets it.
	Untrusted bool `json:"untrusted,omitempty"`
}

// Read reads behind a handle of the caller. The error is a *tool.Error of kind
// NotFound, Invalid, Timeout or Canceled with what to do next, or that of the disk.
func (s *Store) Read(ctx context.Context, caller string, o ReadOptions) (*Reading, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	it, err := s.find(caller, o.ID)
	if err != nil {
		return nil, err
	}
	r := &Reading{Handle: it.handle, Chars: it.chars, Offset: o.Offset}
	switch {
	case o.Grep != "":
		err = it.grep(ctx, r, o)
	case o.JQ != "":
		err = s.query(ctx, it, r, o)
	default:
		err = it.page(r, o)
	}
	if err != nil {
		return nil, err
	}
	if r.Text == "" {
		r.FirstLines = it.first
	}
	return r, nil
}

// check checks the options and fills in what they leave out.
func (o *ReadOptions) check() error {
	switch {
	case o.ID == "":
		return invalid("id is missing: the id of the handle, such as h_…")
	case o.Offset < 0 || o.Page < 0:
		return invalid("offset and page must not be below zero")
	case o.Page > 0 && o.Offset > 0:
		return invalid("give offset or page, not both")
	case o.Page > 0 && (o.Grep != "" || o.JQ != ""):
		return invalid("page is for reading without grep and jq: go on with offset")
	case o.Limit < 0 || o.Limit > MaxChars:
		return invalid("limit must be a number of characters from 1 to %d", MaxChars)
	case o.Grep != "" && o.JQ != "":
		return invalid("give grep or jq, not both")
	case o.Context < 0 || o.Context > MaxContext:
		return invalid("context must be a number of lines from 0 to %d", MaxContext)
	case max(len(o.Grep), len(o.JQ)) > maxPattern:
		return invalid("grep and jq must not be longer than %d bytes", maxPattern)
	}
	if o.Limit == 0 {
		o.Limit = DefaultChars
	}
	if o.Page > 0 {
		if o.Page > 1<<31/o.Limit {
			return invalid("there is no page %d", o.Page)
		}
		o.Offset = (o.Page - 1) * o.Limit
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &tool.Error{Kind: tool.Invalid, Text: fmt.Sprintf(format, args...) + "."}
}

// page reads o.Limit characters.
func (it *item) page(r *Reading, o ReadOptions) error {
	if o.Offset > it.chars {
		return invalid("offset %d is behind the end: the whole has %d characters", o.Offset, it.chars)
	}
	body, err := it.seek(o.Offset)
	if err != nil {
		return err
	}
	defer body.Close()
	var b strings.Builder
	n := 0
	for ; n < o.Limit; n++ {
		c, _, err := body.ReadRune() // what is no UTF-8 is given as U+FFFD
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		b.WriteRune(c)
	}
	r.Offset, r.Text = o.Offset, b.String()
	if end := o.Offset + n; end < it.chars {
		r.Next = &end
	}
	return nil
}

// A reader reads a body.
type reader struct {
	*bufio.Reader
	io.Closer
}

// seek returns a reader of the body from that character on.
func (it *item) seek(char int) (*reader, error) {
	body, err := it.open()
	if err != nil {
		return nil, err
	}
	r := &reader{nil, body}
	mark := min(char/markEvery, len(it.marks)-1)
	if mark > 0 {
		if _, err := body.Seek(it.marks[mark], io.SeekStart); err != nil {
			return nil, errors.Join(err, body.Close())
		}
		char -= mark * markEvery
	}
	r.Reader = bufio.NewReaderSize(body, pieceSize)
	for ; char > 0; char-- {
		if _, _, err := r.ReadRune(); err != nil {
			return nil, errors.Join(err, body.Close())
		}
	}
	return r, nil
}

// all returns the whole body.
func (it *item) all() ([]byte, error) {
	if it.path == "" {
		return it.body, nil
	}
	f, err := it.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := make([]byte, it.handle.Size)
	_, err = io.ReadFull(f, all)
	return all, err
}

// textual reports whether the body is for reading.
func (it *item) textual() bool { return it.handle.Kind == KindText || it.handle.Kind == KindJSON }

// clipRunes returns at most n characters of s, and whether that is all.
func clipRunes(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, true
	}
	for i := range s {
		if n == 0 {
			return s[:i], false
		}
		n--
	}
	return s, true
}

// starts counts the characters that start in p. Unlike a count of whole ones it
// is right for the pieces of a text as well.
func starts(p []byte) int {
	n := 0
	for _, c := range p {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}
