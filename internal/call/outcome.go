package call

import (
	"context"
	"fmt"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// howToCheck says how to find out whether a call took effect whose answer was
// lost: with a tool of the same server that only reads and that speaks of the same
// thing, where there is one.
func (o *Options) howToCheck(t *tool.Tool) string {
	if o.Reader != nil {
		if name := o.Reader(t); name != "" {
			return fmt.Sprintf("Before calling it again, check that with a tool that only reads: %s of server %s may tell.", name, t.Server)
		}
	}
	return "Before calling it again, check that with a tool that only reads."
}

// brief returns a text on one line, at most 200 characters of it.
func brief(text string) string {
	const most = 200
	whole := len(text) <= 20*most // of a longer text nothing behind is looked at
	if !whole {
		text = strings.ToValidUTF8(text[:20*most], "")
	}
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		text, whole = string(r[:most]), false
	}
	if !whole {
		text += "…"
	}
	return text
}

// ErrEnding is the cause of a context that ends because the gateway does: nobody gave
// the call up.
var ErrEnding error = &tool.Error{Kind: tool.Canceled, Text: "The gateway was ended before the call was.", Err: context.Canceled}

// ended is what the caller is told of a call that was cut off by the end of the gateway,
// in place of what the stages made of that.
func (o *Options) ended(r *Request, res *tool.Result) *tool.Result {
	var out *tool.Result
	switch {
	case r.Attempts == 0 || r.Target == nil:
		out = r.fail(tool.Unavailable, "The gateway was ended before the call was made: it was not carried out. Call it again once the gateway runs again.")
	case r.Target.Meta.ReadOnly || r.Target.Meta.Idempotent:
		out = r.fail(tool.Unavailable, "The gateway was ended while the call ran. The tool can be called again without harm, once the gateway runs again.")
	default:
		out = r.fail(tool.OutcomeUnknown, "The gateway was ended while the call ran, and nobody knows whether it took effect. %s", o.howToCheck(r.Target))
	}
	out.Err = res.Err
	return out
}
