package results

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/tool"
)

const (
	// maxQueried bounds the body of a query in bytes: it is decoded for that, which
	// takes several times its size.
	maxQueried = 64 << 20
	// maxQueries is how many run at once, and queryTurn how long one waits for that.
	maxQueries = 2
	queryTurn  = 5 * time.Second
)

// A Query runs a query in the language jq on a body and calls yield with each
// value of its output as JSON, until that returns false.
type Query func(ctx context.Context, query string, body io.Reader, yield func(value []byte) bool) error

// query gives the output of a query, one value a line.
func (s *Store) query(ctx context.Context, it *item, r *Reading, o ReadOptions) error {
	var out strings.Builder
	left := o.Offset + o.Limit + 1 // the one more tells whether there is more
	err := s.each(ctx, it, o.JQ, func(v []byte) bool {
		text, _ := clipRunes(string(v)+"\n", left)
		left -= utf8.RuneCountInString(text)
		out.WriteString(text)
		return left > 0
	})
	if err != nil {
		return err
	}
	text := out.String()
	before, _ := clipRunes(text, o.Offset)
	text = text[len(before):]
	shown, all := clipRunes(text, o.Limit)
	r.Text = shown
	if !all {
		next := o.Offset + o.Limit
		r.Next = &next
	}
	return nil
}

// each runs a query on a body and calls yield with each value of its output as
// JSON, until that returns false.
func (s *Store) each(ctx context.Context, it *item, query string, yield func([]byte) bool) error {
	if it.handle.Kind != KindJSON {
		return invalid("the handle holds %s, not JSON, so jq cannot read it: use grep, or offset and limit. It begins: %s", it.handle.Kind, clipped(it.first, 200))
	}
	if it.handle.Size > maxQueried {
		return invalid("the whole has %d bytes, and jq reads at most %d: use grep, or offset and limit", it.handle.Size, maxQueried)
	}
	if s.o.Query == nil {
		return invalid("there is no jq here: use grep, or offset and limit")
	}
	turn, cancel := context.WithTimeoutCause(ctx, queryTurn, &tool.Error{
		Kind: tool.Unavailable, Text: fmt.Sprintf("%d other queries are running. Try again in a moment, or read with grep, or offset and limit.", maxQueries),
	})
	defer cancel()
	done, err := s.jq.wait(turn, it.caller)
	if err != nil {
		return err
	}
	defer done()
	body, err := it.open()
	if err != nil {
		return err
	}
	defer body.Close()
	return s.o.Query(ctx, query, body, yield)
}
