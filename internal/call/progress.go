package call

import (
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// ProgressFunc returns the function that takes the progress of the call, or nil
// where nobody wants any: progress moves a deadline that the caller did not set,
// and goes on to a caller who asked for it.
func (r *Request) ProgressFunc() func(params tool.Bytes) {
	if r.clock.fixed && r.Progress == nil {
		return nil
	}
	return r.progressed
}

// HasProgressed reports whether progress has gone on to the caller.
func (r *Request) HasProgressed() bool { return r.clock.passedOn.Load() }

func (r *Request) progressed(params tool.Bytes) {
	r.clock.extend()
	if r.Progress == nil {
		return
	}
	r.clock.passedOn.Store(true)
	text := params.Join()
	if token := callerToken(r.Params); token != nil {
		edited, err := jsonrpc.Edit(text, jsonrpc.Field{Key: "progressToken", Value: token})
		if err != nil {
			return // the wire has just read it, so it is an object
		}
		text = edited
	}
	r.Progress(text)
}

// callerToken returns the progress token in the params of the caller, or nil.
func callerToken(params []byte) []byte {
	var span [1]jsonrpc.Span
	b := tool.OneOf(params)
	if len(params) == 0 || jsonrpc.Members(b, []string{"_meta"}, span[:]) != nil || !span[0].Found() {
		return nil
	}
	meta := span[0].In(b)
	span = [1]jsonrpc.Span{}
	if jsonrpc.Members(meta, []string{"progressToken"}, span[:]) != nil {
		return nil
	}
	return span[0].In(meta).Join()
}
