package call

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tenon-mcp/tenon/internal/answer"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Marking is how an answer says that strangers wrote what it holds.
type Marking int

// The ways. Each but the first sets [UntrustedKey] in the answer's _meta.
const (
	Unmarked   Marking = iota
	InMeta             // the text stays as it came
	Fenced             // the text stands between two lines that nobody who wrote it could know
	OnceOnly           // the same, unless the server has marked its answer itself
	Distrusted         // as Fenced, and what it says of a failure as well
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
		if r.Target == nil || r.unfinished {
			return res
		}
		how := o.Untrusted(r.Target)
		if how == Unmarked {
			return res
		}
		if res.Raw.Len() == 0 {
			markRefusal(res, how)
			return res
		}
		said := saysUntrusted(res.Raw)
		if how == Distrusted || res.Kind == "" && (how == Fenced || how == OnceOnly && !said) {
			fenceAnswer(res)
		}
		if !said {
			if raw, err := Marked(res.Raw); err == nil {
				res.Raw = raw
			}
		}
		return res
	}
}

// Marked returns a result whose _meta says that strangers wrote what it holds.
func Marked(raw tool.Bytes) (tool.Bytes, error) {
	return jsonrpc.EditMeta(raw.Join(), jsonrpc.Field{Key: UntrustedKey, Value: []byte("true")})
}

// markRefusal marks the error that a server refused a call with: in its data, and in the
// text where not even that is to be believed.
func markRefusal(res *tool.Result, how Marking) {
	e, ok := errors.AsType[*jsonrpc.Error](res.Err)
	if !ok || e.Raw == nil { // it is Tenon's
		return
	}
	marked := MarkedError(e, how == Distrusted)
	if how == Distrusted {
		lead := "Server " + res.Server + " refused the call: "
		text, end := res.Message, ""
		if i := strings.LastIndex(text, "\n"+cutMark); i >= 0 && res.Handle != nil && strings.Contains(text[i:], res.Handle.ID) {
			text, end = text[:i], text[i:]
		}
		text, ours := strings.CutPrefix(text, lead)
		if !ours {
			lead = ""
		}
		res.Message = lead + Fence(text) + end
	}
	res.Err = marked
}

// MarkedError returns the error of a server with the mark in its data, where that is an
// object or nothing, and with its message between two lines if it is to be fenced.
func MarkedError(e *jsonrpc.Error, fence bool) *jsonrpc.Error {
	var fields []jsonrpc.Field
	if fence {
		fields = append(fields, jsonrpc.Field{Key: "message", Value: jsonrpc.Quote(nil, Fence(e.Message))})
	}
	if data, err := jsonrpc.Edit(e.Data, jsonrpc.Field{Key: UntrustedKey, Value: []byte("true")}); err == nil {
		fields = append(fields, jsonrpc.Field{Key: "data", Value: data})
	}
	raw, err := jsonrpc.Edit(e.Raw, fields...)
	if err != nil {
		return e
	}
	return jsonrpc.ErrorOf(tool.OneOf(raw))
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

// fenceAnswer puts all of an answer between two lines, but for images and sound at either
// end: the lines are in the texts of the first and the last block where these are texts,
// and blocks of their own else.
func fenceAnswer(res *tool.Result) {
	a, ok := readAnswer(res.Raw)
	if !ok {
		return
	}
	first, last := -1, -1
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.media != nil || b.inline && b.chars == 0 || i > 0 && i == len(a.blocks)-1 && isMarker(res, b) {
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
	if b := &a.blocks[last]; b.inline {
		b.raw = replace(b.raw, edit{jsonrpc.Span{Start: b.span.End - 1, End: b.span.End - 1}, inQuotes(tail)})
	} else {
		a.blocks = slices.Insert(a.blocks, last+1, block{raw: tool.OneOf(textBlock(tail[1:]))})
	}
	if b := &a.blocks[first]; b.inline {
		b.raw = replace(b.raw, edit{jsonrpc.Span{Start: b.span.Start + 1, End: b.span.Start + 1}, inQuotes(head)})
	} else {
		a.blocks = slices.Insert(a.blocks, first, block{raw: tool.OneOf(textBlock(head[:len(head)-1]))})
	}
	res.Raw = a.bytes()
}

// isMarker reports whether a block is what shape says about a cut. The name of the
// handle is in it, which was made after the text.
func isMarker(res *tool.Result, b *block) bool {
	if res.Handle == nil || b.text.Len() > 1000 {
		return false
	}
	text, _ := jsonrpc.String(b.text.Join())
	return strings.HasPrefix(text, cutMark) && strings.Contains(text, res.Handle.ID)
}

// inQuotes returns a text as it stands in a JSON string.
func inQuotes(s string) []byte {
	quoted := jsonrpc.Quote(nil, s)
	return quoted[1 : len(quoted)-1]
}
