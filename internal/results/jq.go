package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/metrics"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/tenon-mcp/tenon/tool"
)

// Bounds on one query. A body is decoded for it, which takes several times its
// size, and the language can make much of little.
const (
	maxQueried  = 64 << 20 // bytes of the body
	queryTime   = 5 * time.Second
	queryMemory = 512 << 20 // growth of the heap in bytes
)

var errQueryMemory = &tool.Error{Kind: tool.Invalid, Text: "The query needs too much memory. Ask for less: select and limit early."}

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
	parsed, err := gojq.Parse(query)
	if err != nil {
		return invalid("jq is no query: %v", err)
	}
	// Without a module loader, an environment and inputs, there are none.
	code, err := gojq.Compile(parsed)
	if err != nil {
		return invalid("jq is no query: %v", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, queryTime, &tool.Error{
		Kind: tool.Timeout, Text: fmt.Sprintf("The query took longer than %s. Ask for less: select and limit early.", queryTime),
	})
	defer cancel()
	select {
	case s.jq <- struct{}{}:
		defer func() { <-s.jq }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	v, err := it.decode()
	if err != nil {
		return err
	}
	ctx, watched := watchMemory(ctx, s.queryMemory)
	defer watched()
	results := code.RunWithContext(ctx, v)
	for {
		v, ok := results.Next()
		if !ok {
			return nil
		}
		if err, failed := v.(error); failed {
			return queryError(ctx, err)
		}
		text, err := gojq.Marshal(v)
		if err != nil {
			return invalid("the output of jq is no JSON: %v", err)
		}
		if !yield(text) {
			return nil
		}
	}
}

// queryError gives the error of a query its kind; nil where it just halted.
func queryError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
		return nil
	}
	return invalid("jq: %s", clipped(err.Error(), 500))
}

// decode decodes the body. Numbers stay as they are written.
func (it *item) decode() (any, error) {
	body, err := it.open()
	if err != nil {
		return nil, err
	}
	defer body.Close()
	d := json.NewDecoder(body)
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return v, nil
}

// watchMemory returns a context that ends when the heap has grown by more than
// so many bytes, and the function that stops watching.
func watchMemory(ctx context.Context, growth uint64) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	most := sample[0].Value.Uint64() + growth
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if metrics.Read(sample); sample[0].Value.Uint64() > most {
				cancel(errQueryMemory)
			}
		}
	})
	return ctx, func() { cancel(nil); wg.Wait() }
}
