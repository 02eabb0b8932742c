package call

import "context"

// begin has the record know of a call before it is sent, where it may change
// something: should the gateway die meanwhile, there is a trace of it. It returns what
// to answer where the call must not be sent, else nil.
func (o *Options) begin(ctx context.Context, r *Request) error {
	if o.Begin == nil || r.Target.Meta.ReadOnly || r.begun == r.Target {
		return nil
	}
	if err := o.Begin(ctx, r); err != nil {
		return err
	}
	r.begun = r.Target
	return nil
}
