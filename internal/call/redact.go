package call

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Secrets hides secrets. Its methods are called concurrently.
type Secrets interface {
	// Text returns a text without secrets.
	Text(text string) string
	// Failure returns what a server said of a failure without secrets.
	Failure(raw []byte) []byte
	// Result returns an answer without secrets, and how many places were hidden. The
	// parts in skip, in order, are left alone. An answer without any is the same.
	Result(raw tool.Bytes, skip ...jsonrpc.Span) (tool.Bytes, int)
}

// redact hides secrets in what is answered: in messages and notes always, and with
// Options.Redact in results and in progress too. What a server says of a failure has
// lost them in send already, since other stages quote it. It is inside of shape, so that what
// is kept behind a handle has none either, and a secret is never cut in two before it
// is looked for.
func redact(o *Options, next Handler) Handler {
	if o.Secrets == nil {
		return next
	}
	return func(ctx context.Context, r *Request) *tool.Result {
		if o.Redact && r.Progress != nil {
			whole := r.Progress
			r.Progress = func(params json.RawMessage) {
				hidden, _ := o.Secrets.Result(tool.OneOf(params))
				whole(hidden.Join())
			}
			defer func() { r.Progress = whole }()
		}
		res := next(ctx, r)
		if res.Message != "" {
			res.Message = o.Secrets.Text(res.Message)
		}
		for i := range r.Notes {
			r.Notes[i].Text = o.Secrets.Text(r.Notes[i].Text)
		}
		if !o.Redact || res.Kind != "" || res.Raw.Len() == 0 {
			return res
		}
		raw, n := o.Secrets.Result(res.Raw, media(res.Raw)...)
		res.Raw = raw
		if n > 0 {
			r.Note("redacted", "%s hidden", places(n))
		}
		return res
	}
}

func places(n int) string {
	if n == 1 {
		return "1 secret was"
	}
	return strconv.Itoa(n) + " secrets were"
}

var (
	mediaKeys = []string{"type", "data", "resource"}
	blobKeys  = []string{"blob"}
)

// media returns the places of images, audio and blobs in an answer, in order. They
// are no text, and letters in them mean nothing.
func media(raw tool.Bytes) []jsonrpc.Span {
	var spans [1]jsonrpc.Span
	if jsonrpc.Members(raw, answerKeys[:1], spans[:]) != nil || !spans[0].Found() {
		return nil
	}
	content := spans[0].In(raw)
	if string(content.Slice(0, 1).Join()) != "[" {
		return nil
	}
	var out []jsonrpc.Span
	for _, at := range elements(content) {
		block := at.In(content)
		var in [3]jsonrpc.Span
		if jsonrpc.Members(block, mediaKeys, in[:]) != nil {
			continue
		}
		kind, _ := jsonrpc.String(in[0].In(block).Join())
		start := spans[0].Start + at.Start
		switch {
		case (kind == "image" || kind == "audio") && isString(in[1].In(block)):
			out = append(out, jsonrpc.Span{Start: start + in[1].Start, End: start + in[1].End})
		case kind == "resource" && in[2].Found():
			resource := in[2].In(block)
			var blob [1]jsonrpc.Span
			if jsonrpc.Members(resource, blobKeys, blob[:]) == nil && isString(blob[0].In(resource)) {
				start += in[2].Start
				out = append(out, jsonrpc.Span{Start: start + blob[0].Start, End: start + blob[0].End})
			}
		}
	}
	return out
}
