package call

import (
	"context"
	"errors"
	"time"

	"github.com/tenon-mcp/tenon/internal/ledger"
	"github.com/tenon-mcp/tenon/tool"
)

// once answers a call that repeats an idempotency key from the ledger. It is inside
// authorize, so that nobody is answered who may not call, and outside admit, so
// that an answer which is known needs no place.
func once(o *Options, next Handler) Handler {
	return func(ctx context.Context, r *Request) *tool.Result {
		if r.IdempotencyKey == "" {
			return next(ctx, r)
		}
		if len(r.IdempotencyKey) > ledger.MaxKey {
			return r.fail(tool.Invalid, "The idempotency key is longer than %d bytes. Use a shorter one, such as a UUID.", ledger.MaxKey)
		}
		res, before, err := o.Ledger.Run(ctx, keyOf(r, r.Target.ID), r.Arguments, r.ID, func() (res, keep *tool.Result) {
			if r.answered { // it was forgotten a moment ago
				return r.fail(tool.Denied, "What came of this idempotency key is forgotten by now, and the call needs a person's approval anew. Nothing was done. Call again."), nil
			}
			attempts := r.Attempts
			res = next(ctx, r)
			return res, o.lasting(r, res, r.Attempts > attempts)
		})
		switch {
		case err != nil:
			return r.notRun(ctx, err)
		case before != nil:
			res.ID, res.Attempts = r.ID, r.Attempts
			at := before.Ended.UTC().Format(time.RFC3339)
			if res.Kind == tool.OutcomeUnknown {
				r.Note("ledger", "not sent again: call %s was sent with this idempotency key, and ended at %s without an answer", before.ID, at)
			} else {
				r.Note("ledger", "already done at %s by call %s with this idempotency key: this is what came of it", at, before.ID)
			}
		}
		return res
	}
}

// notRun answers a call that the ledger kept from running.
func (r *Request) notRun(ctx context.Context, err error) *tool.Result {
	if e, ok := errors.AsType[*ledger.InUseError](err); ok {
		return r.fail(tool.Invalid, "The idempotency key %q was used for a call of %s with other arguments (call %s). "+
			"Nothing was done now. Use a new key for a new call.", r.IdempotencyKey, r.Target.Name, e.ID)
	}
	if ctx.Err() != nil {
		return failed(r, err)
	}
	return r.fail(tool.Invalid, "The arguments of %s are not valid: %v. Send a JSON object.", r.Target.Name, err)
}

func keyOf(r *Request, id tool.ID) ledger.Key {
	return ledger.Key{Caller: r.Caller.Name, Session: r.SessionName(), Tool: id, Text: r.IdempotencyKey}
}

// lasting returns what a repeated call is to be answered with, or nil where it may
// run again: because nothing was done, or because doing it again does no harm. A
// call that was sent and then given up is one of those of which nobody knows.
func (o *Options) lasting(r *Request, res *tool.Result, sent bool) *tool.Result {
	meta := r.Target.Meta
	if r.unfinished {
		return nil // the client comes again with the same key
	}
	switch res.Kind {
	case "", tool.OutcomeUnknown:
		return res
	case tool.Failed:
		if meta.ReadOnly {
			return nil
		}
		return res
	case tool.Timeout, tool.Canceled, tool.Internal:
		if !sent || meta.ReadOnly || meta.Idempotent {
			return nil
		}
		kept := *res
		kept.Kind = tool.OutcomeUnknown
		kept.Raw, kept.Message = nil, "The call was sent, and ended before its answer came. Nobody knows whether it took effect. "+o.howToCheck(r.Target)
		return &kept
	case tool.Invalid, tool.NotFound, tool.Denied, tool.Unavailable:
	}
	return nil
}
