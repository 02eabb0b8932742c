package call

import (
	"context"

	"github.com/tenon-mcp/tenon/tool"
)

// Rules say what must not be reached. Their methods are called concurrently, and
// cost nearly nothing for a tool that no rule is for.
type Rules interface {
	// Refuse looks at the arguments of a call of t and returns what the model is
	// told where the call must not be made, else "".
	Refuse(t *tool.Tool, arguments []byte) string
	// Clean looks at an answer of t. It returns a refusal where nothing of it may
	// be given on, or the answer without what must not be reached, and a note that
	// says so; or the answer as it came.
	Clean(t *tool.Tool, answer tool.Bytes) (cleaned tool.Bytes, note, refusal string)
}

// ContentRule is the reason type of a call that was refused for what it would reach.
const ContentRule = "content_rule"

// rules refuses calls that would reach what must not be reached. It has its place
// behind everything that changes the tool or the arguments, so it sees what is
// really sent, and before everything that changes the answer.
func rules(o *Options, next Handler) Handler {
	if o.Rules == nil {
		return next
	}
	return func(ctx context.Context, r *Request) *tool.Result {
		sent := r.Arguments
		if len(r.Params) > 0 {
			sent = r.Params
		}
		if refusal := o.Rules.Refuse(r.Target, sent); refusal != "" {
			r.Decision = &tool.Decision{Behavior: tool.Deny, ReasonType: ContentRule, Reason: refusal}
			return r.fail(tool.Denied, "%s", refusal)
		}
		res := next(ctx, r)
		if len(res.Raw) == 0 {
			return res
		}
		cleaned, note, refusal := o.Rules.Clean(r.Target, res.Raw)
		switch {
		case refusal != "":
			r.Note("rules", "left out the answer: it comes from an address that must not be reached")
			return r.fail(tool.Denied, "%s", refusal)
		case note != "":
			r.Note("rules", "%s", note)
			res.Raw = cleaned
		}
		return res
	}
}
