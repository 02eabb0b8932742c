package call

import (
	"context"

	"github.com/tenon-mcp/tenon/tool"
)

// maxQuestions bounds how often one call can be put to a person: while it waits,
// another rule may come to want one.
const maxQuestions = 3

// authorize decides whether the caller may make this call, on what the call has
// become. Resolve has decided on the tool alone; here the arguments count.
func authorize(o *Options, next Handler) Handler {
	if o.Authority == nil {
		return next
	}
	a := o.Authority
	return func(ctx context.Context, r *Request) *tool.Result {
		d := a.Decide(r)
		if d.Behavior == tool.Deny {
			return r.denied(r.Target.ID, d)
		}
		r.Decision = d
		if err := a.Enter(r); err != nil {
			return failed(r, err)
		}
		if d.Behavior == tool.Ask {
			if res := r.ask(ctx, o); res != nil {
				a.Leave(r, res)
				return res
			}
		}
		res := next(ctx, r)
		a.Leave(r, res)
		return res
	}
}

// ask has a person decide, and decides again afterwards: much can have changed
// meanwhile. It returns nil where the call goes on. A call that was carried out
// before is answered from the ledger, and nobody is asked about it again.
func (r *Request) ask(ctx context.Context, o *Options) *tool.Result {
	a := o.Authority
	if o.knows(r) {
		r.answered = true
		return nil
	}
	for range maxQuestions {
		asked := r.Decision
		if err := a.Approve(ctx, r, asked); err != nil {
			return failed(r, err)
		}
		d := a.Decide(r)
		switch {
		case d.Behavior == tool.Deny:
			return r.denied(r.Target.ID, d)
		case d.Behavior == tool.Allow || d.ReasonType == asked.ReasonType:
			return nil
		}
		r.Decision = d
	}
	return r.fail(tool.Denied, "%s %s was approved, and each time another rule asked for approval again. Do not call it again now.", "The call of", r.Target.ID)
}

// denied answers a call of a tool that a decision is against.
func (r *Request) denied(id tool.ID, d *tool.Decision) *tool.Result {
	r.Decision = d
	res := r.fail(tool.Denied, "%s", d.Reason)
	res.Server, res.Tool = id.Server, id.Name
	return res
}
