package results

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/expression"
	"github.com/tenon-mcp/tenon/tool"
)

const (
	// pieceSize is what of a line is searched at once. A match that lies across two
	// pieces of a longer line is not found.
	pieceSize = 64 << 10
	// longLine is the length from which on only the surroundings of a match are
	// given, aroundMatch bytes on each side.
	longLine    = 1000
	aroundMatch = 200
	maxMatches  = 500
)

// A search is one run of grep over a body.
type search struct {
	re      *expression.Expression
	context int
	limit   int // characters that may still be given

	out     strings.Builder
	matches int
	before  []string // the last lines that did not match
	after   int      // lines still to be given behind a match
	gap     bool     // lines were left out since the last one given
	full    bool
}

// grep gives the lines that match.
func (it *item) grep(ctx context.Context, r *Reading, o ReadOptions) error {
	if !it.textual() {
		return invalid("the handle holds %s, which cannot be searched: read it with offset and limit, or pass it to a tool as {\"$handle\": %q}", it.handle.Kind, it.handle.ID)
	}
	re, err := expression.Foreign(o.Grep)
	if err != nil {
		return invalid("grep %s.", err)
	}
	if o.Offset > it.chars {
		return invalid("offset %d is behind the end: the whole has %d characters", o.Offset, it.chars)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, searchTime, &tool.Error{
		Kind: tool.Timeout, Text: fmt.Sprintf("The search took longer than %s. Make the pattern simpler, or begin further on with offset.", searchTime),
	})
	defer cancel()
	body, err := it.seek(o.Offset)
	if err != nil {
		return err
	}
	defer body.Close()
	s := &search{re: re, context: o.Context, limit: o.Limit}
	at, line := o.Offset, 1
	if o.Offset > 0 {
		line = 0 // its number is not known
	}
	for !s.full {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p, err := body.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(p) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) && len(p) < pieceSize {
			return err
		}
		whole := bytes.HasSuffix(p, []byte("\n"))
		s.piece(bytes.TrimRight(p, "\r\n"), line, at)
		if s.full {
			break
		}
		at += starts(p)
		if whole && line > 0 {
			line++
		}
	}
	r.Text, r.Matches = s.out.String(), &s.matches
	if s.full {
		r.Next = &at
		if s.matches == 0 || at == o.Offset { // not even one fits: give the place, and go on behind it
			next := min(o.Offset+pieceSize, it.chars)
			r.Next = &next
		}
	}
	return nil
}

// piece searches one line, or a piece of a long one, that begins at the
// character at.
func (s *search) piece(p []byte, line, at int) {
	found := s.re.FindIndex(p)
	switch {
	case found == nil && s.after > 0:
		s.after--
		s.give(shown(p, 0, 0), line, at, '-')
	case found == nil:
		s.pass(p)
	case len(p) <= longLine:
		s.match(string(p), line, at)
	default:
		given := 0 // up to where the last excerpt goes
		for _, m := range s.re.FindAllIndex(p, maxMatches) {
			if m[1] <= given && !s.full && s.matches < maxMatches {
				s.matches++ // it is in there already
				continue
			}
			s.match(shown(p, m[0], m[1]), line, at+starts(p[:m[0]]))
			_, given = around(p, m[0], m[1])
		}
	}
}

// pass remembers a line that did not match.
func (s *search) pass(p []byte) {
	if s.context == 0 {
		s.gap = true
		return
	}
	if len(s.before) == s.context {
		s.before = s.before[1:]
		s.gap = true
	}
	s.before = append(s.before, shown(p, 0, 0))
}

// match gives a line that matched, and those before it.
func (s *search) match(text string, line, at int) {
	if s.full || s.matches == maxMatches {
		s.full = true
		return
	}
	if s.gap && s.context > 0 && s.out.Len() > 0 {
		s.add("--\n")
	}
	for i, b := range s.before {
		n := 0
		if line > 0 {
			n = line - len(s.before) + i
		}
		s.give(b, n, -1, '-')
	}
	s.before, s.gap = s.before[:0], false
	s.give(text, line, at, ':')
	if !s.full {
		s.matches++
		s.after = s.context
	}
}

// give writes a line with its number, where that is known, and the character at
// which it begins: "12@3456: text".
func (s *search) give(text string, line, at int, mark byte) {
	var head string
	if line > 0 {
		head = fmt.Sprint(line)
	}
	if at >= 0 && mark == ':' {
		head += fmt.Sprintf("@%d", at)
	}
	s.add(head + string(mark) + " " + text + "\n")
}

func (s *search) add(text string) {
	n := utf8.RuneCountInString(text)
	if s.full || n > s.limit {
		s.full = true
		return
	}
	s.limit -= n
	s.out.WriteString(text)
}

// shown returns a line, or of a long one what is around the bytes from i to j.
func shown(p []byte, i, j int) string {
	if len(p) <= longLine {
		return strings.ToValidUTF8(string(p), "\uFFFD")
	}
	from, to := around(p, i, j)
	text := strings.ToValidUTF8(string(p[from:to]), "\uFFFD")
	if from > 0 {
		text = "…" + text
	}
	if to < len(p) {
		text += "…"
	}
	return text
}

// around returns what is given of a long line around the bytes from i to j.
func around(p []byte, i, j int) (from, to int) {
	from, to = max(0, i-aroundMatch), min(len(p), max(j, i)+aroundMatch, i+longLine)
	for from > 0 && !utf8.RuneStart(p[from]) {
		from--
	}
	for to < len(p) && !utf8.RuneStart(p[to]) {
		to++
	}
	return from, to
}
