package approval

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tenon-mcp/tenon/tool"
)

// What is kept of the words of people and programs, in bytes.
const (
	maxReason = 2000
	maxName   = 200
)

// Decide decides a question that waits. The error is of kind invalid where the verdict
// cannot be given to this question; it wraps ErrNotFound, ErrDecided or ErrExpired
// where there is no such question that waits, and the last two come with how it ended.
func (b *Broker) Decide(ctx context.Context, id string, v tool.Verdict) (tool.Approval, error) {
	b.mu.Lock()
	p := b.asked[id]
	b.mu.Unlock()
	if p == nil {
		return b.decideUnknown(ctx, id, v)
	}
	select {
	case <-p.inserted:
	case <-ctx.Done():
		return tool.Approval{}, context.Cause(ctx)
	}
	b.mu.Lock()
	a, over := p.a, b.over(p)
	b.mu.Unlock()
	if a.Status == tool.ApprovalPending && over {
		b.expire(p)
		return b.decideUnknown(ctx, id, v)
	}
	if a.Status != tool.ApprovalPending {
		return a, decided(a)
	}
	g, err := p.grantOf(a, &v, b.now())
	if err != nil {
		return a, err
	}
	a, ours, err := b.settle(ctx, p, decision(v, b.now()), false)
	switch {
	case err != nil && a.Status != tool.ApprovalTimeout:
		return a, unrecorded(err)
	case !ours, a.Status == tool.ApprovalTimeout:
		return a, decided(a)
	case v.Approved && g != nil:
		b.allow(ctx, *g, a)
	}
	return a, nil
}

// decided returns the error for an approval that is pending no more.
func decided(a tool.Approval) error {
	if a.Status == tool.ApprovalTimeout {
		return &tool.Error{Kind: tool.Invalid, Err: ErrExpired, Text: "Approval " + a.ID + " expired at " + a.ExpiresAt.UTC().Format(time.RFC3339) + " and cannot be decided any more."}
	}
	return &tool.Error{Kind: tool.Invalid, Err: ErrDecided, Text: "Approval " + a.ID + " is " + string(a.Status) + " already."}
}

// decision returns what a verdict makes of an approval.
func decision(v tool.Verdict, now time.Time) func(*tool.Approval) {
	return func(a *tool.Approval) {
		a.Status, a.DecidedBy, a.DecidedAt, a.Why = tool.ApprovalDenied, clip(v.By, maxName), &now, clip(v.Why, maxReason)
		if v.Approved {
			a.Status, a.Scope, a.Pattern = tool.ApprovalApproved, v.Scope, v.Pattern
		}
	}
}

func unrecorded(err error) error {
	return &tool.Error{Kind: tool.Unavailable, Err: err, Text: "The decision could not be recorded, so it does not hold. Try again."}
}

// decideUnknown decides an approval that does not wait here.
func (b *Broker) decideUnknown(ctx context.Context, id string, v tool.Verdict) (tool.Approval, error) {
	a, err := b.Get(ctx, id)
	if err != nil {
		return a, err
	}
	if elsewhere(&a, b.o.Shared, b.now()) {
		return b.decideElsewhere(ctx, a, v)
	}
	if a.Status == tool.ApprovalPending { // nobody could wait for it any more
		a.Status = tool.ApprovalTimeout
	}
	return a, decided(a)
}

// expire ends a question whose time has passed.
func (b *Broker) expire(p *question) {
	<-p.inserted
	ctx, cancel := context.WithTimeout(b.ctx, storeTimeout)
	defer cancel()
	_, _, _ = b.settle(ctx, p, func(a *tool.Approval) { a.Status = tool.ApprovalTimeout }, true) // in memory in any case
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tidy(p) // one that was approved, and not used
}

// settle makes a question leave pending, and reports whether it was this that did.
// With force it does so even where that cannot be stored, which must not allow
// anything.
func (b *Broker) settle(ctx context.Context, p *question, change func(*tool.Approval), force bool) (tool.Approval, bool, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		if !force {
			return tool.Approval{}, false, context.Cause(ctx)
		}
		p.turn <- struct{}{} // whoever has it is bounded by the store's time
		defer func() { <-p.turn }()
	}
	b.mu.Lock()
	a, over := p.a, b.over(p)
	b.mu.Unlock()
	if a.Status != tool.ApprovalPending {
		return a, false, nil
	}
	before := a
	if change(&a); over && !force {
		a, force = before, true
		a.Status = tool.ApprovalTimeout
	}
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	ok, err := b.o.Store.SettleApproval(sctx, a)
	switch {
	case err != nil && !force:
		return tool.Approval{}, false, err
	case err == nil && !ok: // another gateway on the same store was first
		if stored, found, err := b.o.Store.Approval(sctx, p.id); err == nil && found && stored.Status != tool.ApprovalPending {
			a = adopt(a, stored)
		} else {
			a = before
			a.Status = tool.ApprovalCanceled
		}
	}
	b.end(p, a)
	return a, ok, err
}

// end makes a the end of a question that was pending. The caller has its turn.
func (b *Broker) end(p *question, a tool.Approval) {
	b.mu.Lock()
	if p.a = a; a.UsedBy != "" {
		p.claimed = a.UsedBy
	}
	if a.Status == tool.ApprovalTimeout || a.Status == tool.ApprovalCanceled {
		b.disarm(p)
	}
	close(p.settled)
	b.tidy(p)
	b.mu.Unlock()
	b.o.Notify(a)
}

// allow grants what was decided for more than one call, to other questions that wait
// too.
func (b *Broker) allow(ctx context.Context, g grant, a tool.Approval) {
	b.mu.Lock()
	b.grant(g)
	var covered []*question
	for _, p := range b.asked {
		c := call{p.caller, p.a.Session, p.a.Server, p.a.Tool, p.a.Rule}
		if p.a.Status == tool.ApprovalPending && !p.restored && !b.over(p) && g.covers(&c, p.arguments) {
			covered = append(covered, p)
		}
	}
	b.mu.Unlock()
	for _, p := range covered {
		_, _, _ = b.settle(ctx, p, func(c *tool.Approval) { // where it fails it stays open, or was decided
			c.Status, c.Scope, c.DecidedBy, c.DecidedAt = tool.ApprovalApproved, tool.ScopeOnce, a.DecidedBy, a.DecidedAt
			c.Why = "allowed by approval " + a.ID
		}, false)
	}
}

// Pending returns the questions that wait, newest first, and at most limit of them.
func (t *table) Pending(limit int) []tool.Approval {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := []tool.Approval{}
	for _, p := range t.asked {
		select {
		case <-p.inserted:
		default:
			continue
		}
		if p.a.Status == tool.ApprovalPending && !t.over(p) {
			out = append(out, p.a)
		}
	}
	slices.SortFunc(out, func(x, y tool.Approval) int {
		return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(y.ID, x.ID))
	})
	return out[:min(limit, len(out))]
}

// Recent returns the last questions, whatever came of them, newest first, and at most
// limit of them.
func (b *Broker) Recent(ctx context.Context, limit int) ([]tool.Approval, error) {
	all, err := b.o.Store.Approvals(ctx, limit)
	for i, a := range all {
		all[i] = b.current(a)
	}
	return all, err
}

// Get returns one question. The error wraps ErrNotFound where there is none.
func (b *Broker) Get(ctx context.Context, id string) (tool.Approval, error) {
	a, found, err := b.o.Store.Approval(ctx, id)
	if err != nil {
		return tool.Approval{}, &tool.Error{Kind: tool.Unavailable, Text: "The record of approvals cannot be read now. Try again.", Err: err}
	}
	if !found {
		return tool.Approval{}, &tool.Error{Kind: tool.NotFound, Text: "There is no approval " + clip(id, maxName) + ".", Err: ErrNotFound}
	}
	return b.current(a), nil
}

// current returns an approval as it is now: one whose time passed while nobody could
// write it down has expired.
func (t *table) current(a tool.Approval) tool.Approval {
	if a.Status != tool.ApprovalPending {
		return a
	}
	t.mu.Lock()
	p := t.asked[a.ID]
	t.mu.Unlock()
	if p == nil && !elsewhere(&a, t.o.Shared, t.now()) || !t.now().Before(a.ExpiresAt) {
		a.Status = tool.ApprovalTimeout
	}
	return a
}

// A Store keeps approvals. It is safe for concurrent use.
type Store interface {
	// InsertApproval keeps a new one.
	InsertApproval(ctx context.Context, a tool.Approval) error
	// SettleApproval puts a in the place of the one of its id where that is pending,
	// and reports whether it was. Of several at once one is told so.
	SettleApproval(ctx context.Context, a tool.Approval) (bool, error)
	// UseApproval notes the call that runs on an approved one where no call is noted,
	// and reports whether that was so. It is on disk when it returns.
	UseApproval(ctx context.Context, id, call string) (bool, error)
	// OpenApprovals returns those that expire after now and are pending, or approved
	// for one call and not used.
	OpenApprovals(ctx context.Context, now time.Time) ([]tool.Approval, error)
	Approval(ctx context.Context, id string) (a tool.Approval, found bool, err error)
	// Approvals returns the last ones, newest first, and at most limit of them.
	Approvals(ctx context.Context, limit int) ([]tool.Approval, error)
}

var errGone = errors.New("no such approval in the store")
