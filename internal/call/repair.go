package call

import (
	"bytes"
	"context"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/tool"
)

// Checked is what came of checking arguments. The zero value is: they are fine,
// or nothing is known of what they should be.
type Checked struct {
	Arguments []byte   // the mended ones; nil where nothing was mended
	Repairs   []string // what was mended, a line each
	Problem   string   // what is wrong, for the model
}

var noArguments = []byte("{}")

// repair holds arguments against the tool's schema before a server sees them.
// What leaves one reading is mended, with a note for each; what does not is
// refused with what to send in its place. Arguments that are right pass as they
// came, byte for byte.
func repair(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		args := bytes.TrimSpace(r.Arguments)
		if len(args) == 0 || string(args) == "null" {
			args = noArguments
		}
		// A text can hold the object that was meant; whatever else is no object is
		// refused where it would be sent.
		if o.Check == nil || args[0] != '{' && args[0] != '"' {
			return next(ctx, r)
		}
		out := o.Check(r.Target, args)
		switch {
		case out.Problem != "":
			return r.fail(tool.Invalid, "The arguments of %s are not valid, so it was not called:\n%s", r.Target.Name, out.Problem)
		case out.Arguments == nil:
			return next(ctx, r)
		}
		// The stages outside keep what was asked for: a fallback is another tool,
		// and has its own reading of it.
		asked, params := r.Arguments, r.Params
		defer func() { r.Arguments, r.Params = asked, params }()
		r.Arguments = out.Arguments
		if len(params) > 0 {
			edited, err := jsonrpc.Edit(params, jsonrpc.Field{Key: "arguments", Value: out.Arguments})
			if err != nil {
				return r.fail(tool.Invalid, "The params of the call are not valid: %v.", err)
			}
			r.Params = edited
		}
		for _, text := range out.Repairs {
			r.Notes = append(r.Notes, tool.Note{Stage: "repair", Text: text})
		}
		return next(ctx, r)
	}
}
