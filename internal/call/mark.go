package call

import (
	"context"
	"strings"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Marking is how an answer says that strangers wrote what it holds.
type Marking int

// The ways. Each but the first sets [UntrustedKey] in the answer's _meta.
const (
	Unmarked Marking = iota
	InMeta           // the text stays as it came
	Fenced           // the text stands between two lines that nobody who wrote it could know
	OnceOnly         // the same, unless the server has marked its answer itself
)

// UntrustedKey is the member of _meta that says so to programs.
const UntrustedKey = "tenon/untrusted"

// mark tells data from instructions, in answers of tools that give what strangers
// wrote. It is outside of shape: what is cut is still between its two lines, and what
// is kept behind a handle is as it came.
func mark(o *Options, next Handler) Handler {
	if o.Untrusted == nil {
		return next
	}
	return func(ctx context.Context, r *Request) *tool.Result {
		res := next(ctx, r)
		if res.Kind != "" || res.Raw.Len() == 0 || r.Target == nil || r.unfinished {
			return res
		}
		how := o.Untrusted(r.Target)
		if how == Unmarked {
			return res
		}
		said := saysUntrusted(res.Raw)
		if how == Fenced || how == OnceOnly && !said {
			fenceAnswer(res)
		}
		if !said {
			if raw, err := jsonrpc.EditMeta(res.Raw.Join(), jsonrpc.Field{Key: UntrustedKey, Value: []byte("true")}); err == nil {
				res.Raw = raw
			}
		}
		return res
	}
}

// saysUntrusted reports whether the _meta of an answer says so.
func saysUntrusted(raw tool.Bytes) bool {
	var span [1]jsonrpc.Span
	if jsonrpc.Members(raw, []string{"_meta"}, span[:]) != nil || !span[0].Found() {
		return false
	}
	meta := span[0].In(raw)
	if jsonrpc.Members(meta, []string{UntrustedKey}, span[:]) != nil {
		return false
	}
	return string(span[0].In(meta).Join()) == "true"
}

// Fence returns a text that strangers wrote between two lines that say so.
func Fence(text string) string {
	head, tail := answer.Fences()
	return head + strings.TrimSuffix(text, "\n") + tail
}

// fenceAnswer puts the texts of an answer between two lines.
func fenceAnswer(res *tool.Result) {
	a, ok := readAnswer(res.Raw)
	if !ok {
		return
	}
	first, last := -1, -1
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.text == nil || b.chars == 0 || i > 0 && i == len(a.blocks)-1 && isMarker(res, b) {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	if first < 0 {
		return
	}
	head, tail := answer.Fences()
	b := &a.blocks[last]
	b.raw = replace(b.raw, edit{jsonrpc.Span{Start: b.span.End - 1, End: b.span.End - 1}, inQuotes(tail)})
	b = &a.blocks[first]
	b.raw = replace(b.raw, edit{jsonrpc.Span{Start: b.span.Start + 1, End: b.span.Start + 1}, inQuotes(head)})
	res.Raw = a.bytes()
}

// isMarker reports whether a block is what shape says about a cut. The name of the
// handle is in it, which was made after the text.
func isMarker(res *tool.Result, b *block) bool {
	if res.Handle == nil || b.text.Len() > 1000 {
		return false
	}
	text, _ := jsonrpc.String(b.text.Join())
	return strings.HasPrefix(text, "[cut here: ") && strings.Contains(text, res.Handle.ID)
}

// inQuotes returns a text as it stands in a JSON string.
func inQuotes(s string) []byte {
	quoted := jsonrpc.Quote(nil, s)
	return quoted[1 : len(quoted)-1]
}
